//! Arrays in: every type, order and shape that NumPy writes arrive as the numbers they are.

use crate::support::*;

fn round_trip(desk: &Desk, bytes: &[u8]) -> (String, Vec<f64>) {
    desk.put("in.npy", bytes);
    desk.ok(&format!("encrypt --params {PARAMS} --key sk.clt --input in.npy --output in.clt"));
    desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input in.clt --output out.npy"));
    read_npy(&desk.get("out.npy"))
}

#[test]
fn every_number_type_and_byte_order_reads_as_itself() {
    let desk = Desk::furnished();
    let small = [1i8, 0, 3, 2, 5, 4];
    let list = |encode: &dyn Fn(i8) -> Vec<u8>| small.iter().flat_map(|&v| encode(v)).collect::<Vec<u8>>();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("|i1", list(&|v| vec![v.cast_unsigned()])),
        ("|u1", list(&|v| vec![v.cast_unsigned()])),
        ("<i2", list(&|v| i16::from(v).to_le_bytes().to_vec())),
        (">i2", list(&|v| i16::from(v).to_be_bytes().to_vec())),
        ("<u2", list(&|v| (v as u16).to_le_bytes().to_vec())),
        ("<i4", list(&|v| i32::from(v).to_le_bytes().to_vec())),
        (">u4", list(&|v| (v as u32).to_be_bytes().to_vec())),
        ("<i8", list(&|v| i64::from(v).to_le_bytes().to_vec())),
        (">i8", list(&|v| i64::from(v).to_be_bytes().to_vec())),
        ("<u8", list(&|v| (v as u64).to_le_bytes().to_vec())),
        ("<f4", list(&|v| f32::from(v).to_le_bytes().to_vec())),
        (">f4", list(&|v| f32::from(v).to_be_bytes().to_vec())),
        ("<f8", list(&|v| f64::from(v).to_le_bytes().to_vec())),
        (">f8", list(&|v| f64::from(v).to_be_bytes().to_vec())),
    ];
    for (dtype, data) in cases {
        let (header, values) = round_trip(&desk, &npy(dtype, false, &[2, 3], &data));
        assert!(header.contains("(2, 3"), "{dtype}: {header}");
        assert_close(&values, &[1.0, 0.0, 3.0, 2.0, 5.0, 4.0], 1e-7);
    }
    let negative = npy("|i1", false, &[2], &[0xff, 0x80]);
    assert_close(&round_trip(&desk, &negative).1, &[-1.0, -128.0], 1e-6);
    let truth = npy("|b1", false, &[3], &[1, 0, 1]);
    assert_close(&round_trip(&desk, &truth).1, &[1.0, 0.0, 1.0], 1e-7);
}

#[test]
fn complex_arrays_come_back_complex() {
    let desk = Desk::furnished();
    let parts = [1.5, -2.0, 0.25, 0.0, -1.0, 0.5];
    let single: Vec<u8> = parts.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect();
    let double: Vec<u8> = parts.iter().flat_map(|v: &f64| v.to_le_bytes()).collect();
    for (dtype, data) in [("<c8", single), ("<c16", double)] {
        let (header, values) = round_trip(&desk, &npy(dtype, false, &[3], &data));
        assert!(header.contains("'<c16'"), "{header}");
        assert_close(&values, &parts, 1e-7);
    }
}

