//! Lists of names on the command line: `a,b,c`, each name one of a known set.

use crate::failure::Failure;

/// The names in comma-separated lists, in order, without duplicates.
///
/// `kind` is what the names stand for, as in "there is no parameter set".
///
/// # Errors
/// [`Failure::Usage`] for a name that is not in `known`, is empty or has spaces around it; the message lists
/// all known names.
pub fn listed<'k>(lists: &[String], kind: &str, known: &[&'k str]) -> Result<Vec<&'k str>, Failure> {
    let mut names: Vec<&'k str> = Vec::new();
    for given in lists.iter().flat_map(|list| list.split(',')) {
        let Some(&name) = known.iter().find(|&&name| name == given) else {
            return Err(Failure::Usage(refusal(given, kind, known)));
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

fn refusal(given: &str, kind: &str, known: &[&str]) -> String {
    let all = known.join(", ");
    if given.trim().is_empty() {
        return format!(
            "a name is empty in the list of {kind}s: separate names by one comma and no spaces; there are: {all}"
        );
    }
    if given.contains(char::is_whitespace) {
        return format!(
            "there is no {kind} \"{given}\": separate names by one comma and no spaces; there are: {all}"
        );
    }
    format!("there is no {kind} \"{given}\"; there are: {all}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 3] = ["ntt", "n14", "ranks"];

    fn of(lists: &[&str]) -> Result<Vec<&'static str>, String> {
        let lists: Vec<String> = lists.iter().map(|&list| list.to_owned()).collect();
        listed(&lists, "set", &KNOWN).map_err(|failure| failure.to_string())
    }

    #[test]
    fn names_keep_their_order_and_come_once() {
        assert_eq!(of(&[]), Ok(vec![]));
        assert_eq!(of(&["n14,ntt"]), Ok(vec!["n14", "ntt"]));
        assert_eq!(of(&["ntt,ntt"]), Ok(vec!["ntt"]));
        assert_eq!(of(&["ntt,n14", "ranks,ntt"]), Ok(vec!["ntt", "n14", "ranks"]));
    }

    #[test]
    fn names_that_are_unknown_empty_or_spaced_are_refused_with_those_there_are() {
        for (list, told) in [
            ("n99", "no set \"n99\""),
            ("NTT", "no set \"NTT\""),
            ("", "empty"),
            ("ntt,", "empty"),
            ("ntt,,n14", "empty"),
            (" ", "empty"),
            ("ntt, n14", "no set \" n14\": separate names by one comma and no spaces"),
            ("ntt n14", "no set \"ntt n14\": separate names by one comma and no spaces"),
        ] {
            let message = of(&[list]).expect_err(list);
            assert!(
                message.contains(told) && message.ends_with("there are: ntt, n14, ranks"),
                "{list}: {message}"
            );
        }
    }
}
