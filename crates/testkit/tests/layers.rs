//! The layers inside the crates: no module imports one above it, and `unsafe` stays where it belongs.
//!
//! Works on the sources: comments and literals are taken out, and every path that starts at the crate's root (`crate::m`, or `super`
//! from a file of the first level) is an edge to module `m`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules of a crate, lowest first: a module may use those before it.
struct Layers {
    name: &'static str,
    order: &'static [&'static str],
    /// Upward edges that exist and should not: each must still be there, so that one that is gone leaves the list too.
    tolerated: &'static [(&'static str, &'static str)],
}

const CRATES: [Layers; 3] = [
    Layers {
        name: "arith",
        order: &[
            "text",
            "machine",
            "sequence",
            "error",
            "modulus",
            "packing",
            "limbs",
            "primes",
            "aligned",
            "factors",
            "mapped",
            "kernels",
            "ntt",
            "product",
            "buffer",
            "conversion",
            "extension",
            "automorphism",
            "engine",
            "cpu",
        ],
        tolerated: &[],
    },
    Layers {
        name: "lattice",
        order: &[
            "sampling",
            "error",
            "ring",
            "poly",
            "secret",
            "bundle",
            "chain",
            "gadget",
            "public_key",
            "modulus",
            "rank",
            "degree",
            "bodies",
            "switch",
            "multiply",
            "crossing",
            "noise",
            "security",
        ],
        tolerated: &[],
    },
    Layers {
        name: "ckks",
        order: &[
            "file",
            "shape",
            "error",
            "key_id",
            "encoder",
            "needs",
            "tune",
            "params",
            "schedule",
            "decode",
            "ciphertext",
            "share",
            "keys",
            "derived",
            "plaintext",
            "evaluator",
            "rotations",
            "moves",
            "matrix",
            "polynomial",
            "store",
        ],
        tolerated: &[],
    },
];

/// What each crate may depend on, of ours.
const CRATE_DEPENDENCIES: [(&str, &[&str]); 7] = [
    ("arith", &[]),
    ("lattice", &["arith"]),
    ("ckks", &["arith", "lattice"]),
    ("cli", &["arith", "lattice", "ckks"]),
    ("python", &["arith", "lattice", "ckks"]),
    ("bench", &["arith", "lattice", "ckks"]),
    ("testkit", &["arith"]),
];

fn crates_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/testkit has a parent").to_path_buf()
}

/// Every Rust file under `folder`.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a source folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// Identifiers and punctuation of a source, without comments and literals; `::` is one token.
fn tokens(source: &str) -> Vec<String> {
    let text: Vec<char> = source.chars().collect();
    let at = |i: usize| text.get(i).copied().unwrap_or('\0');
    let mut tokens: Vec<String> = Vec::new();
    let mut i = 0;
    while i < text.len() {
        let c = at(i);
        if c == '/' && at(i + 1) == '/' {
            while i < text.len() && at(i) != '\n' {
                i += 1;
            }
        } else if c == '/' && at(i + 1) == '*' {
            let mut depth = 0;
            loop {
                match (at(i), at(i + 1)) {
                    ('/', '*') => depth += 1,
                    ('*', '/') => depth -= 1,
                    _ => {
                        i += 1;
                        if i >= text.len() {
                            break;
                        }
                        continue;
                    }
                }
                i += 2;
                if depth == 0 || i >= text.len() {
                    break;
                }
            }
        } else if c == 'r' && (at(i + 1) == '"' || at(i + 1) == '#' && (at(i + 2) == '"' || at(i + 2) == '#')) {
            let hashes = (i + 1..).take_while(|&j| at(j) == '#').count();
            let end: String = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            let rest: String = text[i + 2 + hashes..].iter().collect();
            let length = rest.find(&end).map_or(rest.chars().count(), |byte| rest[..byte].chars().count());
            i += 2 + hashes + length + end.len();
        } else if c == '"' {
            i += 1;
            while i < text.len() && at(i) != '"' {
                i += if at(i) == '\\' { 2 } else { 1 };
            }
            i += 1;
        } else if c == '\'' && (at(i + 1) == '\\' || at(i + 2) == '\'') {
            // A character, not a lifetime.
            i += if at(i + 1) == '\\' { 3 } else { 2 };
            while i < text.len() && at(i) != '\'' {
                i += 1;
            }
            i += 1;
        } else if c.is_alphanumeric() || c == '_' {
            let start = i;
            while at(i).is_alphanumeric() || at(i) == '_' {
                i += 1;
            }
            tokens.push(text[start..i].iter().collect());
        } else if c == ':' && at(i + 1) == ':' {
            tokens.push("::".into());
            i += 2;
        } else {
            if !c.is_whitespace() {
                tokens.push(c.into());
            }
            i += 1;
        }
    }
    tokens
}