#[test]
fn fortran_order_is_transposed_and_shapes_survive() {
    let desk = Desk::furnished();
    // Column by column.
    let data: Vec<u8> = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0].iter().flat_map(|v: &f64| v.to_le_bytes()).collect();
    let (header, values) = round_trip(&desk, &npy("<f8", true, &[2, 3], &data));
    assert!(header.contains("(2, 3"), "{header}");
    assert_close(&values, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 1e-7);
    let (header, values) = round_trip(&desk, &npy("<f8", true, &[2], &data[..16]));
    assert!(header.contains("(2,"), "{header}");
    assert_close(&values, &[1.0, 4.0], 1e-7);
    let (header, values) = round_trip(&desk, &npy_f64(&[], &[0.75]));
    assert!(header.contains("'shape': ()"), "{header}");
    assert_close(&values, &[0.75], 1e-7);
    // Three axes, of which the first one counts fastest: entry (i, j, k) is 4 i + 2 j + k.
    let stack: Vec<u8> =
        [0.0, 4.0, 2.0, 6.0, 1.0, 5.0, 3.0, 7.0].iter().flat_map(|v: &f64| v.to_le_bytes()).collect();
    let (header, values) = round_trip(&desk, &npy("<f8", true, &[2, 2, 2], &stack));
    assert!(header.contains("(2, 2, 2"), "{header}");
    assert_close(&values, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], 1e-7);
    // Wider than one polynomial, and more rows than columns.
    let wide = ramp(2 * 700);
    assert_close(&round_trip(&desk, &npy_f64(&[2, 700], &wide)).1, &wide, 1e-7);
    let tall = ramp(40);
    let (header, values) = round_trip(&desk, &npy_f64(&[40, 1], &tall));
    assert!(header.contains("(40, 1"), "{header}");
    assert_close(&values, &tall, 1e-7);
}

#[test]
fn weights_in_fortran_order_and_single_precision_multiply_alike() {
    let desk = Desk::furnished();
    let data: Vec<u8> =
        (0..12).map(|at| ramp(12)[at % 3 * 4 + at / 3] as f32).flat_map(f32::to_le_bytes).collect();
    desk.put("w.npy", &npy("<f4", true, &[3, 4], &data));
    desk.ok(&format!("matmul --params {PARAMS} --weights w.npy --input ct.clt --output out.clt"));
    desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input out.clt --output y.npy"));
    assert_close(&read_npy(&desk.get("y.npy")).1, &product(&ramp(12), &ramp(20), 3, 4, 5), 1e-5);
}

#[test]
fn rows_share_a_polynomial_where_lanes_say_so() {
    let desk = Desk::furnished();
    let x = ramp(6 * 5);
    desk.put("rows.npy", &npy_f64(&[6, 5], &x));
    let line = format!(
        "encrypt --params {PARAMS} --key sk.clt --input rows.npy --encoding slots --output rows.clt --json"
    );
    let bundles =
        |lanes: &str| desk.run(&format!("{line} {lanes}")).json()["bundles"].as_u64().expect("a number");
    assert_eq!((bundles(""), bundles("--lanes 2"), bundles("--lanes most")), (6, 3, 1));
    desk.ok(&format!("decrypt --params {PARAMS} --secret sk.clt --input rows.clt --output back.npy"));
    assert_close(&read_npy(&desk.get("back.npy")).1, &x, 1e-5);
    for lanes in ["0", "-1", "many"] {
        desk.refuses(&format!("{line} --lanes={lanes}"), 2, "usage");
    }
}

#[test]
fn bounds_are_kept_in_files_and_numbers_beyond_them_refused() {
    let desk = Desk::furnished();
    desk.put("small.npy", &npy_f64(&[4], &[0.5, -1.5, 0.25, 1.0]));
    let line = format!("encrypt --params {PARAMS} --key sk.clt --input small.npy --output bounded.clt");
    desk.ok(&format!("{line} --bound 2"));
    assert_eq!(desk.run("inspect bounded.clt --json").json()["metadata"]["bound"], 2.0);
    desk.refuses(&format!("{line} --bound 1"), 5, "value");
    for bound in ["0", "-1", "nan"] {
        assert_ne!(desk.run(&format!("{line} --bound={bound}")).code, 0, "{bound}");
    }
}

#[test]
fn a_device_that_is_not_there_ends_every_verb_with_its_exit_code() {
    let desk = Desk::furnished();
    if desk.ok("doctor").stdout.contains("cuda       none") {
        let text = desk.refuses(
            &format!("encrypt --params {PARAMS} --key sk.clt --input x.npy --output far.clt --device cuda"),
            21,
            "device",
        );
        assert!(text.contains("NVIDIA") && text.contains("device=\"cpu\""), "{text}");
        assert!(!desk.path("far.clt").exists());
    }
    desk.refuses("params list --device tpu", 5, "value");
    let text = desk.refuses(
        &format!("keygen --params {PARAMS} --secret new.clt --evaluation keys.clt --samples 4 --device 7"),
        2,
        "usage",
    );
    assert!(text.contains("cuda:7") && text.contains("--client"), "{text}");
}
