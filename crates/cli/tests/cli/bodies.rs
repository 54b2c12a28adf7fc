//! Several bodies under one mask on the command line: keys, encryption, products, and what files say of it.

use serde_json::json;

use crate::support::*;

const TOLERANCE: f64 = 1e-5;

#[test]
fn arrays_of_several_bodies_are_encrypted_multiplied_and_decrypted() {
    let desk = Desk::furnished();
    // At degree 256 a row of 600 coefficients takes three polynomials.
    let (w, x) = (ramp(8), ramp(4 * 600));
    desk.put("w.npy", &npy_f64(&[2, 4], &w));
    desk.put("x.npy", &npy_f64(&[4, 600], &x));
    let line = format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --bodies 2");
    let said = desk.ok(&format!("{line} --output in.clt")).stdout;
    assert!(said.ends_with(", 8 polynomial bundles of 2 bodies\n"), "{said}");
    let made = desk.run(&format!("{line} --output in.clt --json")).json();
    assert_eq!((&made["bundles"], &made["secret"]), (&json!(8), &json!("bodies:2")));
    assert_eq!((&made["layout"]["bodies"], &made["layout"]["chunks"]), (&json!(2), &json!(3)));
    desk.ok(&format!("matmul --params {PARAMS} --weights w.npy --input in.clt --output out.clt"));
    desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input out.clt --output y.npy"));
    assert_close(&read_npy(&desk.get("y.npy")).1, &product(&w, &x, 2, 4, 600), TOLERANCE);
}

#[test]
fn inspect_tells_the_layout_and_the_secret_of_arrays() {
    let desk = Desk::furnished();
    desk.ok(&format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output two.clt --bodies 2"));
    let layout = "256 real numbers in coefficients of degree 256";
    for (file, layout, secret) in [
        ("ct.clt", layout.to_owned(), "main"),
        ("two.clt", format!("{layout}, 2 rows under one mask"), "bodies:2"),
    ] {
        let text = desk.ok(&format!("inspect {file}")).stdout;
        assert!(text.contains(&format!("\n  layout     {layout}\n  secret     {secret}\n")), "{text}");
        assert_eq!(desk.run(&format!("inspect {file} --json")).json()["metadata"]["secret"], secret);
    }
    let other = desk.ok("inspect pk.clt").stdout;
    assert!(!other.contains("  layout ") && !other.contains("  secret "), "{other}");
}

#[test]
fn keygen_makes_the_keys_that_bring_bundles_together_and_take_them_apart() {
    let desk = Desk::furnished();
    desk.ok(&format!(
        "keygen --params {PARAMS} --secret sk.clt --existing --evaluation masks.clt --shared-mask 3 --level 0"
    ));
    let keys = desk.run("inspect masks.clt --json").json()["metadata"]["keys"].clone();
    let entry = |key: &serde_json::Value| {
        (key["name"].as_str().expect("name").to_owned(), key["level"].as_u64().expect("level"))
    };
    let mut entries: Vec<_> = keys.as_array().expect("list").iter().map(entry).collect();
    entries.sort();
    let expected = [
        "change-secret body:0/3 main",
        "change-secret body:1/3 main",
        "change-secret body:2/3 main",
        "format-switch 3",
    ]
    .map(|name| (name.to_owned(), 0));
    assert_eq!(entries, expected);
}

#[test]
fn numbers_of_bodies_that_cannot_be_are_refused() {
    let desk = Desk::furnished();
    let keygen = format!("keygen --params {PARAMS} --secret sk.clt --existing --evaluation masks.clt");
    let encrypt = format!("encrypt --params {PARAMS} --input x.npy --output out.clt");
    for bodies in ["0", "4097", "-1", "two"] {
        desk.refuses(&format!("{keygen} --shared-mask {bodies}"), 2, "usage");
        desk.refuses(&format!("{encrypt} --key sk.clt --bodies {bodies}"), 2, "usage");
    }
    desk.refuses(
        &format!("keygen --params {PARAMS} --secret sk.clt --existing --public p.clt --shared-mask 2"),
        2,
        "usage",
    );
    assert!(
        desk.refuses(&format!("{encrypt} --key pk.clt --bodies 2"), 11, "wrong-secret")
            .contains("encrypt without `bodies`")
    );
}
