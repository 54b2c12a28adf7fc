//! Names of numbers and of sources of errors: equal numbers and sources have equal names.

use serde::{Deserialize, Serialize};

/// Names in files: always 16 digits, so that files of similar arrays have the same length.
pub(super) mod stored_name {
    use serde::{Deserialize, Deserializer, Serializer, de};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(in crate::arrays::estimate) fn serialize<S: Serializer>(
        name: &u64,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{name:016x}"))
    }

    pub(in crate::arrays::estimate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let name = u64::from_str_radix(&text, 16).ok().filter(|_| digits);
        name.ok_or_else(|| de::Error::custom("a name that is not 16 hexadecimal digits"))
    }
}

/// A name in a list or option.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredName(#[serde(with = "stored_name")] pub(super) u64);

/// The name of a few numbers. Positive and negative zero have the same name.
pub(crate) fn name_of(numbers: impl IntoIterator<Item = f64>) -> u64 {
    numbers.into_iter().fold(0, |name, number| mixed_name(name, (number + 0.0).to_bits()))
}

/// The name of an array of numbers, in time that does not depend on their values.
pub(crate) fn name_of_all(numbers: &[f64]) -> u64 {
    // Eight independent chains, for instruction-level parallelism.
    let mut names = [0u64; 8];
    let chunks = numbers.chunks_exact(names.len());
    let rest = name_of(chunks.remainder().iter().copied());
    for chunk in chunks {
        for (name, number) in names.iter_mut().zip(chunk) {
            *name = (name.rotate_left(23) ^ (number + 0.0).to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
    }
    names.into_iter().chain([rest]).fold(numbers.len() as u64, mixed_name)
}

/// A name computed from two names.
pub(crate) fn mixed_name(x: u64, y: u64) -> u64 {
    // The finaliser of splitmix64.
    let mut z = x.rotate_left(23) ^ y.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
