//! The verbs that compute on encrypted arrays: sums, products, rotations, polynomials, conversions.

use crate::support::*;

const SLOTS: &str = "insecure_small";
const TOLERANCE: f64 = 1e-5;

/// A folder with keys, and a 2 x 5 array in slots in `ct.clt`.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.ok(&format!(
        "keygen --params {SLOTS} --secret sk.clt --evaluation evk.clt --relinearise --rotations 1,2,4"
    ));
    desk.put("x.npy", &npy_f64(&[2, 5], &ramp(10)));
    desk.ok(&format!("encrypt --params {SLOTS} --key sk.clt --input x.npy --encoding slots --output ct.clt"));
    desk
}

/// Runs a verb on `ct.clt` and decrypts its output; and the level that it says.
fn computed(desk: &Desk, line: &str) -> (Vec<f64>, i64) {
    let (verb, options) = line.split_once(' ').unwrap_or((line, ""));
    let said =
        desk.run(&format!("{verb} --json --params {SLOTS} --input ct.clt --output out.clt {options}")).json();
    desk.ok(&format!("decrypt --params {SLOTS} --secret sk.clt --input out.clt --output y.npy"));
    (read_npy(&desk.get("y.npy")).1, said["level"].as_i64().expect("a level"))
}

#[test]
fn sums_and_products_are_those_of_the_clear_numbers() {
    let desk = desk();
    let x = ramp(10);
    let row = [0.5, -0.25, 1.0, 2.0, 0.125];
    desk.put("row.npy", &npy_f64(&[5], &row));
    desk.put("column.npy", &npy_f64(&[2, 1], &[3.0, -1.0]));
    let each = |f: &dyn Fn(usize) -> f64| (0..10).map(f).collect::<Vec<f64>>();
    let top = 5;
    let cases: [(&str, Vec<f64>, i64); 13] = [
        ("add --with ct.clt", each(&|i| 2.0 * x[i]), top),
        ("add --with ct.clt --subtract", each(&|_| 0.0), top),
        ("add --plain row.npy", each(&|i| x[i] + row[i % 5]), top),
        ("add --plain column.npy --subtract", each(&|i| x[i] - [3.0, -1.0][i / 5]), top),
        ("add --number 0.75", each(&|i| x[i] + 0.75), top),
        ("add --number -2 --subtract", each(&|i| x[i] + 2.0), top),
        ("multiply --with ct.clt --evaluation evk.clt", each(&|i| x[i] * x[i]), top - 1),
        ("multiply --with ct.clt --evaluation evk.clt --no-rescale", each(&|i| x[i] * x[i]), top),
        ("multiply --plain row.npy", each(&|i| x[i] * row[i % 5]), top - 1),
        ("multiply --plain column.npy", each(&|i| x[i] * [3.0, -1.0][i / 5]), top - 1),
        ("multiply --number 3", each(&|i| 3.0 * x[i]), top),
        ("multiply --number 3.0", each(&|i| 3.0 * x[i]), top - 1),
        ("multiply --number -0.25", each(&|i| -0.25 * x[i]), top - 1),
    ];
    for (line, expected, level) in cases {
        let (found, at) = computed(&desk, line);
        assert_close(&found, &expected, TOLERANCE);
        assert_eq!(at, level, "{line}");
    }
}

#[test]
fn rotations_sums_of_rows_and_polynomials_are_those_of_the_clear_numbers() {
    let desk = desk();
    let x = ramp(10);
    // Rows of five numbers rotate within eight slots.
    let rotated = |steps: usize| {
        (0..10).map(|i| if i % 5 + steps < 5 { x[i + steps] } else { 0.0 }).collect::<Vec<f64>>()
    };
    assert_close(&computed(&desk, "rotate --steps 2 --evaluation evk.clt").0, &rotated(2), TOLERANCE);
    assert_close(
        &computed(&desk, "sum --axis 0").0,
        &(0..5).map(|i| x[i] + x[i + 5]).collect::<Vec<_>>(),
        TOLERANCE,
    );
    let rows: Vec<f64> = x.chunks(5).map(|row| row.iter().sum()).collect();
    assert_close(&computed(&desk, "sum --evaluation evk.clt").0, &rows, TOLERANCE);
    let cubes: Vec<f64> = x.iter().map(|x| 0.5 - x + 2.0 * x * x * x).collect();
    let line = "polynomial --coefficients 0.5,-1,0,2 --domain -8,8 --evaluation evk.clt";
    // The power basis on a domain is one of the mapped variable.
    let mapped: Vec<f64> = x.iter().map(|x| x / 8.0).map(|y| 0.5 - y + 2.0 * y * y * y).collect();
    assert_close(&computed(&desk, line).0, &mapped, TOLERANCE);
    assert_close(&computed(&desk, &line.replace(" --domain -8,8", "")).0, &cubes, 1e-4);
    let said = desk.ok(&format!("{line} --explain --params {SLOTS} --input ct.clt --output out.clt")).stdout;
    assert!(said.contains("polynomial of degree 3"), "{said}");
    let chebyshev: Vec<f64> = x.iter().map(|x| x / 16.0).map(|y| 2.0 * y * y - 1.0).collect();
    let line = "polynomial --coefficients 0,0,1 --basis chebyshev --domain -16,16 --evaluation evk.clt";
    assert_close(&computed(&desk, line).0, &chebyshev, TOLERANCE);
}