/// First names of the paths after a root: `a` of `a::b`, `a` and `c` of `{a::b, c}`.
fn first_names(tokens: &[String]) -> Vec<String> {
    if tokens.first().is_none_or(|token| token != "{") {
        return tokens.first().cloned().into_iter().collect();
    }
    let (mut depth, mut names) = (0, Vec::new());
    for (i, token) in tokens.iter().enumerate() {
        match token.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && (token == "," || i == 0) {
            names.extend(tokens.get(i + 1).filter(|name| *name != "}").cloned());
        }
    }
    names
}

/// Names that a source reaches through the crate's root; `depth` is how deep its file's module lies (1 for `m.rs` and `m/mod.rs`).
fn root_names(source: &str, depth: usize) -> BTreeSet<String> {
    let tokens = tokens(source);
    let is = |i: usize, text: &str| tokens.get(i).is_some_and(|token| token == text);
    let mut names = BTreeSet::new();
    // For each open brace, whether it is an inline module's.
    let mut braces: Vec<bool> = Vec::new();
    for i in 0..tokens.len() {
        match tokens[i].as_str() {
            "{" => braces.push(i >= 2 && is(i - 2, "mod")),
            "}" => {
                braces.pop();
            }
            "crate" if is(i + 1, "::") && !(i > 0 && is(i - 1, "$")) => names.extend(first_names(&tokens[i + 2..])),
            "super" if !(i > 0 && is(i - 1, "::")) => {
                let supers = (0..).take_while(|step| is(i + 2 * step, "super") && is(i + 2 * step + 1, "::")).count();
                let inline = braces.iter().filter(|&&module| module).count();
                if supers == depth + inline {
                    names.extend(first_names(&tokens[i + 2 * supers..]));
                }
            }
            _ => {}
        }
    }
    names
}

/// Module of the first level that a file belongs to, and its own depth; `None` for the root.
fn module_of(source_folder: &Path, file: &Path) -> Option<(String, usize)> {
    let relative = file.strip_prefix(source_folder).expect("under the source folder").with_extension("");
    let mut parts: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    if parts == ["lib"] || parts == ["main"] {
        return None;
    }
    Some((parts[0].clone(), parts.len()))
}

#[test]
fn modules_import_only_from_below() {
    for layers in &CRATES {
        let folder = crates_folder().join(layers.name).join("src");
        let rank: BTreeMap<&str, usize> = layers.order.iter().enumerate().map(|(i, &module)| (module, i)).collect();
        assert_eq!(rank.len(), layers.order.len(), "{}: each module once", layers.name);
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        for file in rust_files(&folder) {
            let Some((module, depth)) = module_of(&folder, &file) else { continue };
            let place = rank.get(module.as_str());
            let place = place.unwrap_or_else(|| panic!("{}: module {module} has no place in the layers: give it one", layers.name));
            for name in root_names(&fs::read_to_string(&file).expect("readable"), depth) {
                let target = rank.get(name.as_str());
                let target = target.unwrap_or_else(|| panic!("{}: crate::{name} is no module: import from its module", file.display()));
                if target > place {
                    let known = layers.tolerated.contains(&(module.as_str(), name.as_str()));
                    assert!(known, "{}: {module} must not use {name}, which lies above it", file.display());
                    found.insert((module.clone(), name));
                }
            }
            seen.insert(module);
        }
        let modules: BTreeSet<String> = layers.order.iter().map(|&module| module.to_owned()).collect();
        assert_eq!(seen, modules, "{}: the table names what exists", layers.name);
        assert_eq!(found.len(), layers.tolerated.len(), "{}: a tolerated edge is gone, take it off the list", layers.name);
    }
}

