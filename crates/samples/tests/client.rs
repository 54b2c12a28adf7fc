//! Light clients of terms and secrets that do not fit each other are refused before they can encrypt.

use clathrate_lattice::MaskSeed;
use clathrate_samples::{ClientKey, LightClient, SampleError, Terms};
use zeroize::Zeroizing;

fn terms() -> Terms {
    Terms {
        digest: [1; 32],
        key_id: [2; 16],
        serial: [3; 16],
        device: None,
        degree: 4,
        rank: 2,
        level: 0,
        scale: 2f64.powi(20),
        dropped: 8,
        reversed: false,
        // 1073479681 = 2^30 - 2^18 + 1, a prime.
        moduli: vec![(1_073_479_681, 0)],
        seed: MaskSeed([0; 32]),
    }
}

fn client(
    terms: Terms,
    secret: usize,
    part: Option<usize>,
    whole: usize,
) -> Result<LightClient, SampleError> {
    let key = ClientKey::new(Zeroizing::new([7; 32]));
    let zeros = |length: usize| Zeroizing::new(vec![0i8; length]);
    LightClient::new(terms, key, (zeros(secret), part.map(zeros)), whole)
}

#[test]
fn clients_whose_secret_and_terms_do_not_fit_are_refused() {
    assert!(client(terms(), 8, None, 8).is_ok() && client(terms(), 16, Some(8), 16).is_ok());
    // Secrets of other sizes, and degrees that are none.
    for (secret, part, whole) in [
        (8, None, 0),
        (8, None, 2),
        (8, None, 3),
        (7, None, 8),
        (16, None, 16),
        (16, Some(4), 16),
        (4, None, 4),
    ] {
        let refused = client(terms(), secret, part, whole);
        assert!(matches!(refused, Err(SampleError::OutOfRange { .. })), "{secret} {part:?} {whole}");
    }
    let unsound = [
        Terms { degree: 3, ..terms() },
        Terms { rank: 0, ..terms() },
        Terms { degree: 1 << 40, rank: 1 << 40, ..terms() },
        Terms { scale: f64::NAN, ..terms() },
        Terms { scale: -1.0, ..terms() },
        Terms { dropped: 40, ..terms() },
        Terms { dropped: u32::MAX, ..terms() },
        Terms { moduli: Vec::new(), ..terms() },
        Terms { moduli: vec![(0, 0)], ..terms() },
        Terms { moduli: vec![(1_073_479_681, 0); 5], ..terms() },
    ];
    for terms in unsound {
        assert!(
            matches!(client(terms.clone(), 8, None, 8), Err(SampleError::OutOfRange { .. })),
            "{terms:?}"
        );
    }
}

#[test]
fn states_come_back_and_every_one_that_is_cut_or_changed_is_refused() {
    let state = client(terms(), 16, Some(8), 16).expect("a client").to_bytes();
    let again = LightClient::from_bytes(&state).expect("a client");
    assert_eq!((again.degree(), again.device(), again.next_counter()), (4, None, 0));
    for length in 0..state.len() {
        assert!(LightClient::from_bytes(&state[..length]).is_err(), "{length} bytes");
    }
    for place in 0..state.len() {
        for change in [1, 0x80, 0xff] {
            let mut changed = state.to_vec();
            changed[place] ^= change;
            assert!(LightClient::from_bytes(&changed).is_err(), "byte {place}");
        }
    }
}
