//! Writes samples of TFHE-rs for the tests in Python: `words` and `secret`, and the `numbers` that were encrypted, as one .npz file.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use clathrate_interop_tfhe::{Party, words};
use npyz::WriterBuilder;
use npyz::npz::NpzWriter;

const DIMENSION: usize = 250;
const COUNT: usize = 24;

/// Numbers of magnitude 1 take this part of the modulus.
const LOG_PART: i32 = -13;

fn main() -> Result<(), Box<dyn Error>> {
    let path =
        std::env::args().nth(1).ok_or("the file to write is missing: say tests/data/tfhe_samples.npz")?;
    let mut party = Party::<u64>::new(DIMENSION, 2f64.powi(-45), 7);
    let numbers: Vec<f64> = (0..COUNT).map(|i| (i as f64 - 11.5) / 12.0).collect();
    let scale = 2f64.powi(64 + LOG_PART);
    let samples: Vec<_> = numbers.iter().map(|&number| party.encrypt(number, scale)).collect();
    let mut file = NpzWriter::new(BufWriter::new(File::create(path)?));
    let options = Default::default();
    file.array("words", options)?
        .default_dtype()
        .shape(&[COUNT as u64, DIMENSION as u64 + 1])
        .begin_nd()?
        .extend(words(&samples))?;
    file.array("secret", options)?
        .default_dtype()
        .shape(&[DIMENSION as u64])
        .begin_nd()?
        .extend(party.secret())?;
    file.array("numbers", options)?.default_dtype().shape(&[COUNT as u64]).begin_nd()?.extend(numbers)?;
    file.array("scale", options)?.default_dtype().shape(&[1]).begin_nd()?.extend([scale])?;
    Ok(())
}