#[test]
fn crates_depend_only_on_those_below() {
    for (name, allowed) in CRATE_DEPENDENCIES {
        let manifest = fs::read_to_string(crates_folder().join(name).join("Cargo.toml")).expect("a manifest");
        let section = manifest.split("\n[").find(|section| section.starts_with("dependencies]")).expect("dependencies");
        for line in section.lines().filter(|line| line.starts_with("clathrate-")) {
            let dependency = line.trim_start_matches("clathrate-").split(['.', ' ', '=']).next().expect("a name");
            assert!(allowed.contains(&dependency), "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn unsafe_code_stays_in_the_kernels_and_buffers_of_arith() {
    for entry in fs::read_dir(crates_folder()).expect("crates") {
        let folder = entry.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let source_folder = folder.join("src");
        if !source_folder.is_dir() {
            continue;
        }
        let has_unsafe = |file: &Path| tokens(&fs::read_to_string(file).expect("readable")).iter().any(|token| token == "unsafe");
        if name == "arith" {
            for file in rust_files(&source_folder).into_iter().filter(|file| has_unsafe(file)) {
                let (module, _) = module_of(&source_folder, &file).expect("not the root");
                assert!(["kernels", "product", "aligned", "mapped"].contains(&module.as_str()), "unsafe code in {}", file.display());
            }
            continue;
        }
        let roots = ["lib.rs", "main.rs"].map(|root| source_folder.join(root));
        assert!(roots.iter().any(|root| root.is_file()), "{name} has a root");
        for root in roots.iter().filter(|root| root.is_file()) {
            let attribute = tokens(&fs::read_to_string(root).expect("readable")).concat();
            assert!(attribute.contains("#![forbid(unsafe_code)]"), "{} forbids unsafe code", root.display());
        }
        assert!(!rust_files(&source_folder).iter().any(|file| has_unsafe(file)), "{name} has unsafe code");
    }
}

#[test]
fn scanner_sees_every_form_of_an_import_and_no_text() {
    let names = |source: &str, depth: usize| root_names(source, depth).into_iter().collect::<Vec<_>>();
    assert_eq!(names("use crate::poly::{Basis, Poly}; use crate::ring;", 1), ["poly", "ring"]);
    assert_eq!(names("use crate::{poly::{Basis, Coeff}, ring::Ring, error};", 1), ["error", "poly", "ring"]);
    assert_eq!(names("fn f(x: &crate::poly::Basis) -> u8 { crate::file::g() }", 1), ["file", "poly"]);
    assert_eq!(names("use super::keys::A;", 1), ["keys"]);
    assert_eq!(names("use super::{keys, params::B};", 1), ["keys", "params"]);
    assert_eq!(names("use super::keys::A;", 2), Vec::<String>::new());
    assert_eq!(names("use super::super::keys::A; mod tests { use super::super::super::bundle; use super::*; }", 2), ["bundle", "keys"]);
    assert_eq!(names("mod tests { use super::inner; fn f() { super::g() } } use super::outer;", 1), ["outer"]);
    assert_eq!(names("// crate::a\n/* crate::b /* crate::c */ crate::d */ /// crate::e\n", 1), Vec::<String>::new());
    assert_eq!(names(r###"const X: &str = "crate::a\" crate::b"; const Y: &str = r#"crate::c " "#; use crate::d;"###, 1), ["d"]);
    assert_eq!(names("fn f<'a>(c: char) -> bool { c == '\"' || c == '\\'' || c == '{' } use crate::a;", 1), ["a"]);
    assert!(tokens("#![forbid(unsafe_code)] // unsafe").iter().all(|token| token != "unsafe"));
    assert!(tokens("let x = unsafe { f() };").contains(&"unsafe".to_owned()));
}
