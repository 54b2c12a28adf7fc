//! Temporary ranks: relinearisation and rotation through them, rank reduction, against phases in big integers
//! and predicted noise.

use std::sync::Arc;

use crate::common::*;
use clathrate_arith::primes::largest_primes;
use clathrate_arith::{Automorphism, GaloisElement};
use clathrate_lattice::noise::{self, NoiseModel};
use clathrate_lattice::switch::SwitchMethod;
use clathrate_lattice::temporary_rank::TemporaryRank;
use clathrate_lattice::{Chain, Gadget, LatticeError, Level, Poly, SecretKey, SwitchKey, Switcher};

/// Temporary primes.
const TEMPORARY: usize = 3;

/// The paper's kind of chain, small: steps of 36 bits, one special prime of 40, temporary primes of 44;
/// auxiliary primes.
fn chain_with_temporary(degree: usize, steps: usize) -> Arc<Chain> {
    let step = 2 * degree as u64;
    let mut moduli = largest_primes(36, step, steps, &[]).expect("primes");
    for (bits, count) in [(40, 1), (44, TEMPORARY), (45, 12)] {
        moduli.extend(largest_primes(bits, step, count, &moduli).expect("primes"));
    }
    let ring = crate::common::new_ring(degree, &moduli);
    Arc::new(Chain::with_temporary(ring, &vec![1; steps], TEMPORARY, 12).expect("chain"))
}

/// A secret, its temporary extension, and both sides' switchers and keys.
struct Setting {
    chain: Arc<Chain>,
    secret: SecretKey,
    temporary: SecretKey,
    wide: Switcher,
    base: Switcher,
    up: SwitchKey,
    down: SwitchKey,
}

impl Setting {
    fn new(
        degree: usize,
        steps: usize,
        rank: usize,
        high: usize,
        choices: Option<(SwitchMethod, SwitchMethod)>,
    ) -> Self {
        let rng = &mut rng(5);
        let chain = chain_with_temporary(degree, steps);
        let wide = Arc::new(chain.widened(TEMPORARY).expect("widened"));
        let gadget = Arc::new(Gadget::for_special_modulus(&chain, 0.5).expect("gadget"));
        let wide_gadget = Arc::new(Gadget::for_special_modulus(&wide, 0.5).expect("gadget"));
        let secret = secret(&chain, rank, 1, rng);
        let temporary = secret.join_rank(&crate::common::secret(&chain, high - rank, 1, rng)).expect("fits");
        let top = chain.max_level();
        let up = SwitchKey::cross_relinearisation(&wide, &wide_gadget, top, &secret, &temporary, rng)
            .expect("key");
        let down = SwitchKey::rank_down(&chain, &gadget, top, &temporary, rank, rng).expect("key");
        let inputs = (rank * (rank + 1) / 2).max(high);
        let (up_choice, down_choice) =
            choices.unwrap_or((SwitchMethod::as_made(&wide), SwitchMethod::as_made(&chain)));
        let (wide, base) =
            (fixed(&wide, &wide_gadget, up_choice, inputs), fixed(&chain, &gadget, down_choice, inputs));
        Self { chain, secret, temporary, wide, base, up, down }
    }

    fn crossing(&self) -> TemporaryRank<'_> {
        TemporaryRank { wide: &self.wide, base: &self.base, down: &self.down }
    }

    fn predicted(&self, level: Level) -> f64 {
        let (wide, base) = (self.wide.tables(level).expect("plan"), self.base.tables(level).expect("plan"));
        let model = NoiseModel {
            degree: self.chain.ring().degree(),
            rank: self.secret.rank(),
            secret_variance: self.secret.coefficient_variance(),
        };
        let (rank, high) = (self.secret.rank(), self.temporary.rank());
        let inputs = rank * (rank + 1) / 2;
        model.cross_relinearisation(inputs, &wide.noise_digits(), high - rank, &base.noise_digits())
    }
}

