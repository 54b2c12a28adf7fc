//! Whether a branch or an address depends on a secret, on its errors, or on numbers that are encrypted or
//! decrypted. Valgrind's memcheck follows undefined memory and reports each branch and each address that
//! depends on it, so secrets are marked as undefined.
//!
//! A program of its own, which starts itself again under valgrind, once for each instruction set that
//! valgrind knows (it hides AVX-512). Each stage is a process of its own, because valgrind tells a place only
//! once. Controls show that branches and addresses are seen. What an instruction takes of time is not
//! measured.
//!
//! Debug builds check the ranges of what they compute, secrets included, so the test needs `--release`;
//! without valgrind, or on another system than Linux on x86-64, it says that it is skipped.
#![allow(clippy::unwrap_used, missing_docs)] // a failed unwrap is a failed test

fn main() {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    on_linux::main();
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    println!("constant_time: skipped, because marking memory for valgrind is written for Linux on x86-64");
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod on_linux {
    use std::arch::asm;
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Write;
    use std::hint::black_box;
    use std::panic::AssertUnwindSafe;
    use std::process::Command;
    use std::sync::Arc;

    use clathrate_arith::primes::largest_primes;
    use clathrate_arith::{Automorphism, CpuEngine, GaloisElement, Isa};
    use clathrate_ckks::keys::{HonestEvaluator, Operation, Switch};
    use clathrate_ckks::light::{LightOptions, Receiver};
    use clathrate_ckks::prelude::*;
    use clathrate_ckks::{ModuleShape, SecretName};
    use clathrate_lattice::counted::mask_times_secret;
    use clathrate_lattice::switch::SecretMatrix;
    use clathrate_lattice::{
        Basis, Bodies, Bundle, Chain, Degree, Gadget, MaskSeed, Poly, PublicKey, Rank, Ring,
        SecretDistribution, SecretRng, SwitchKey,
    };
    use zeroize::Zeroizing;

    /// Set in the process under valgrind: the instruction set.
    const WITHIN: &str = "CLATHRATE_TEST_CONSTANT_TIME";

    /// What valgrind may find in a stage.
    enum Finds {
        Nothing,
        /// A control: valgrind must find something, or the test sees nothing at all.
        Something,
        /// At most so many places in each of these functions, whose outcome says nothing about a secret.
        Only(&'static [(&'static str, usize)]),
    }
    use Finds::{Nothing, Only, Something};

    struct Stage {
        name: &'static str,
        finds: Finds,
        run: fn(&Desk),
    }

    /// Uniform ternary values come from bytes, of which 255 is skipped. How many are skipped shows, and does
    /// not depend on the values: the end of the loop, the next place that is written, and the place in the
    /// stream from then on (which is all that `fill_bytes` branches on, as the stage of errors shows).
    const SKIPPED_BYTES: [(&str, usize); 2] = [("ternary_uniform", 6), ("SecretRng::fill_bytes", usize::MAX)];
    /// Two equal tags of 61 bits restart the sorting, whatever the arrangement.
    const EQUAL_TAGS: (&str, usize) = ("ternary_fixed_weight", 1);
    /// Whether four values are within 2^50 of zero, which secrets and errors are.
    const SIGNED_RANGE: (&str, usize) = ("reduce_signed_vectors", 1);
    /// Whether four words are below 2^51, which residues are.
    const RESIDUE_RANGE: (&str, usize) = ("mul_constant_vectors", 1);
    const RANGES: Finds = Only(&[SIGNED_RANGE, RESIDUE_RANGE]);

    /// Whether numbers are refused: not finite, beyond the bound, or too large for the modulus.
    const REFUSED: [(&str, usize); 4] = [
        ("ValuesRef::check_finite", 1),
        ("EncryptOptions::check_bound", 1),
        ("encode_slots", 2),
        ("encode_coefficients_below", 3),
    ];
    const ENCODING: Finds = Only(&[REFUSED[0], REFUSED[1], REFUSED[2], REFUSED[3], SIGNED_RANGE]);
    /// Without a declared bound the largest number decides how encoding is computed: whether doubles suffice,
    /// whether words of 64 bits do, and whether it is refused.
    const ENCODING_WITHOUT_BOUND: Finds = Only(&[
        REFUSED[0],
        ("encode_slots", 7),
        ("encode_coefficients_below", 5),
        ("integers_to_poly", 1),
        SIGNED_RANGE,
    ]);
    /// Of the decrypted numbers, whether the first primes decide them all, whether all integers have 53 bits,
    /// whether they have outgrown the modulus, and whether doubles suffice for them.
    const DECODING: Finds = Only(&[
        ("compose_short", 1),
        ("decode_coefficients", 1),
        ("check_guard", 2),
        ("read_coefficients", 1),
        SIGNED_RANGE,
    ]);
    /// Whether numbers are refused, and whether what is sent, which is public, is rounded to the modulus.
    const LIGHT_ENCODING: Finds = Only(&[("LightClient::encrypt_at", 2)]);
    /// Whether the reply's tag is right, and whether it has all numbers.
    const LIGHT_DECODING: Finds = Only(&[("LightClient::decrypt", 2)]);

    /// What the numbers of stages are declared to be below.
    const BOUND: Option<f64> = Some(1.5);

    const STAGES: &[Stage] = &[
        Stage { name: "control: a branch", finds: Something, run: |_| control_of_branches() },
        Stage { name: "control: an address", finds: Something, run: |_| control_of_addresses() },
        Stage { name: "control: neither", finds: Nothing, run: |_| control_without_either() },
        Stage {
            name: "errors",
            finds: Nothing,
            run: |desk| tainted_rng().gaussian(&mut vec![0; desk.degree]),
        },
        Stage {
            name: "flooding noise",
            finds: Nothing,
            run: |desk| tainted_rng().flooding_uniform(&mut vec![0; desk.degree], 40).unwrap(),
        },
        Stage {
            name: "uniform ternary secrets",
            finds: Only(&SKIPPED_BYTES),
            run: |desk| tainted_rng().ternary_uniform(&mut vec![0; desk.degree]),
        },
        Stage {
            name: "secrets of fixed weight",
            finds: Only(&[EQUAL_TAGS]),
            run: |desk| tainted_rng().ternary_fixed_weight(&mut vec![0; desk.degree], 32).unwrap(),
        },
        Stage { name: "secrets in evaluation form", finds: RANGES, run: |desk| desk.each_ring(secret_forms) },
        Stage { name: "secrets of other shapes", finds: RANGES, run: |desk| desk.each_ring(secret_shapes) },
        Stage { name: "encryptions of zero", finds: RANGES, run: |desk| desk.each_ring(encryptions_of_zero) },
        Stage { name: "a secret message", finds: RANGES, run: |desk| desk.each_ring(secret_message) },
        Stage { name: "phases", finds: RANGES, run: |desk| desk.each_ring(phases) },
        Stage { name: "public keys", finds: RANGES, run: |desk| desk.each_ring(public_keys) },
        Stage {
            name: "encryptions of zero by a public key",
            finds: Only(&[SKIPPED_BYTES[0], SKIPPED_BYTES[1], SIGNED_RANGE, RESIDUE_RANGE]),
            run: |desk| desk.each_ring(encryptions_by_public_keys),
        },
        Stage { name: "switching keys", finds: RANGES, run: |desk| desk.each_ring(switching_keys) },
        Stage {
            name: "masks times secrets of light clients",
            finds: Nothing,
            run: |desk| desk.each_ring(masks_times_secrets),
        },
        Stage { name: "keys of an owner", finds: RANGES, run: owners_keys },
        Stage { name: "keys of higher and reduced ranks", finds: RANGES, run: keys_of_ranks },
        Stage { name: "keys to and from an ephemeral secret", finds: RANGES, run: ephemeral_keys },
        Stage {
            name: "encrypting plain numbers, the secret followed",
            finds: RANGES,
            run: encryptions_under_a_secret,
        },
        Stage {
            name: "real numbers in slots",
            finds: ENCODING,
            run: |desk| encrypt_numbers(desk, Encoding::Slots, false, BOUND),
        },
        Stage {
            name: "complex numbers in slots",
            finds: ENCODING,
            run: |desk| encrypt_numbers(desk, Encoding::Slots, true, BOUND),
        },
        Stage {
            name: "real numbers in coefficients",
            finds: ENCODING,
            run: |desk| encrypt_numbers(desk, Encoding::Coefficients, false, BOUND),
        },
        Stage {
            name: "numbers without a bound",
            finds: ENCODING_WITHOUT_BOUND,
            run: |desk| encrypt_numbers(desk, Encoding::Slots, false, None),
        },
        Stage { name: "numbers under a public key", finds: ENCODING, run: numbers_under_public_keys },
        Stage {
            name: "numbers at a scale of 2^50",
            finds: ENCODING_WITHOUT_BOUND,
            run: |desk| encoded_at(desk, 50.0),
        },
        Stage {
            name: "numbers at a scale of 2^70",
            finds: ENCODING_WITHOUT_BOUND,
            run: |desk| encoded_at(desk, 70.0),
        },
        Stage { name: "decryption", finds: DECODING, run: decryption },
        Stage { name: "decryption to share", finds: DECODING, run: decryption_to_share },
        Stage { name: "products that a light client computes ahead", finds: Nothing, run: light_products },
        Stage { name: "numbers of a light client", finds: LIGHT_ENCODING, run: light_numbers },
        Stage { name: "a light client's secret while it encrypts", finds: Nothing, run: light_secret },
        Stage { name: "replies to a light client", finds: LIGHT_DECODING, run: light_replies },
    ];

    /// A request to valgrind: without it, nothing happens.
    fn request(code: u64, address: u64, bytes: u64) {
        let arguments = [code, address, bytes, 0, 0, 0];
        // SAFETY: valgrind knows these instructions, which outside of it do nothing: rotations by 128 bits in
        // all, and an exchange of a register with itself. It reads the six words.
        unsafe {
            asm!(
                "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
                inout("rdx") 0u64 => _, in("rax") arguments.as_ptr(), inout("rdi") 0u64 => _,
            );
        }
    }

    /// Marks what `x` holds as undefined. (It stays as it is: only valgrind sees the mark.) What the compiler
    /// has in a register already is not marked, so a value on the stack is to be read through a [`black_box`]
    /// of its reference.
    fn taint<T>(x: &[T]) {
        request(0x4d43_0001, x.as_ptr().expose_provenance() as u64, size_of_val(x) as u64);
    }

    fn untaint<T>(x: &[T]) {
        request(0x4d43_0002, x.as_ptr().expose_provenance() as u64, size_of_val(x) as u64);
    }

    fn tainted_rng() -> SecretRng {
        let seed = [7u8; 32];
        taint(&seed);
        SecretRng::from_seed(*black_box(&seed))
    }

    /// A word that is followed.
    fn tainted_word() -> u64 {
        let word = [5u64];
        taint(&word);
        black_box(&word)[0]
    }

    fn control_of_branches() {
        let word = tainted_word();
        if word > 3 {
            black_box(&word);
        }
    }

    fn control_of_addresses() {
        let table = [1u8; 64];
        black_box(black_box(&table)[(tainted_word() & 63) as usize]);
    }

    fn control_without_either() {
        let word = tainted_word();
        black_box((word.wrapping_mul(3) ^ word.rotate_left(7)) & word.wrapping_neg());
    }

    /// What the stages share, made before they are told apart.
    struct Desk {
        degree: usize,
        /// Moduli of 45 bits, for which each instruction set has kernels, and of 58.
        rings: Vec<Ring>,
        runtime: Runtime,
    }

    impl Desk {
        fn new(isa: Isa) -> Self {
            let degree = 1024;
            let ring = |bits| {
                let primes = largest_primes(bits, 2 * degree as u64, 4, &[]).unwrap();
                Ring::with_engine(Arc::new(CpuEngine::new(degree, &primes, isa).unwrap()))
            };
            Self {
                degree,
                rings: [45, 58].map(ring).into(),
                runtime: Runtime { isa: Some(isa.name().to_owned()), ..Runtime::default() },
            }
        }

        fn each_ring(&self, run: fn(&Ring, &Basis)) {
            self.rings.iter().for_each(|ring| run(ring, &Basis::new(0..4)));
        }

        /// An owner whose main secret is followed.
        fn owner(&self, preset: &str) -> SecretKey {
            let params = Params::preset(preset, &self.runtime).unwrap();
            let owner = SecretKey::generate_with(&params, &mut SecretRng::from_seed([3; 32])).unwrap();
            taint(owner.secret().all_coefficients());
            owner
        }

        fn plain_owner(&self, preset: &str) -> SecretKey {
            SecretKey::generate_with(
                &Params::preset(preset, &self.runtime).unwrap(),
                &mut SecretRng::from_seed([3; 32]),
            )
            .unwrap()
        }
    }

    fn coefficients(count: usize, seed: u8) -> Zeroizing<Vec<i64>> {
        let mut coefficients = Zeroizing::new(vec![0; count]);
        SecretRng::from_seed([seed; 32]).ternary_uniform(&mut coefficients);
        coefficients
    }

    /// A secret that is followed.
    fn secret(ring: &Ring, rank: usize, bodies: usize) -> clathrate_lattice::SecretKey {
        let coefficients = coefficients(ring.degree() * rank * bodies, 3);
        taint(&coefficients);
        let (degree, distribution) = (Degree(ring.degree()), SecretDistribution::UniformTernary);
        clathrate_lattice::SecretKey::from_coefficients(
            degree,
            Rank(rank),
            Bodies(bodies),
            distribution,
            coefficients,
        )
        .unwrap()
    }

    fn plain_rng() -> SecretRng {
        SecretRng::from_seed([9; 32])
    }

    fn secret_forms(ring: &Ring, basis: &Basis) {
        let phi = Automorphism::new(GaloisElement::rotation(1, ring.degree()), ring.degree());
        let secret = secret(ring, 2, 2);
        for body in 0..2 {
            black_box(secret.eval(ring, basis, body));
            black_box(secret.body(body).automorphism(&phi).eval(ring, basis, 0));
        }
    }

    fn secret_shapes(ring: &Ring, _: &Basis) {
        let whole = secret(ring, 3, 1);
        let (first, rest) = (whole.truncate_rank(1).unwrap(), whole.beyond_rank(1).unwrap());
        black_box(first.join_rank(&rest).unwrap());
        black_box(first.split_degree(ring.degree() / 4).unwrap());
    }

    fn encryptions_of_zero(ring: &Ring, basis: &Basis) {
        for (rank, bodies) in [(1, 1), (2, 1), (1, 3)] {
            black_box(
                Bundle::encrypt_zero(&secret(ring, rank, bodies), ring, basis, &mut plain_rng()).unwrap(),
            );
        }
    }

    fn secret_message(ring: &Ring, basis: &Basis) {
        let mut bundle = Bundle::encrypt_zero(&secret(ring, 1, 1), ring, basis, &mut plain_rng()).unwrap();
        let message: Vec<i64> = (0..ring.degree() as i64).map(|i| (i % 5 - 2) << 20).collect();
        taint(&message);
        bundle.add_message(0, &Poly::from_signed(ring, basis, &message).into_eval()).unwrap();
        black_box(bundle);
    }

    fn phases(ring: &Ring, basis: &Basis) {
        for (rank, bodies) in [(1, 1), (2, 3)] {
            let secret = secret(ring, rank, bodies);
            let bundle = Bundle::encrypt_zero(&secret, ring, basis, &mut plain_rng()).unwrap();
            for phase in bundle.phase(&secret).unwrap() {
                black_box(phase.into_coeff());
            }
        }
    }

    fn public_keys(ring: &Ring, basis: &Basis) {
        for rank in [1, 2] {
            black_box(PublicKey::generate(&secret(ring, rank, 1), ring, basis, &mut plain_rng()).unwrap());
        }
    }

    fn encryptions_by_public_keys(ring: &Ring, basis: &Basis) {
        let (degree, distribution) = (Degree(ring.degree()), SecretDistribution::UniformTernary);
        let plain = clathrate_lattice::SecretKey::from_coefficients(
            degree,
            Rank(1),
            Bodies(1),
            distribution,
            coefficients(ring.degree(), 3),
        )
        .unwrap();
        let key = PublicKey::generate(&plain, ring, basis, &mut plain_rng()).unwrap();
        // What it draws is as secret as the message, errors included.
        black_box(key.encrypt_zero(basis, &mut tainted_rng()).unwrap());
    }

    fn switching_keys(ring: &Ring, _: &Basis) {
        let chain = Chain::new(ring.clone(), &[1, 1, 1]).unwrap();
        let gadget = Gadget::by_bits(&chain, 60.0);
        let (top, own) = (chain.max_level(), secret(ring, 1, 1));
        let basis = chain.key_basis(top);
        let phi = Automorphism::new(GaloisElement::rotation(1, ring.degree()), ring.degree());
        for matrix in [
            SecretMatrix::quadratic(&own, ring, &basis).unwrap(),
            SecretMatrix::linear(&own.automorphism(&phi), ring, &basis),
            SecretMatrix::product(&own, &own.automorphism(&phi), ring, &basis).unwrap(),
            SecretMatrix::linear(&own, ring, &basis).automorphism(&phi),
            SecretMatrix::parts(&own, ring.degree() / 2, ring, &basis).unwrap(),
        ] {
            black_box(SwitchKey::generate(&chain, &gadget, top, &matrix, &own, &mut plain_rng()).unwrap());
        }
    }

    fn masks_times_secrets(ring: &Ring, _: &Basis) {
        let secret: Vec<i8> = coefficients(256, 4).iter().map(|&c| c as i8).collect();
        taint(&secret);
        for degree in [1, 16, 256] {
            black_box(mask_times_secret(&MaskSeed([1; 32]), 0, (&ring.moduli()[0], 0), &secret, degree));
        }
    }

    fn make(owner: &SecretKey, operations: impl IntoIterator<Item = Operation>) {
        let needs = operations
            .into_iter()
            .fold(KeyNeeds::new(), |needs, operation| needs.operation(operation, KeyLevel::Top));
        assert!(!needs.is_empty());
        black_box(owner.clone().with_rng(plain_rng()).evaluation_keys(&needs).unwrap());
    }

    fn owners_keys(desk: &Desk) {
        let owner = desk.owner("insecure_tiny");
        let device = SecretName::Device(7);
        let pack = |under| {
            Operation::Switch(Switch::Pack {
                from: ModuleShape { degree: 1, rank: 64 },
                to: 64,
                under,
                onto: SecretName::Main,
            })
        };
        make(
            &owner,
            [
                Operation::Multiply,
                Operation::Conjugate(SecretName::Main),
                Operation::Rotate { secret: SecretName::Main, steps: 3 },
                Operation::Switch(Switch::FormatSwitch { from: 1, to: 2 }),
                Operation::Switch(Switch::BodyParts { bodies: 2, degree: 16 }),
                Operation::Rotate { secret: SecretName::Bodies(2), steps: 1 },
                Operation::Conjugate(SecretName::Bodies(2)),
                Operation::Switch(Switch::ChangeSecret { from: SecretName::Main, to: device }),
                pack(SecretName::Main),
                pack(device),
            ],
        );
        black_box(owner.public_key().unwrap());
    }

    fn keys_of_ranks(desk: &Desk) {
        make(
            &desk.owner("insecure_dpad"),
            [
                Operation::Multiply,
                Operation::Rotate { secret: SecretName::Main, steps: 1 },
                Operation::ReduceRank(2),
            ],
        );
        make(&desk.owner("insecure_rank3"), [Operation::Multiply, Operation::Conjugate(SecretName::Main)]);
    }

    fn ephemeral_keys(desk: &Desk) {
        let (main, short) = (SecretName::Main, SecretName::Ephemeral);
        make(
            &desk.owner("insecure_boot"),
            [
                Operation::Switch(Switch::ChangeSecret { from: main, to: short }),
                Operation::Switch(Switch::ChangeSecret { from: short, to: main }),
            ],
        );
    }

    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|i| ((i * 7919 % 1009) as f64 / 504.0) - 1.0).collect()
    }

    fn tainted_numbers(count: usize) -> Vec<f64> {
        let numbers = numbers(count);
        taint(&numbers);
        numbers
    }

    fn encryptions_under_a_secret(desk: &Desk) {
        for (preset, bodies) in
            [("insecure_small", None), ("insecure_small", Some(2)), ("insecure_rank2", None)]
        {
            let options = EncryptOptions { bodies, ..EncryptOptions::default() };
            black_box(
                desk.owner(preset)
                    .with_rng(plain_rng())
                    .encrypt_array(&numbers(64), &[8, 8], options)
                    .unwrap(),
            );
        }
    }

    fn encrypt_numbers(desk: &Desk, encoding: Encoding, complex: bool, bound: Option<f64>) {
        let (owner, numbers) = (desk.plain_owner("insecure_small"), tainted_numbers(256));
        let complex = complex.then(|| {
            numbers.chunks_exact(2).map(|pair| Complex64::new(pair[0], pair[1])).collect::<Vec<_>>()
        });
        for (shape, lanes) in [(vec![128], None), (vec![8, 16], None), (vec![8, 16], Some(Lanes::Most))] {
            let options =
                EncryptOptions { encoding: Some(encoding), lanes, bound, ..EncryptOptions::default() };
            let owner = owner.clone().with_rng(plain_rng());
            match &complex {
                Some(numbers) => {
                    black_box(owner.encrypt_array(numbers, &shape, EncryptOptions { lanes: None, ..options }))
                }
                None => black_box(owner.encrypt_array(&numbers[..128], &shape, options)),
            }
            .unwrap();
        }
    }

    fn numbers_under_public_keys(desk: &Desk) {
        let key = desk.plain_owner("insecure_small").public_key().unwrap();
        let options = EncryptOptions { bound: BOUND, ..EncryptOptions::default() };
        black_box(key.encrypt_array(&tainted_numbers(64), &[64], options).unwrap());
    }

    fn encoded_at(desk: &Desk, log2_scale: f64) {
        let (owner, numbers) = (desk.plain_owner("insecure_small"), tainted_numbers(64));
        let level = owner.params().max_level();
        for encoding in [Encoding::Slots, Encoding::Coefficients] {
            let encoded =
                Plaintext::encode(owner.params(), &numbers, &[64], encoding, level, log2_scale.exp2())
                    .unwrap();
            black_box(owner.clone().with_rng(plain_rng()).encrypt_encoded(&encoded).unwrap());
        }
    }

    fn decryption(desk: &Desk) {
        let owner = desk.plain_owner("insecure_small");
        let arrays = [Encoding::Slots, Encoding::Coefficients].map(|encoding| {
            let options = EncryptOptions { encoding: Some(encoding), ..EncryptOptions::default() };
            owner.clone().with_rng(plain_rng()).encrypt_array(&numbers(64), &[64], options).unwrap()
        });
        taint(owner.secret().all_coefficients());
        arrays.iter().for_each(|array| {
            black_box(owner.decrypt(array).unwrap());
        });
    }

    fn decryption_to_share(desk: &Desk) {
        let owner = desk.plain_owner("insecure_small");
        let array = owner
            .clone()
            .with_rng(plain_rng())
            .encrypt_array(&numbers(64), &[64], EncryptOptions::default())
            .unwrap();
        taint(owner.secret().all_coefficients());
        black_box(owner.decrypt_to_share(&array, 20, HonestEvaluator).unwrap());
    }

    const LIGHT: LightOptions = LightOptions {
        degree: 16,
        dimension: None,
        level: Level(0),
        scale: None,
        precision_bits: Some(16.0),
        secret: SecretName::Main,
        order: clathrate_ckks::Order::Natural,
    };

    fn light_products(desk: &Desk) {
        desk.owner("insecure_tiny").light_client(&LIGHT).unwrap().precompute(2).unwrap();
    }

    fn light_numbers(desk: &Desk) {
        for options in [LIGHT, LightOptions { degree: 1, ..LIGHT }] {
            let mut client = desk.plain_owner("insecure_tiny").light_client(&options).unwrap();
            black_box(client.encrypt(&tainted_numbers(options.degree)).unwrap());
        }
    }

    fn light_secret(desk: &Desk) {
        let mut client = desk.owner("insecure_tiny").light_client(&LIGHT).unwrap();
        black_box(client.encrypt(&numbers(LIGHT.degree)).unwrap());
    }

    /// One client sends and reads: replies are authenticated for the client that introduced itself.
    fn light_replies(desk: &Desk) {
        let owner = desk.owner("insecure_tiny");
        let mut client = owner.light_client(&LIGHT).unwrap();
        let (introduction, sent) = (client.introduction(), client.encrypt(&numbers(LIGHT.degree)).unwrap());
        // What is sent is public.
        untaint(&introduction);
        untaint(&sent);
        let receiver = Receiver::new(owner.params(), &introduction, &owner.authentication_key()).unwrap();
        let answer = receiver.reply(&receiver.receive(&[&sent], None).unwrap()).unwrap();
        black_box(client.decrypt(&answer).unwrap());
    }

    /// Under valgrind: each stage in a process of its own, whose number is told.
    fn run_stages(isa: Isa) {
        let desk = Desk::new(isa);
        for (index, stage) in STAGES.iter().enumerate() {
            // SAFETY: this process has one thread.
            let child = unsafe { libc::fork() };
            assert!(child >= 0, "a process for `{}`", stage.name);
            if child == 0 {
                let done = std::panic::catch_unwind(AssertUnwindSafe(|| (stage.run)(&desk)));
                std::process::exit(i32::from(done.is_err()));
            }
            let mut status = 0;
            // SAFETY: the child is this process's, and `status` is written before the call returns.
            let ended = unsafe { libc::waitpid(child, &mut status, 0) };
            println!("stage {index} {child} {}", ended == child && status == 0);
        }
    }

    /// A place that valgrind reported: addresses and functions that led there, innermost first.
    type Place = Vec<(String, String)>;

    /// The places of each process in valgrind's log.
    fn places(log: &str) -> BTreeMap<u32, Vec<Place>> {
        const KINDS: [&str; 3] =
            ["Conditional jump or move depends on", "Use of uninitialised value", "Syscall param"];
        let mut found: BTreeMap<u32, Vec<Place>> = BTreeMap::new();
        let mut open: BTreeMap<u32, Place> = BTreeMap::new();
        for line in log.lines() {
            let Some((process, text)) = line.strip_prefix("==").and_then(|rest| rest.split_once("==")) else {
                continue;
            };
            let (Ok(process), text) = (process.parse(), text.trim()) else { continue };
            if KINDS.iter().any(|kind| text.starts_with(kind)) {
                open.insert(process, Vec::new());
            } else if let Some(frame) = text.strip_prefix("at ").or_else(|| text.strip_prefix("by ")) {
                let (address, function) = frame.split_once(": ").unwrap_or((frame, ""));
                if let Some(place) = open.get_mut(&process) {
                    place.push((
                        address.to_owned(),
                        function.split(" (in ").next().unwrap_or(function).to_owned(),
                    ));
                }
            } else if let Some(place) = open.remove(&process) {
                found.entry(process).or_default().push(place);
            }
        }
        open.into_iter().for_each(|(process, place)| found.entry(process).or_default().push(place));
        found
    }

    /// What is wrong with the places of a stage, if anything.
    fn judge(finds: &Finds, places: &[Place]) -> Option<String> {
        // The innermost function of ours: what it calls of the standard library counts as its own.
        let ours = |frame: &&(String, String)| frame.1.trim_start_matches('<').starts_with("clathrate");
        let own_of = |place: &Place| place.iter().find(ours).or(place.first()).cloned().unwrap_or_default();
        let told = |places: &[&Place]| {
            let lines = places.iter().map(|place| {
                place.iter().take(6).map(|(_, function)| function.as_str()).collect::<Vec<_>>().join(" < ")
            });
            lines.fold(String::new(), |mut text, line| {
                write!(text, "\n      {line}").unwrap();
                text
            })
        };
        match finds {
            Nothing | Only(_) => {
                let allowed: &[(&str, usize)] = if let Only(allowed) = finds { allowed } else { &[] };
                // One place that several callers lead to is one.
                let mut seen: Vec<BTreeSet<String>> = vec![BTreeSet::new(); allowed.len()];
                let beyond: Vec<&Place> = places
                    .iter()
                    .filter(|place| {
                        let (address, function) = own_of(place);
                        let Some(own) = allowed.iter().position(|(name, _)| function.contains(name)) else {
                            return true;
                        };
                        seen[own].insert(address);
                        seen[own].len() > allowed[own].1
                    })
                    .collect();
                (!beyond.is_empty())
                    .then(|| format!("{} places depend on secrets:{}", beyond.len(), told(&beyond)))
            }
            Something => {
                places.is_empty().then(|| "valgrind sees nothing, so the test shows nothing".to_owned())
            }
        }
    }

    pub fn main() {
        if let Ok(name) = std::env::var(WITHIN) {
            return run_stages(Isa::named(&name).unwrap());
        }
        // Programs that run tests ask for their names.
        if std::env::args().any(|argument| argument == "--list") {
            return;
        }
        if cfg!(debug_assertions) {
            return println!(
                "constant_time: skipped, because debug builds check the ranges of secrets: run it with --release"
            );
        }
        if !Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success()) {
            return println!(
                "constant_time: skipped, because valgrind is not installed here (the package `valgrind` of most systems)"
            );
        }
        let folder = tempfile::tempdir().unwrap();
        let mut wrong = 0;
        let under_valgrind = &|isa: Isa| {
            let log = folder.path().join(isa.name());
            let output = Command::new("valgrind")
                .args(["--error-limit=no", "--num-callers=24", "--undef-value-errors=yes"])
                .arg(format!("--log-file={}", log.display()))
                .arg(std::env::current_exe().unwrap())
                .env(WITHIN, isa.name())
                .output()
                .unwrap();
            (isa, log, output)
        };
        // Valgrind runs a program on one processor.
        let runs: Vec<_> = std::thread::scope(|scope| {
            let sets = Isa::available().into_iter().filter(|isa| *isa <= Isa::Avx2);
            let running: Vec<_> = sets.map(|isa| scope.spawn(move || under_valgrind(isa))).collect();
            running.into_iter().map(|run| run.join().unwrap()).collect()
        });
        for (isa, log, output) in runs {
            let (told, log) = (
                String::from_utf8_lossy(&output.stdout).into_owned(),
                std::fs::read_to_string(&log).unwrap(),
            );
            let mut found = places(&log);
            for (index, stage) in STAGES.iter().enumerate() {
                let line = told.lines().find_map(|line| line.strip_prefix(&format!("stage {index} ")));
                let ended = line.and_then(|line| line.split_once(' ')).filter(|&(_, ended)| ended == "true");
                let places =
                    ended.map(|(process, _)| found.remove(&process.parse().unwrap()).unwrap_or_default());
                let fault = match &places {
                    Some(places) => judge(&stage.finds, places),
                    None => Some(format!("it did not end well: {}", String::from_utf8_lossy(&output.stderr))),
                };
                let count = places.map_or(0, |places| places.len());
                let expected = match stage.finds {
                    Nothing => "",
                    Something => " (a control)",
                    Only(_) => " (allowed, in known functions)",
                };
                println!("{:6} {:50} {count}{expected}", isa.name(), stage.name);
                if let Some(fault) = fault {
                    wrong += 1;
                    println!("    WRONG: {fault}");
                }
            }
            assert!(output.status.success(), "valgrind: {}\n{told}", output.status);
        }
        assert!(wrong == 0, "{wrong} stages are not as they should be");
    }
}