#[test]
fn conversions_keep_the_numbers_and_products_that_were_not_rescaled_are_rescaled_first() {
    let desk = desk();
    let (found, level) = computed(&desk, "convert --to-level 2");
    assert_close(&found, &ramp(10), TOLERANCE);
    assert_eq!(level, 2);
    desk.ok(&format!("multiply --no-rescale --params {SLOTS} --input ct.clt --number 0.5 --output ct.clt"));
    let (found, level) = computed(&desk, "multiply --number 0.5");
    assert_close(&found, &ramp(10).iter().map(|x| 0.25 * x).collect::<Vec<_>>(), TOLERANCE);
    assert_eq!(level, 3);
    desk.ok("keygen --params insecure_dpad --secret four.clt --evaluation four-keys.clt --ranks 2 --to-rlwe");
    desk.put("four.npy", &npy_f64(&[3], &ramp(3)));
    desk.ok("encrypt --params insecure_dpad --key four.clt --input four.npy --level 1 --output four-ct.clt");
    for target in ["--to-rank 2", "--to-rlwe"] {
        desk.ok(&format!("convert {target} --params insecure_dpad --evaluation four-keys.clt --input four-ct.clt --output moved.clt"));
        desk.ok("decrypt --params insecure_dpad --secret four.clt --input moved.clt --output y.npy");
        assert_close(&read_npy(&desk.get("y.npy")).1, &ramp(3), TOLERANCE);
    }
}

#[test]
fn what_is_missing_or_wrong_is_said_and_nothing_is_written() {
    let desk = desk();
    desk.put("three.npy", &npy_f64(&[3], &ramp(3)));
    for (line, words) in [
        ("multiply --with ct.clt", "evaluation keys"),
        ("rotate --steps 3 --evaluation evk.clt", "a key"),
        ("add --plain three.npy", "axis by axis"),
        ("add --with nothing.clt", "nothing.clt"),
        ("add", "--number"),
        ("add --number 1 --plain three.npy", "cannot be used"),
        ("add --number one", "such as 3 or 0.25"),
        ("multiply --number nan", "nan"),
        ("polynomial --coefficients 1,2 --domain 1", "two numbers"),
        ("polynomial --coefficients 1,2 --domain 2,1", "lower one first"),
        ("polynomial --coefficients 0,0,1", "evaluation keys"),
        ("convert", "--to-level"),
        ("convert --to-level 9", "level"),
        ("sum --axis 2", "2"),
    ] {
        let (verb, options) = line.split_once(' ').unwrap_or((line, ""));
        let run = desk.run(&format!("{verb} --params {SLOTS} --input ct.clt --output out.clt {options}"));
        assert_ne!(run.code, 0, "{line}");
        assert!(run.stderr.contains(words), "{line}: {}", run.stderr);
        assert!(!desk.path("out.clt").exists(), "{line}");
    }
}

#[test]
fn half_precision_arrays_are_read() {
    let desk = desk();
    // 1.0, -0.5 and 65504 in half precision, as NumPy writes them.
    let halves: Vec<u8> = [0x3c00u16, 0xb800, 0x7bff].iter().flat_map(|half| half.to_le_bytes()).collect();
    desk.put("half.npy", &npy("<f2", false, &[3], &halves));
    desk.ok(&format!(
        "encrypt --params {SLOTS} --key sk.clt --input half.npy --encoding slots --output ct.clt"
    ));
    desk.ok(&format!("decrypt --params {SLOTS} --secret sk.clt --input ct.clt --output y.npy"));
    let found = read_npy(&desk.get("y.npy")).1;
    assert_close(&found[..2], &[1.0, -0.5], TOLERANCE);
    assert!((found[2] / 65504.0 - 1.0).abs() < 1e-8, "{found:?}");
}

#[test]
fn the_list_of_parameters_says_what_they_are_for() {
    let list = desk().ok("params list").stdout;
    let line = |name: &str| {
        list.lines()
            .find(|line| line.starts_with(&format!("{name} ")))
            .unwrap_or_else(|| panic!("{name}: {list}"))
            .to_owned()
    };
    assert!(line("n14").contains("bits") && line("n14").contains("Depth 7"), "{list}");
    assert!(line("paper_dpad_n13_r2").contains("below 128"), "{list}");
    assert!(line("insecure_tiny").contains("none"), "{list}");
}
