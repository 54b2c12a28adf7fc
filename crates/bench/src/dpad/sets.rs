//! The paper's parameter sets [dpad-he, Tables 3 and 5], with their names in `bench/paper/dpad.json`.

use clathrate_ckks::{CkksError, ParamsSpec};
use clathrate_lattice::security::max_log2_qp;

/// Binary logarithm of the factor by which a quick run's degree is smaller.
const QUICK_SHIFT: u32 = 5;

/// Bits of the primes of temporary ranks that the paper does not have.
const TEMPORARY_BITS: u32 = 44;

/// Bits by which digits may differ, because primes are not split.
const DIGIT_MARGIN: u32 = 40;

/// A parameter set of the paper.
#[derive(Debug, Clone, Copy)]
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// The preset or the set of the benchmarks with its primes.
    preset: &'static str,
    /// Whether the set has rank 1 at the preset's dimension: not in the paper, for comparison.
    lifted: bool,
    /// log2 of the dimension of the tables and figures at equal dimension, if the set is in them.
    pub log_dimension: Option<u32>,
}

const fn set(name: &'static str, preset: &'static str, log_dimension: Option<u32>) -> Set {
    Set { name, preset, lifted: false, log_dimension }
}

/// All sets in the order of measurement; compared sets are neighbours.
pub const SETS: [Set; 13] = [
    Set { lifted: true, ..set("n14-r1", "paper_dpad_n13_r2", None) },
    set("n13-r2", "paper_dpad_n13_r2", None),
    set("n13-r3", "paper_dpad_n13_r3", None),
    set("I", "bench_n15_one", Some(15)),
    set("II", "paper_dpad_n14_r2", Some(15)),
    set("III", "paper_dpad_n13_r4", Some(15)),
    set("n13-r5", "paper_dpad_n13_r5", None),
    set("n13-r6", "paper_dpad_n13_r6", None),
    set("n13-r7", "paper_dpad_n13_r7", None),
    set("IV", "bench_n16_one", Some(16)),
    set("n13-r8", "paper_dpad_n13_r8", None),
    set("V", "paper_dpad_n15_r2", Some(16)),
    set("VI", "paper_dpad_n14_r4", Some(16)),
];

/// The names on the command line.
pub fn names() -> Vec<&'static str> {
    SETS.iter().map(|set| set.name).collect()
}

impl Set {
    /// The specification with the paper's temporary rank; for a quick run at a small, insecure degree.
    pub fn spec(&self, quick: bool) -> Result<ParamsSpec, CkksError> {
        let mut spec = crate::sets::spec(self.preset)?;
        if self.lifted {
            spec.name += ", rank 1";
            spec.degree *= spec.rank;
            spec.rank = 1;
            spec = direct(spec);
        }
        Ok(small(spec, quick))
    }

    /// The specification with another temporary rank, and with as many temporary primes as are secure there
    /// and give at least `digits` digits.
    pub fn spec_at(&self, temporary_rank: usize, digits: u32, quick: bool) -> Result<ParamsSpec, CkksError> {
        let mut spec = direct(self.spec(false)?);
        let headroom = max_log2_qp(spec.degree * temporary_rank, 128, spec.distribution()).unwrap_or(0.0);
        let (q, p): (f64, f64) = (spec.steps.iter().flatten().sum(), spec.special.iter().sum());
        let (q, p) = (q.ceil() as u32, p.ceil() as u32);
        let secure = ((headroom - f64::from(q + p)) / f64::from(TEMPORARY_BITS)).max(1.0) as usize;
        let count =
            secure.min((q / digits + DIGIT_MARGIN).saturating_sub(p).div_ceil(TEMPORARY_BITS) as usize);
        spec.name = format!("{}, temporary rank {temporary_rank}", self.preset);
        spec.temporary = vec![f64::from(TEMPORARY_BITS); count];
        spec.temporary_rank = Some(temporary_rank);
        Ok(small(spec, quick))
    }
}

/// The same primes without a temporary rank: ModHE, or RNS-CKKS at rank 1.
pub fn direct(mut spec: ParamsSpec) -> ParamsSpec {
    if spec.temporary_rank.take().is_some() {
        spec.temporary.clear();
        spec.name += ", direct";
    }
    spec
}

fn small(mut spec: ParamsSpec, quick: bool) -> ParamsSpec {
    if quick {
        spec.name += ", small";
        spec.degree >>= QUICK_SHIFT;
        spec.insecure = true;
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Set {
        *SETS.iter().find(|set| set.name == name).expect("a set")
    }

    #[test]
    fn sets_of_rank_one_have_the_dimension_and_depth_of_those_compared_with_them() {
        for (rlwe, others) in
            [("n14-r1", &["n13-r2"][..]), ("I", &["II", "III"]), ("IV", &["n13-r8", "V", "VI"])]
        {
            let other = named(rlwe).spec(false).expect("preset");
            for name in others {
                let own = named(name).spec(false).expect("preset");
                assert_eq!(own.degree * own.rank, other.degree * other.rank, "{name}");
                assert_eq!(
                    (other.rank, &own.steps, &own.special),
                    (1, &other.steps, &other.special),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn temporary_ranks_of_our_own_are_secure() {
        let set = named("III");
        for rank in 5..=7 {
            let spec = set.spec_at(rank, 1, false).expect("specification");
            let bits: f64 = spec.steps.iter().flatten().chain(&spec.special).chain(&spec.temporary).sum();
            let headroom = max_log2_qp(spec.degree * rank, 128, spec.distribution()).expect("room");
            assert!(bits <= headroom && headroom < bits + f64::from(TEMPORARY_BITS), "rank {rank}");
        }
    }
}
