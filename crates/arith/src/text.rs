//! Numbers and nouns in messages.

use std::fmt::Display;

/// A number of things in words: `counted(1, "prime")` is "1 prime", `counted(2, "prime")` is "2 primes".
///
/// `noun` is the singular. Its plural follows the rules of spelling: "key" keys, "body" bodies, "axis" axes,
/// "index" indexes.
#[must_use]
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    if count == N::from(1) { format!("{count} {noun}") } else { format!("{count} {}", plural(noun)) }
}

/// The plural of a noun whose plural is regular.
fn plural(noun: &str) -> String {
    let consonant_before_y =
        |stem: &str| stem.ends_with(|last: char| last.is_ascii_alphabetic() && !"aeiou".contains(last));
    if let Some(stem) = noun.strip_suffix('y').filter(|stem| consonant_before_y(stem)) {
        return format!("{stem}ies");
    }
    if let Some(stem) = noun.strip_suffix("is") {
        return format!("{stem}es");
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| noun.ends_with(end));
    format!("{noun}{}", if hisses { "es" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular_and_any_other_number_plural() {
        let of = |count: u64| counted(count, "prime");
        assert_eq!([of(0), of(1), of(2), of(11)], ["0 primes", "1 prime", "2 primes", "11 primes"]);
        assert_eq!(counted(1usize, "level"), "1 level");
        assert_eq!(counted(1u32, "bit"), "1 bit");
        assert_eq!(
            (counted(1i64, "step"), counted(-1i64, "step")),
            ("1 step".to_owned(), "-1 steps".to_owned())
        );
    }

    #[test]
    fn plurals_follow_the_rules_of_spelling() {
        let nouns = ["key", "body", "axis", "index", "switch", "polynomial", "ciphertext prime"];
        let plurals = ["keys", "bodies", "axes", "indexes", "switches", "polynomials", "ciphertext primes"];
        assert_eq!(nouns.map(plural), plurals);
        assert_eq!(
            (counted(1, "entry"), counted(2, "entry")),
            ("1 entry".to_owned(), "2 entries".to_owned())
        );
    }
}
