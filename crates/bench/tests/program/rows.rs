//! What the rows of each benchmark hold, and that their figures agree.

use serde_json::Value;

use crate::support::rows;

fn keys(object: &Value) -> Vec<&str> {
    object.as_object().expect("an object").keys().map(String::as_str).collect()
}

#[test]
fn rows_have_the_fields_that_the_tables_read() {
    let rows = rows("--quick --quiet --set ntt,n14 --only ntt_forward,add,encrypt");
    assert_eq!(rows.len(), 5 + 3);
    for row in &rows {
        assert_eq!(keys(row), ["extra", "max_ms", "median_ms", "min_ms", "params", "runs", "who", "work"]);
        let number = |field: &str| row[field].as_f64().expect("a number");
        assert!(
            0.0 < number("min_ms")
                && number("min_ms") <= number("median_ms")
                && number("median_ms") <= number("max_ms"),
            "{row}"
        );
        assert!(number("runs") >= 2.0 && row["who"] == "clathrate", "{row}");
        assert!(row["extra"]["max_error"].as_f64().expect("an error") < 1e-4, "{row}");
    }
    let scheme = rows.iter().find(|row| row["work"] == "encrypt").expect("a row");
    let fields = [
        "degree",
        "digits",
        "engine",
        "key_gib",
        "log_q",
        "log_qp",
        "max_error",
        "preset",
        "rank",
        "security_bits",
        "special_primes",
        "version",
    ];
    assert_eq!((keys(&scheme["extra"]), &scheme["params"]), (fields.to_vec(), &Value::from("n14")));
}

#[test]
fn row_of_memory_gives_the_rate_of_its_median() {
    let rows = rows("--set stream --quick");
    let [row] = &rows[..] else { panic!("one row: {rows:?}") };
    let number = |value: &Value| value.as_f64().expect("a number");
    let (bytes, rate) = (number(&row["extra"]["bytes"]), number(&row["extra"]["gb_per_s"]));
    assert_eq!((row["work"].as_str(), row["extra"]["max_error"].as_u64()), (Some("stream_read"), Some(0)));
    assert!((rate * number(&row["median_ms"]) * 1e6 / bytes - 1.0).abs() < 1e-9, "{row}");
}

#[test]
fn rows_of_switches_check_every_choice_and_plan_every_level() {
    let rows = rows("--set keyswitch --quick --preset klss_n15 --only switch,switch_planned");
    let of = |work: &str| {
        rows.iter().filter(|row| row["work"] == work).map(|row| &row["extra"]).collect::<Vec<_>>()
    };
    let (fixed, planned) = (of("switch"), of("switch_planned"));
    // 36-bit primes at degree 2^10: noise far below them, and never none.
    for extra in fixed.iter().chain(&planned) {
        let noise = extra["noise_bits"].as_f64().expect("checked");
        assert!((1.0..20.0).contains(&noise) && extra["key_bytes"].as_u64() > Some(0), "{extra}");
    }
    // The cells of the paper's table: l = 24 - 3, r = 3, by both methods; only 24 primes in all have a split.
    let cell = |method: &str| {
        fixed
            .iter()
            .filter(|extra| {
                (&extra["primes"], &extra["digit"], &extra["method"])
                    == (&21.into(), &3.into(), &method.into())
            })
            .count()
    };
    assert_eq!(cell("hybrid"), 1);
    assert!(cell("klss") >= 10);
    assert!(fixed.iter().all(|extra| extra["split_ms"].is_null() || extra["primes"].as_u64() >= Some(21)));
    // One plan per level, beside a rival that was timed in turns with it.
    assert_eq!(planned.len(), 12);
    assert!(planned.iter().all(|extra| extra["best_fixed"]["median_ms"].as_f64() > Some(0.0)));
    assert!(
        planned.iter().zip(planned.iter().skip(1)).all(|(a, b)| a["primes"].as_u64() > b["primes"].as_u64())
    );
}

#[test]
fn rows_of_derived_keys_tell_their_sizes() {
    let rows = rows("--set keyswitch --quick --preset level_aware --only expand");
    assert_eq!(rows.len(), 4, "{rows:?}");
    let size = |row: &Value, name: &str| row["extra"][name].as_u64().expect("bytes");
    for row in &rows {
        // Digits of r primes: a key of about 40 / r digits, of residues in 44 bits instead of 64.
        let words = 8 * 2048 * 2 * 40 * size(row, "digits");
        assert_eq!(size(row, "key_bytes_as_words"), words);
        let packed = size(row, "key_bytes") as f64 / words as f64;
        assert!((0.68..0.7).contains(&packed), "{row}");
        assert!(size(row, "base_key_bytes") > size(row, "key_bytes"));
    }
}

