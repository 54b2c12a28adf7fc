//! Times of encryption, decryption and encoding in the ordinary range: `cargo run --release -p clathrate-ckks --example encoding_speed -- n14`.

use std::hint::black_box;
use std::time::Instant;

use clathrate_ckks::ValuesRef;
use clathrate_ckks::prelude::*;

/// Prints the median seconds of each operation at the presets that are named.
fn main() -> Result<(), CkksError> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    for name in &names {
        let params = Params::preset(name, &Runtime::default())?;
        let owner = SecretKey::generate(&params)?;
        let public = owner.public_key()?;
        for complex in [false, true] {
            for encoding in [Encoding::Slots, Encoding::Coefficients] {
                let count = if encoding == Encoding::Slots || complex { params.slot_count() } else { params.degree() };
                let number = |i: usize| (i as f64 * 0.7).sin();
                let real: Vec<f64> = (0..count).map(number).collect();
                let both: Vec<Complex64> = (0..count).map(|i| Complex64::new(number(i), number(i + 5))).collect();
                let values = if complex { ValuesRef::from(&both) } else { ValuesRef::from(&real) };
                let options = EncryptOptions { encoding: Some(encoding), ..EncryptOptions::default() };
                let x = owner.encrypt_array(values, &[count], options)?;
                let time = |what: &str, run: &mut dyn FnMut()| {
                    let mut times: Vec<f64> = (0..60)
                        .map(|_| {
                            let start = Instant::now();
                            run();
                            start.elapsed().as_secs_f64() * 1e6
                        })
                        .collect();
                    times.sort_by(f64::total_cmp);
                    println!("{name} {} complex={complex} {what} {:.1} {:.1}", encoding.name(), times[10], times[30]);
                };
                time("encrypt", &mut || drop(black_box(owner.encrypt_array(values, &[count], options))));
                time("public", &mut || drop(black_box(public.encrypt_array(values, &[count], options))));
                time("decrypt", &mut || drop(black_box(owner.decrypt(&x))));
                time("encode", &mut || drop(black_box(Plaintext::encode_for(&x, values, x.level(), x.scale()))));
                if encoding == Encoding::Slots {
                    time("embed", &mut || drop(black_box(params.encoder().embed(&both))));
                }
            }
        }
    }
    Ok(())
}
