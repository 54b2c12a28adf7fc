//! The layers inside the crates: no module imports one above it, and `unsafe` stays where it belongs.
//!
//! Works on the sources: comments and literals are taken out, and every path that starts at the crate's root
//! (`crate::m`, or `super` from a file of the first level) is an edge to module `m`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Modules of a crate, lowest first: a module may use those before it.
struct Layers {
    name: &'static str,
    order: &'static [&'static str],
}

const CRATES: [Layers; 6] = [
    Layers {
        name: "arith",
        order: &[
            "text",
            "machine",
            "secrecy",
            "sequence",
            "workers",
            "error",
            "modulus",
            "bit_packing",
            "limbs",
            "primes",
            "aligned",
            "mapped",
            "process",
            "buffer",
            "factors",
            "kernels",
            "ntt",
            "meter",
            "product",
            "conversion",
            "extension",
            "automorphism",
            "engine",
            "cpu",
        ],
    },
    Layers { name: "cuda", order: &["device", "budget", "host", "nvidia", "memory", "queue", "engine"] },
    Layers {
        name: "lattice",
        order: &[
            "shape",
            "sampling",
            "noise",
            "rounding",
            "error",
            "ring",
            "basis",
            "poly",
            "secret",
            "bundle",
            "counted",
            "sample_batch",
            "chain",
            "gadget",
            "public_key",
            "phase",
            "modulus",
            "rank",
            "degree",
            "bodies",
            "subring",
            "packed_plaintext",
            "linear_combination",
            "switch",
            "multiply",
            "hoisting",
            "rotated_sums",
            "raise",
            "format_switch",
            "packing",
            "temporary_rank",
            "row_products",
            "outer_products",
            "transposition",
            "security",
        ],
    },
    Layers { name: "samples", order: &["tag", "error", "wire", "key", "client"] },
    Layers { name: "service", order: &["queue", "inbox"] },
    Layers {
        name: "ckks",
        order: &[
            "progress",
            "byproducts",
            "file",
            "shape",
            "names",
            "error",
            "cost",
            "key_id",
            "embedding",
            "tune",
            "parameters",
            "arrays",
            "encoding",
            "keys",
            "light",
            "outside",
            "evaluation",
            "circuits",
            "encrypted_array",
            "functions",
            "store",
            "program",
            "prelude",
        ],
    },
];