#[test]
fn crossing_relinearisation_keeps_the_phase_within_the_predicted_noise() {
    for (rank, high, choices) in [
        (1, 2, None),
        (2, 3, None),
        (2, 4, None),
        (3, 4, None),
        (4, 5, None),
        (2, 3, Some((SwitchMethod::hybrid(4), SwitchMethod::hybrid(2)))),
        (2, 3, Some((SwitchMethod::klss(4, 3), SwitchMethod::hybrid(1)))),
        (2, 3, Some((SwitchMethod::klss(4, 2), SwitchMethod::klss(2, 3)))),
        (3, 4, Some((SwitchMethod::hybrid(4), SwitchMethod::klss(2, 2)))),
    ] {
        let setting = Setting::new(256, 8, rank, high, choices);
        for level in [Level(5), Level(2), Level(0)] {
            let rng = &mut rng(9);
            let predicted = setting.predicted(level);
            let mut all = Vec::new();
            for _ in 0..8 {
                let (x, _) = message(&setting.chain, level, 10, rng);
                let (y, _) = message(&setting.chain, level, 10, rng);
                let (ct_x, ct_y) = (
                    encrypt(&setting.chain, &setting.secret, &x, rng),
                    encrypt(&setting.chain, &setting.secret, &y, rng),
                );
                let tensor = ct_x.tensor(&ct_y).expect("tensor");
                let relinearised =
                    tensor.cross_relinearise(setting.crossing(), &setting.up).expect("relinearised");
                assert_eq!(relinearised.rank(), rank);
                // What the product is without relinearisation, exactly.
                let mut expected = ct_x.phase(&setting.secret).expect("phase").swap_remove(0);
                expected.mul_assign(&ct_y.phase(&setting.secret).expect("phase")[0]).expect("same basis");
                all.extend(errors(&relinearised, &setting.secret, 0, &expected));
            }
            let ratio = (variance(&all) / predicted).sqrt();
            assert!(
                (0.9..1.1).contains(&ratio),
                "rank {rank} -> {high}, {choices:?}, level {level}: {ratio}"
            );
            let bound = noise::bound(predicted, all.len(), 40.0);
            assert!(all.iter().all(|e| e.abs() <= bound), "rank {rank} -> {high}, level {level}");
        }
    }
}

#[test]
fn crossing_rotation_is_the_composition_of_plain_ones() {
    for (rank, high) in [(1, 2), (2, 3), (3, 5)] {
        let rng = &mut rng(12);
        let setting = Setting::new(128, 6, rank, high, None);
        let (wide, top) = (setting.wide.chain(), setting.chain.max_level());
        let level = Level(4);
        let automorphisms: Vec<Automorphism> = [1, -4, 16]
            .iter()
            .map(|&steps| Automorphism::new(GaloisElement::rotation(steps, 128), 128))
            .collect();
        let keys: Vec<SwitchKey> = automorphisms
            .iter()
            .map(|phi| {
                SwitchKey::automorphism(wide, setting.wide.gadget(), top, &setting.temporary, phi, rng)
                    .expect("key")
            })
            .collect();
        let (x, _) = message(&setting.chain, level, 20, rng);
        let ct = encrypt(&setting.chain, &setting.secret, &x, rng);
        let steps: Vec<(&Automorphism, &SwitchKey)> = automorphisms.iter().zip(&keys).collect();
        let rotated = ct.rotate_rank_hoisted(&steps, setting.crossing()).expect("rotated");
        assert_eq!(rotated.rank(), rank);
        let expected: Poly<_> = automorphisms.iter().fold(x.clone(), |x, phi| x.automorphism(phi));
        let all = errors(&rotated, &setting.secret, 0, &expected);
        assert!(variance(&all).sqrt() < 100.0, "rank {rank}: {}", variance(&all).sqrt());
        assert_eq!(ct.rotate_rank_hoisted(&[], setting.crossing()).expect("nothing to do"), ct);
    }
}

#[test]
fn reduced_rank_decrypts_under_the_nested_secret() {
    let rng = &mut rng(3);
    let setting = Setting::new(64, 5, 4, 5, None);
    for rank in [3, 2, 1] {
        let key =
            SwitchKey::rank_down(&setting.chain, setting.base.gadget(), Level(2), &setting.secret, rank, rng)
                .expect("key");
        let (x, _) = message(&setting.chain, Level(2), 20, rng);
        let ct = encrypt(&setting.chain, &setting.secret, &x, rng);
        let reduced = ct.reduce_rank(rank, &setting.base, &key).expect("reduced");
        let nested = setting.secret.truncate_rank(rank).expect("nested");
        assert!(variance(&errors(&reduced, &nested, 0, &x)).sqrt() < 100.0);
        // Up again by zeros.
        assert!(variance(&errors(&reduced.rank_up(4).expect("up"), &setting.secret, 0, &x)).sqrt() < 100.0);
        assert!(matches!(
            reduced.reduce_rank(rank, &setting.base, &key),
            Err(LatticeError::RankDownKey { .. })
        ));
    }
}
