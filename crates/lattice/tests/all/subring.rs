//! Packed plaintexts and plaintexts of subrings: packed and unpacked without loss, multiplied bit for bit
//! like the polynomials they stand for.

use crate::common::*;
use clathrate_arith::aligned::ALIGNMENT;
use clathrate_arith::primes::largest_primes;
use clathrate_arith::{ArithError, CpuEngine, Isa};
use clathrate_lattice::{Basis, Bundle, Eval, LatticeError, PackedCombination, PackedPlaintexts, Poly, Ring};

/// Widths at which packing and kernels change.
const WIDTHS: [u32; 10] = [29, 36, 45, 46, 50, 51, 57, 58, 60, 61];

fn moduli(degree: usize) -> Vec<u64> {
    WIDTHS.iter().map(|&bits| largest_primes(bits, 2 * degree as u64, 1, &[]).expect("prime")[0]).collect()
}

fn ring(degree: usize, isa: Isa, threads: usize) -> Ring {
    let engine = CpuEngine::new(degree, &moduli(degree), isa).expect("engine");
    ring_over(engine.with_threads(CpuEngine::thread_pool(threads).expect("pool")).sharing_small_work())
}

fn all(ring: &Ring) -> Basis {
    Basis::new(0..ring.moduli().len())
}

/// Uniform polynomials.
fn uniform(ring: &Ring, basis: &Basis, count: usize, seed: u8) -> Vec<Poly<Eval>> {
    let seed = rng(seed).mask_seed();
    clathrate_lattice::bundle::expand_mask(&seed, ring, basis, count).to_vec()
}

/// Uniform bundles.
fn bundles(ring: &Ring, basis: &Basis, count: usize, (rank, bodies): (usize, usize)) -> Vec<Bundle<Eval>> {
    let bundle = |seed| {
        let mut mask = uniform(ring, basis, rank + bodies, seed);
        let bodies = mask.split_off(rank);
        Bundle::new(mask, bodies).expect("bundle")
    };
    (0..count as u8).map(bundle).collect()
}

fn pack(plaintexts: &[Poly<Eval>]) -> PackedPlaintexts {
    PackedPlaintexts::pack(&plaintexts.iter().collect::<Vec<_>>()).expect("pack")
}

#[test]
fn packed_plaintexts_come_back_bit_for_bit_and_tell_their_bytes() {
    for isa in Isa::available() {
        for degree in [1usize, 2, 4, 8, 256] {
            // The primes are those of the largest ring, of which the others are subrings.
            let ring = ring(256, isa, 1).subring(degree).expect("subring");
            for basis in [all(&ring), Basis::new([8, 0, 3])] {
                let plaintexts = uniform(&ring, &basis, 3, 5);
                let packed = pack(&plaintexts);
                assert_eq!((packed.len(), packed.is_empty(), packed.basis()), (3, false, &basis));
                for (index, plaintext) in plaintexts.iter().enumerate() {
                    assert_eq!(packed.unpack(index).as_ref(), Some(plaintext), "{isa:?}, degree {degree}");
                }
                assert_eq!(packed.unpack(3), None);
                // Eight residues of `bits` bits take `bits` bytes; widths above 57 bits are held as words.
                let bytes = |&prime: &usize| {
                    let bits = WIDTHS[prime] as usize;
                    let bits = if bits > 57 { 64 } else { bits };
                    (3 * degree.div_ceil(8) * bits).next_multiple_of(ALIGNMENT)
                };
                assert_eq!(packed.bytes(), basis.indices().iter().map(bytes).sum::<usize>());
                assert!(format!("{packed:?}").contains(&format!("{} bytes", packed.bytes())));
            }
        }
    }
}

