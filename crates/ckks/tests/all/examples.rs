//! The example of an encrypted product: it runs, prints the product, and is what the README shows.

use std::cell::RefCell;

thread_local! {
    /// The lines that the example printed.
    static PRINTED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Takes the place of the standard macro in the example.
macro_rules! println {
    ($($argument:tt)*) => {{
        let line = format!($($argument)*);
        super::PRINTED.with_borrow_mut(|lines| lines.push(line));
    }};
}

#[path = "../../examples/multiply.rs"]
mod multiply;

/// The example from its main function's name on.
fn main_function() -> &'static str {
    let (_, main) =
        include_str!("../../examples/multiply.rs").split_once("pub fn main").expect("a main function");
    main
}

#[test]
fn multiply_prints_the_product_of_the_encrypted_numbers() {
    multiply::main().expect("the example runs");
    PRINTED.with_borrow(|lines| assert_eq!(lines[..], ["[6.000, -1.000, -2.000]"]));
}

#[test]
fn multiply_takes_fewer_than_fifteen_lines() {
    assert!(main_function().lines().count() < 15);
}

#[test]
fn readme_shows_the_example() {
    let readme = include_str!("../../../../README.md");
    let shown = format!("```rust\nuse clathrate_ckks::prelude::*;\n\nfn main{}```\n", main_function());
    assert!(readme.contains(&shown), "README.md shows the main function of examples/multiply.rs");
}