/// What each crate may depend on, of ours.
const CRATE_DEPENDENCIES: [(&str, &[&str]); 10] = [
    ("arith", &[]),
    ("cuda", &["arith"]),
    ("lattice", &["arith"]),
    ("samples", &["arith", "lattice"]),
    ("ckks", &["arith", "cuda", "lattice", "samples"]),
    ("service", &["arith", "lattice", "samples", "ckks"]),
    ("cli", &["arith", "lattice", "ckks", "service"]),
    ("python", &["arith", "lattice", "ckks", "service", "cli"]),
    ("bench", &["arith", "lattice", "ckks"]),
    ("testkit", &["arith", "cuda"]),
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
        } else if c == 'r' && (at(i + 1) == '"' || at(i + 1) == '#' && (at(i + 2) == '"' || at(i + 2) == '#'))
        {
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

/// Paths of a use tree or of an expression, from the token after the root's `::` on: `[a, b]` and `[c]` of
/// `{a::b, c}`. A glob ends in `*`, `self` is left out, a renamed import keeps its first name.
fn paths(tokens: &[String]) -> Vec<Vec<String>> {
    fn tree(tokens: &[String], at: &mut usize, prefix: &[String], out: &mut Vec<Vec<String>>) {
        let mut path = prefix.to_vec();
        while let Some(token) = tokens.get(*at) {
            *at += 1;
            match token.as_str() {
                "{" => {
                    while tokens.get(*at).is_some_and(|next| next != "}") {
                        tree(tokens, at, &path, out);
                        if tokens.get(*at).is_some_and(|next| next == ",") {
                            *at += 1;
                        }
                    }
                    *at += 1;
                    return;
                }
                "self" => break,
                name => path.push(name.to_owned()),
            }
            if tokens.get(*at).is_some_and(|next| next == "::")
                && tokens.get(*at + 1).is_some_and(|next| next != "<")
            {
                *at += 1;
            } else {
                break;
            }
        }
        if tokens.get(*at).is_some_and(|next| next == "as") {
            *at += 2;
        }
        out.push(path);
    }
    let mut out = Vec::new();
    tree(tokens, &mut 0, &[], &mut out);
    out
}

/// What one file reaches.
#[derive(Default)]
struct Imports {
    /// Full paths from the crate's root.
    paths: BTreeSet<Vec<String>>,
    /// Names that its `pub use` gives out, with the path each stands for; a glob's name is `*`.
    exports: Vec<(String, Vec<String>)>,
    /// Names of the items that it defines.
    items: BTreeSet<String>,
}

/// Reads the imports of the source of `module`.
fn imports(source: &str, module: &[String]) -> Imports {
    let tokens = tokens(source);
    let is = |i: usize, text: &str| tokens.get(i).is_some_and(|token| token == text);
    let mut found = Imports::default();
    // For each open brace, whether it is an inline module's.
    let mut braces: Vec<bool> = Vec::new();
    let mut i = 0;
    while i < tokens.len() {
        let inline = braces.iter().filter(|&&module| module).count();
        match tokens[i].as_str() {
            "{" => braces.push(i >= 2 && is(i - 2, "mod")),
            "}" => {
                braces.pop();
            }
            "struct" | "enum" | "trait" | "fn" | "type" | "const" | "static"
                if inline == 0 && braces.is_empty() =>
            {
                found.items.extend(tokens.get(i + 1).cloned());
            }
            "crate" if is(i + 1, "::") && !(i > 0 && is(i - 1, "$")) => {
                found.paths.extend(paths(&tokens[i + 2..]))
            }
            "super" if !(i > 0 && is(i - 1, "::")) && is(i + 1, "::") => {
                let supers =
                    (0..).take_while(|step| is(i + 2 * step, "super") && is(i + 2 * step + 1, "::")).count();
                if let Some(kept) =
                    (module.len() + inline).checked_sub(supers).filter(|&kept| kept <= module.len())
                {
                    let base = &module[..kept];
                    // A path into the same file's inline modules says nothing.
                    if supers > inline {
                        found.paths.extend(
                            paths(&tokens[i + 2 * supers..]).into_iter().map(|path| [base, &path].concat()),
                        );
                    }
                }
            }
            "pub" if inline == 0 => {
                // `pub use`, `pub(crate) use`: a facade.
                let mut at = i + 1;
                if is(at, "(") {
                    while at < tokens.len() && !is(at, ")") {
                        at += 1;
                    }
                    at += 1;
                }
                if is(at, "use") && !is(at + 1, "crate") && !is(at + 1, "super") {
                    let end = (at..tokens.len()).find(|&j| is(j, ";")).unwrap_or(tokens.len());
                    for path in paths(&tokens[at + 1..end]) {
                        if let Some(name) = path.last().cloned() {
                            found.exports.push((name, [module, &path].concat()));
                        }
                    }
                    i = end;
                }
            }
            _ => {}
        }
        i += 1;
    }
    found
}

/// The files of one crate as modules, and which imports which.
struct Graph {
    edges: BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
}

impl Graph {
    fn of(source_folder: &Path) -> Self {
        let mut modules = BTreeMap::new();
        for file in rust_files(source_folder) {
            let name = module_path(source_folder, &file);
            modules.insert(name.clone(), imports(&fs::read_to_string(&file).expect("readable"), &name));
        }
        let mut edges: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = BTreeMap::new();
        for (module, imports) in &modules {
            let targets = imports.paths.iter().filter_map(|path| resolve(&modules, path, 0));
            edges.insert(module.clone(), targets.filter(|target| target != module).collect());
        }
        Self { edges }
    }

    /// Edges between the children of `folder`: file to file, a folder counting as one.
    fn siblings(&self, folder: &[String]) -> BTreeMap<String, BTreeSet<String>> {
        let child = |module: &[String]| {
            (module.len() > folder.len() && module.starts_with(folder)).then(|| module[folder.len()].clone())
        };
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (module, targets) in &self.edges {
            let Some(from) = child(module) else { continue };
            let entry = edges.entry(from.clone()).or_default();
            entry.extend(targets.iter().filter_map(|target| child(target)).filter(|to| *to != from));
        }
        edges
    }

    /// Every folder, the root first.
    fn folders(&self) -> BTreeSet<Vec<String>> {
        self.edges.keys().flat_map(|module| (0..module.len()).map(|depth| module[..depth].to_vec())).collect()
    }
}

/// The module that `path` leads to: through facades to the file that has the item.
fn resolve(modules: &BTreeMap<Vec<String>, Imports>, path: &[String], depth: usize) -> Option<Vec<String>> {
    let length = (0..=path.len()).rev().find(|&length| modules.contains_key(&path[..length]))?;
    let module = &path[..length];
    let Some(name) = path.get(length) else { return Some(module.to_vec()) };
    let imports = &modules[module];
    if depth < 8 && !imports.items.contains(name) {
        let exported = imports.exports.iter().find(|(export, _)| export == name).map(|(_, to)| to.clone());
        let globs = || {
            let globs = imports
                .exports
                .iter()
                .filter(|(export, _)| export == "*")
                .map(|(_, to)| to[..to.len() - 1].to_vec());
            globs.into_iter().map(|mut to| {
                to.push(name.clone());
                to
            })
        };
        if let Some(to) = exported {
            return resolve(modules, &to, depth + 1);
        }
        if let Some(to) = globs().find(|to| {
            resolve(modules, to, depth + 1).is_some_and(|found| modules[&found].items.contains(name))
        }) {
            return resolve(modules, &to, depth + 1);
        }
    }
    Some(module.to_vec())
}

/// A circle among `edges`, as the names along it; none where they can be put in an order.
fn circle(edges: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut open: BTreeMap<&str, BTreeSet<&str>> =
        edges.iter().map(|(from, to)| (from.as_str(), to.iter().map(String::as_str).collect())).collect();
    // Take away whatever needs nothing that is left.
    loop {
        let left: BTreeSet<&str> = open.keys().copied().collect();
        let free: Vec<&str> =
            open.iter().filter(|(_, to)| to.is_disjoint(&left)).map(|(&from, _)| from).collect();
        if free.is_empty() {
            break;
        }
        free.into_iter().for_each(|from| {
            open.remove(from);
        });
    }
    let mut at = *open.keys().next()?;
    let mut walk = vec![at];
    while let Some(&next) = open[at].iter().find(|to| open.contains_key(**to)) {
        if let Some(place) = walk.iter().position(|&known| known == next) {
            let mut names: Vec<String> = walk[place..].iter().map(|&name| name.to_owned()).collect();
            names.push(next.to_owned());
            return Some(names);
        }
        walk.push(next);
        at = next;
    }
    None
}

/// The path of a file's module from the crate's root; empty for the root itself.
fn module_path(source_folder: &Path, file: &Path) -> Vec<String> {
    let relative = file.strip_prefix(source_folder).expect("under the source folder").with_extension("");
    let mut parts: Vec<String> = relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    if parts == ["lib"] || parts == ["main"] { Vec::new() } else { parts }
}

#[test]
fn modules_import_only_from_below() {
    let mut faults = Vec::new();
    for layers in &CRATES {
        let place: BTreeMap<&str, usize> =
            layers.order.iter().enumerate().map(|(i, &module)| (module, i)).collect();
        assert_eq!(place.len(), layers.order.len(), "{}: each module once", layers.name);
        let rooms = Graph::of(&crates_folder().join(layers.name).join("src")).siblings(&[]);
        let names: BTreeSet<&str> = rooms.keys().map(String::as_str).collect();
        assert_eq!(
            names,
            layers.order.iter().copied().collect(),
            "{}: the table names what exists",
            layers.name
        );
        for (from, targets) in &rooms {
            for to in targets {
                if place[to.as_str()] >= place[from.as_str()] {
                    faults.push(format!("{}: {from} must not use {to}, which lies above it", layers.name));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn files_of_one_folder_import_in_one_direction() {
    let mut faults = Vec::new();
    for crate_name in ["arith", "cuda", "lattice", "samples", "ckks", "service", "cli", "python", "bench"] {
        let graph = Graph::of(&crates_folder().join(crate_name).join("src"));
        assert!(graph.edges.values().any(|targets| !targets.is_empty()), "{crate_name}: imports are seen");
        for folder in graph.folders() {
            if let Some(names) = circle(&graph.siblings(&folder)) {
                faults.push(format!(
                    "{crate_name}/{}: a circle of imports: {}",
                    folder.join("/"),
                    names.join(" -> ")
                ));
            }
        }
        // A file that reaches for its own folder's facade reaches for its siblings by another name.
        for (module, targets) in &graph.edges {
            let facade = targets.iter().find(|target| {
                !target.is_empty() && module.len() > target.len() && module.starts_with(target)
            });
            if let Some(facade) = facade {
                let children = graph.edges[facade]
                    .iter()
                    .any(|child| child.starts_with(facade) && child.len() > facade.len());
                if children {
                    faults.push(format!(
                        "{crate_name}: {} and {} import each other",
                        module.join("::"),
                        facade.join("::")
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn crates_depend_only_on_those_below() {
    for (name, allowed) in CRATE_DEPENDENCIES {
        let manifest = fs::read_to_string(crates_folder().join(name).join("Cargo.toml")).expect("a manifest");
        let section =
            manifest.split("\n[").find(|section| section.starts_with("dependencies]")).expect("dependencies");
        for line in section.lines().filter(|line| line.starts_with("clathrate-")) {
            let dependency =
                line.trim_start_matches("clathrate-").split(['.', ' ', '=']).next().expect("a name");
            assert!(allowed.contains(&dependency), "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn light_clients_have_no_files_locks_or_threads() {
    // They are compiled for machines that have none.
    for file in rust_files(&crates_folder().join("samples/src")) {
        let used = tokens(&fs::read_to_string(&file).expect("readable"));
        for word in ["fs", "io", "net", "env", "thread", "sync", "Mutex", "OnceLock"] {
            assert!(used.iter().all(|token| token != word), "{} uses {word}", file.display());
        }
    }
}

#[test]
fn unsafe_code_stays_in_the_kernels_and_buffers_of_arith_at_the_devices_and_in_one_promise() {
    for entry in fs::read_dir(crates_folder()).expect("crates") {
        let folder = entry.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let source_folder = folder.join("src");
        if !source_folder.is_dir() {
            continue;
        }
        let has_unsafe = |file: &Path| {
            tokens(&fs::read_to_string(file).expect("readable")).iter().any(|token| token == "unsafe")
        };
        let may: &[&str] = match name.as_str() {
            "arith" => &["kernels", "product", "aligned", "mapped", "process", "secrecy"],
            "cuda" => &["host", "nvidia"],
            // What the argument `trusted_map` promises: one word.
            "python" => &["trusted"],
            _ => &[],
        };
        if !may.is_empty() {
            for file in rust_files(&source_folder).into_iter().filter(|file| has_unsafe(file)) {
                let module = module_path(&source_folder, &file);
                assert!(may.contains(&module[0].as_str()), "unsafe code in {}", file.display());
            }
        }
        if name == "python" {
            let words = |file: &Path| {
                tokens(&fs::read_to_string(file).expect("readable"))
                    .iter()
                    .filter(|token| *token == "unsafe")
                    .count()
            };
            assert_eq!(
                rust_files(&source_folder).iter().map(|file| words(file)).sum::<usize>(),
                1,
                "the one promise"
            );
            let root = tokens(&fs::read_to_string(source_folder.join("lib.rs")).expect("readable")).concat();
            assert!(root.contains("#![deny(unsafe_code)]"), "unsafe code is denied but for the promise");
        }
        if !may.is_empty() {
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

/// Words that reach into the memory of residues, or compute on words of one row: nothing above arith names
/// them.
const INSIDE_RESIDUES: [&str; 10] = [
    "row_mut",
    "host",
    "host_mut",
    "of_words",
    "DeviceMemory",
    "AlignedWords",
    "RowKernel",
    "multiply_mod",
    "subring_extract",
    "subring_embed",
];

/// Words by which residues enter or leave an engine, and the files that may say them: files, comparisons,
/// encoding, decoding, masks, measurements.
const CROSSINGS: [&str; 4] = ["upload", "upload_rows", "download", "download_row"];
const MAY_CROSS: [(&str, &str); 9] = [
    ("lattice", "poly.rs"),
    ("lattice", "poly/several.rs"),
    ("lattice", "bundle.rs"),
    ("ckks", "store.rs"),
    ("ckks", "arrays/comparison.rs"),
    ("ckks", "encoding/encode.rs"),
    ("ckks", "encoding/decode.rs"),
    ("ckks", "tune/measure.rs"),
    ("ckks", "light/receiver.rs"),
];

#[test]
fn residues_are_handles_above_arith() {
    let mut faults = Vec::new();
    let mut crossings = BTreeSet::new();
    for name in ["lattice", "ckks"] {
        let folder = crates_folder().join(name).join("src");
        for file in rust_files(&folder) {
            let relative = file.strip_prefix(&folder).expect("inside").to_string_lossy().replace('\\', "/");
            let tokens = tokens(&fs::read_to_string(&file).expect("readable"));
            let is = |i: usize, text: &str| tokens.get(i).is_some_and(|token| token == text);
            // Methods of a buffer whose names are everyday words. A type's own method of that name is not a
            // buffer's.
            let own = |name| (0..tokens.len()).any(|i| is(i, "fn") && is(i + 1, name));
            let everyday: Vec<&str> = ["row", "device"].into_iter().filter(|name| !own(name)).collect();
            for (i, token) in tokens.iter().enumerate() {
                let method = is(i, ".") && is(i + 2, "(") && everyday.iter().any(|name| is(i + 1, name));
                if method || INSIDE_RESIDUES.contains(&token.as_str()) {
                    faults.push(format!(
                        "{name}/{relative} reaches into residues: {}",
                        tokens[i..(i + 3).min(tokens.len())].concat()
                    ));
                }
                if CROSSINGS.contains(&token.as_str()) {
                    crossings.insert((name, relative.clone()));
                }
            }
        }
    }
    let allowed = MAY_CROSS.map(|(name, file)| (name, file.to_owned()));
    faults.extend(
        crossings
            .iter()
            .filter(|found| !allowed.contains(found))
            .map(|(name, file)| format!("{name}/{file} takes residues to the host")),
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(allowed.iter().all(|file| crossings.contains(file)), "every allowance is used: {crossings:?}");
}

#[test]
fn scanner_sees_every_form_of_an_import_and_no_text() {
    let path =
        |text: &str| text.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    let names = |source: &str, module: &str| {
        imports(source, &path(module)).paths.into_iter().map(|path| path.join("::")).collect::<Vec<_>>()
    };
    assert_eq!(
        names("use crate::poly::{Basis, Poly}; use crate::ring;", "a"),
        ["poly::Basis", "poly::Poly", "ring"]
    );
    assert_eq!(
        names("use crate::{poly::{self, Basis, Coeff}, ring::Ring as R, error::*};", "a"),
        ["error::*", "poly", "poly::Basis", "poly::Coeff", "ring::Ring"]
    );
    assert_eq!(
        names("fn f(x: &crate::poly::Basis) -> u8 { crate::file::g() }", "a"),
        ["file::g", "poly::Basis"]
    );
    assert_eq!(names("use super::keys::A;", "a"), ["keys::A"]);
    assert_eq!(names("use super::{keys, params::B};", "a"), ["keys", "params::B"]);
    assert_eq!(names("use super::keys::A;", "room::a"), ["room::keys::A"]);
    assert_eq!(
        names("use super::super::keys::A; mod tests { use super::super::bundle; use super::*; }", "room::a"),
        ["keys::A", "room::bundle"]
    );
    assert_eq!(
        names("mod tests { use super::inner; fn f() { super::g() } } use super::outer;", "a"),
        ["outer"]
    );
    assert_eq!(
        names("// crate::a\n/* crate::b /* crate::c */ crate::d */ /// crate::e\n", "a"),
        Vec::<String>::new()
    );
    assert_eq!(
        names(
            r###"const X: &str = "crate::a\" crate::b"; const Y: &str = r#"crate::c " "#; use crate::d;"###,
            "a"
        ),
        ["d"]
    );
    assert_eq!(
        names("fn f<'a>(c: char) -> bool { c == '\"' || c == '\\'' || c == '{' } use crate::a;", "b"),
        ["a"]
    );
    let facade =
        imports("mod x; pub use x::{A, B}; pub(crate) use y::C; pub struct D; use z::E;", &path("room"));
    let exports: Vec<String> =
        facade.exports.iter().map(|(name, to)| format!("{name}={}", to.join("::"))).collect();
    assert_eq!(exports, ["A=room::x::A", "B=room::x::B", "C=room::y::C"]);
    assert!(facade.items.contains("D") && facade.paths.is_empty());
    assert!(tokens("#![forbid(unsafe_code)] // unsafe").iter().all(|token| token != "unsafe"));
    assert!(tokens("let x = unsafe { f() };").contains(&"unsafe".to_owned()));
}

#[test]
fn circles_are_found_and_orders_are_not() {
    let edges = |list: &[(&str, &[&str])]| {
        list.iter()
            .map(|(from, to)| ((*from).to_owned(), to.iter().map(|name| (*name).to_owned()).collect()))
            .collect::<BTreeMap<_, BTreeSet<_>>>()
    };
    assert_eq!(circle(&edges(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])), None);
    let found =
        circle(&edges(&[("a", &["b"]), ("b", &["c"]), ("c", &["a"]), ("d", &["a"])])).expect("a circle");
    assert_eq!((found.len(), found.first()), (4, found.last()));
}