#[test]
fn packed_products_equal_unpacked_ones_bit_for_bit() {
    for shape in [(1, 1), (2, 1), (1, 3), (2, 3)] {
        for isa in Isa::available() {
            for threads in [1, 2] {
                let ring = ring(256, isa, threads);
                // The plaintexts are over all primes, the bundles over some of them in another order.
                let (plain_basis, basis) = (all(&ring), Basis::new([7, 2, 0, 9]));
                let (plaintexts, inputs) =
                    (uniform(&ring, &plain_basis, 5, 77), bundles(&ring, &basis, 5, shape));
                let terms: Vec<(&Bundle<Eval>, &Poly<Eval>)> = inputs.iter().zip(&plaintexts).collect();
                let expected = Bundle::linear_combination(&terms).expect("sum");
                let mut by_definition: Option<Bundle<Eval>> = None;
                for (input, plaintext) in &terms {
                    let mut product = (*input).clone();
                    product.mul_poly_assign(&plaintext.restrict(&basis).expect("primes")).expect("product");
                    match &mut by_definition {
                        Some(sum) => sum.add_assign(&product).expect("sum"),
                        None => by_definition = Some(product),
                    }
                }
                assert_eq!(Some(&expected), by_definition.as_ref());
                let inputs: Vec<&Bundle<Eval>> = inputs.iter().collect();
                let packed = pack(&plaintexts);
                let combination = PackedCombination { plaintexts: &packed, inputs: &[0, 1, 2, 3, 4] };
                let sums = Bundle::packed_combinations(&inputs, &[combination, combination]).expect("sums");
                assert_eq!(sums, [expected.clone(), expected], "{shape:?}, {isa:?}, {threads} threads");
            }
        }
    }
}

#[test]
fn subring_products_equal_products_with_the_expanded_plaintext_bit_for_bit() {
    for shape in [(1, 1), (2, 1), (1, 3), (2, 3)] {
        for isa in Isa::available() {
            for threads in [1, 2] {
                let ring = ring(256, isa, threads);
                let basis = all(&ring);
                let inputs = bundles(&ring, &basis, 3, shape);
                let inputs: Vec<&Bundle<Eval>> = inputs.iter().collect();
                let chosen = [2, 0, 1, 2];
                let mut made = Vec::new();
                let mut expected = Vec::new();
                for log in 0..=8 {
                    let small = ring.subring(1 << log).expect("subring");
                    let plaintexts = uniform(&small, &basis, chosen.len(), 20 + log);
                    let expanded: Vec<Poly<Eval>> =
                        plaintexts.iter().map(|p| p.iota(&ring).expect("subring")).collect();
                    let terms: Vec<(&Bundle<Eval>, &Poly<Eval>)> =
                        chosen.iter().map(|&i| inputs[i]).zip(&expanded).collect();
                    expected.push(Bundle::linear_combination(&terms).expect("sum"));
                    // A single product as well.
                    let mut product = inputs[0].clone();
                    product.mul_poly_assign(&expanded[0]).expect("product");
                    assert_eq!(inputs[0].mul_packed(&pack(&plaintexts[..1])).expect("product"), product);
                    made.push(pack(&plaintexts));
                }
                let combinations: Vec<PackedCombination<'_>> =
                    made.iter().map(|plaintexts| PackedCombination { plaintexts, inputs: &chosen }).collect();
                assert_eq!(
                    Bundle::packed_combinations(&inputs, &combinations).expect("sums"),
                    expected,
                    "{shape:?}, {isa:?}"
                );
                // Their memory shrinks with the degree, up to what rounds each row to a multiple of 64 bytes.
                let bytes: Vec<usize> = made.iter().map(PackedPlaintexts::bytes).collect();
                let rounding = |bytes: usize| bytes + ALIGNMENT * WIDTHS.len();
                assert!(
                    bytes[3..].windows(2).all(|pair| pair[0] < pair[1] && 2 * pair[0] <= rounding(pair[1])),
                    "{bytes:?}"
                );
            }
        }
    }
}

#[test]
fn subring_plaintext_is_encoded_at_its_own_degree() {
    // From coefficients: b(X^16) of degree 256 and b(Y) of degree 16 have the same values, repeated.
    let ring = ring(256, Isa::Scalar, 1);
    let basis = all(&ring);
    let small = ring.subring(16).expect("subring");
    let values: Vec<i64> = (0..16).map(|i| 3 * i - 20).collect();
    let mut spread = vec![0i64; 256];
    spread.iter_mut().step_by(16).zip(&values).for_each(|(target, &value)| *target = value);
    let packed = pack(&[Poly::from_signed(&small, &basis, &values).into_eval()]);
    let wide = Poly::from_signed(&ring, &basis, &spread).into_eval();
    let input = bundles(&ring, &basis, 1, (1, 1)).swap_remove(0);
    let mut expected = input.clone();
    expected.mul_poly_assign(&wide).expect("product");
    assert_eq!(input.mul_packed(&packed).expect("product"), expected);
    assert_eq!(packed.unpack(0).expect("one").iota(&ring).expect("subring"), wide);
}