#[test]
fn rows_of_ranks_compare_schemes_of_one_set() {
    let rows = rows("--set dpad --quick --preset I,II");
    let of = |work: &str| {
        rows.iter().filter(|row| row["work"] == work).map(|row| &row["extra"]).collect::<Vec<_>>()
    };
    let products = of("multiply_rescale");
    assert_eq!(products.len(), 2 + 4, "{rows:?}");
    let product = |scheme: &str| {
        *products
            .iter()
            .find(|extra| (&extra["scheme"], &extra["keys"]) == (&scheme.into(), &"as_made".into()))
            .expect("a row")
    };
    let number =
        |extra: &Value, name: &str| extra[name].as_f64().unwrap_or_else(|| panic!("{name} in {extra}"));
    for extra in &products {
        assert!((1.0..20.0).contains(&number(extra, "noise_bits")), "{extra}");
    }
    // Digits of one prime, 3 inputs, 2^10 2 = 2^11: the paper's formulas, with one mod-down less [dpad-he,
    // sec. 3.3].
    let (modhe, dpad, rlwe) = (product("modhe"), product("dpad"), product("rns_ckks"));
    assert_eq!(
        (number(modhe, "primes"), number(modhe, "digits"), number(modhe, "transforms")),
        (21.0, 20.0, 3.0 * 460.0 + 3.0 * 23.0)
    );
    assert_eq!((number(dpad, "wide_digits"), number(dpad, "temporary_primes")), (3.0, 10.0));
    assert_eq!(number(dpad, "transforms"), 3.0 * 93.0 + 460.0 - 21.0 + 4.0 * 31.0);
    assert_eq!(number(modhe, "stored_key_bytes"), 3.0 * 20.0 * 23.0 * 512.0 * 8.0 + 32.0);
    assert!(number(dpad, "stored_key_bytes") < number(modhe, "stored_key_bytes"));
    assert_eq!(number(dpad, "ciphertext_bytes"), 0.75 * number(rlwe, "ciphertext_bytes"));
    // One more rotation is one more switch; both methods, both uses of keys.
    let rotations = of("rotations");
    assert!(rotations.len() >= 2 * 4 * 4 && rotations.iter().all(|extra| number(extra, "noise_bits") < 20.0));
    assert_eq!(of("conversion").len(), 2 * 4);
    // Every level once, and a reduction where the rank goes down.
    let squarings = of("repeated_squaring");
    assert_eq!(squarings.len(), 2 + 2 * 2 * 2);
    for extra in squarings {
        let series = extra["series"].as_array().expect("points");
        let (reductions, squarings): (Vec<&Value>, Vec<&Value>) =
            series.iter().partition(|point| point["reduction"] == true);
        assert_eq!(squarings.len(), 19);
        assert_eq!(reductions.len(), usize::from(extra["reducing"] == true), "{extra}");
        assert!(series.windows(2).all(|pair| number(&pair[0], "seconds") <= number(&pair[1], "seconds")));
    }
}

#[test]
fn rows_of_devices_are_predicted_without_one_and_measured_with_one() {
    let predicted = rows("--set device --quick");
    let measured = rows(
        "--set device --quick --preset I,II --device host-device --only device_transform,device_multiply",
    );
    let of = |rows: &[Value], work: &str| {
        rows.iter().filter(|row| row["work"] == work).cloned().collect::<Vec<_>>()
    };
    // RNS-CKKS at sets I and IV, ModHE and DPad-HE at four, by keys of two kinds; on a device once more in
    // graphs, for which nothing else is predicted.
    let (mut all, timed) = (of(&predicted, "device_multiply"), of(&measured, "device_multiply"));
    assert_eq!((all.len(), timed.len()), (2 * (2 + 4 * 2), 3 * (1 + 2)));
    all.retain(|row| ["I", "II"].map(Value::from).contains(&row["extra"]["set"]));
    let (timed, graphs): (Vec<_>, Vec<_>) =
        timed.into_iter().partition(|row| row["extra"]["keys"] != "planned_in_graphs");
    let planned: Vec<_> = all.iter().filter(|row| row["extra"]["keys"] == "planned").collect();
    assert_eq!((timed.len(), graphs.len()), (all.len(), planned.len()));
    assert!(
        graphs
            .iter()
            .zip(planned)
            .all(|(row, known)| row["extra"]["predicted_ms"] == known["extra"]["predicted_ms"])
    );
    assert!(
        all.iter()
            .all(|row| row["extra"]["predicted"] == true && row["median_ms"] == row["extra"]["predicted_ms"])
    );
    for (row, known) in timed.iter().zip(&all) {
        assert!(row["extra"]["predicted"] == false && row["extra"]["device"] == "host device", "{row}");
        assert_eq!(row["extra"]["predicted_ms"], known["extra"]["predicted_ms"]);
        // The host runs the kernels a thousand times slower than the device that the prediction is for.
        assert!(row["median_ms"].as_f64() > row["extra"]["predicted_ms"].as_f64(), "{row}");
    }
    let transforms = of(&predicted, "device_transform");
    assert_eq!(
        (transforms.len(), transforms[0]["extra"]["butterflies"].as_f64()),
        (2, Some(64.0 * 2048.0 * 12.0))
    );
}