#[test]
fn products_take_one_hadamard_product_per_term_and_row_and_no_transform() {
    let (ring, meter) = counting_ring(64, &moduli(64));
    let basis = all(&ring);
    let inputs = bundles(&ring, &basis, 3, (2, 3));
    let inputs: Vec<&Bundle<Eval>> = inputs.iter().collect();
    let (full, small) =
        (uniform(&ring, &basis, 4, 1), uniform(&ring.subring(8).expect("subring"), &basis, 4, 2));
    let (full, small) = (pack(&full), pack(&small));
    meter.take();
    let combination = |plaintexts| PackedCombination { plaintexts, inputs: &[0, 1, 2, 0] };
    Bundle::packed_combinations(&inputs, &[combination(&full), combination(&small)]).expect("sums");
    let counts = meter.take();
    assert_eq!((counts.ntt(), counts.hadamard), (0, 2 * 4 * 5 * WIDTHS.len()));
}

#[test]
fn plaintexts_that_do_not_fit_are_errors_with_numbers() {
    let ring = ring(64, Isa::Scalar, 1);
    let basis = all(&ring);
    for degree in [0, 3, 24, 128] {
        let error = LatticeError::DegreeChange { degree: 64, rank: 1, target: degree, what: "degree" };
        assert_eq!(ring.subring(degree).expect_err("no subring"), error);
    }
    assert!(ring.subring(64).expect("itself").same_as(&ring));
    assert_eq!(
        PackedPlaintexts::pack(&[]).expect_err("none"),
        LatticeError::EmptyShape { what: "the number of plaintexts", got: 0 }
    );
    let plaintexts = uniform(&ring, &basis, 2, 1);
    let short = plaintexts[1].restrict(&Basis::new([0, 1])).expect("primes");
    let mismatch = LatticeError::BasisMismatch { left: WIDTHS.len(), right: 2 };
    assert_eq!(PackedPlaintexts::pack(&[&plaintexts[0], &short]).expect_err("other primes"), mismatch);
    let input = bundles(&ring, &basis, 1, (1, 1)).swap_remove(0);
    assert_eq!(input.mul_packed(&pack(std::slice::from_ref(&short))).expect_err("few primes"), mismatch);
    assert_eq!(
        Bundle::linear_combination(&[(&input, &short)]).expect_err("few primes"),
        LatticeError::BasisMismatch { left: 2, right: 10 }
    );
    let two = ArithError::Shape {
        what: "inputs that a linear combination names for its plaintexts",
        expected: 2,
        got: 1,
    };
    assert_eq!(input.mul_packed(&pack(&plaintexts)).expect_err("two plaintexts"), two.into());
    // Rings of other primes, and of a larger degree.
    let foreign = new_ring(64, &moduli(64)[1..]);
    let foreign = uniform(&foreign, &Basis::new(0..9), 1, 1);
    assert_eq!(
        input.mul_packed(&pack(&foreign)).expect_err("other primes"),
        LatticeError::RingMismatch { left: 64, right: 64 }
    );
    let small = ring.subring(16).expect("subring");
    let small_input = bundles(&small, &basis, 1, (1, 1)).swap_remove(0);
    let larger = LatticeError::DegreeChange { degree: 16, rank: 1, target: 64, what: "degree" };
    assert_eq!(small_input.mul_packed(&pack(&plaintexts[..1])).expect_err("a larger degree"), larger);
    // Bundles of several shapes.
    let others = [
        bundles(&ring, &basis, 1, (2, 1)),
        bundles(&ring, &basis, 1, (1, 2)),
        bundles(&ring, &Basis::new([0]), 1, (1, 1)),
    ];
    let packed = pack(&plaintexts[..1]);
    for other in &others {
        let combination = PackedCombination { plaintexts: &packed, inputs: &[0] };
        assert!(Bundle::packed_combinations(&[&input, &other[0]], &[combination]).is_err());
        assert!(
            Bundle::linear_combination(&[(&input, &plaintexts[0]), (&other[0], &plaintexts[1])]).is_err()
        );
    }
    assert!(matches!(Bundle::packed_combinations(&[], &[]), Err(LatticeError::EmptyShape { .. })));
    assert!(matches!(Bundle::linear_combination(&[]), Err(LatticeError::EmptyShape { .. })));
}
