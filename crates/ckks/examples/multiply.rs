//! A product of encrypted vectors: `cargo run --release -p clathrate-ckks --example multiply`.

use clathrate_ckks::prelude::*;

/// Encrypts two vectors, multiplies them and decrypts the product.
pub fn main() -> Result<(), CkksError> {
    let params = Params::preset("n14", &Runtime::default())?; // println!("{}", params.explain())
    let owner = SecretKey::generate(&params)?;
    let x = owner.encrypt(&[1.5, -2.0, 0.25])?;
    let y = owner.encrypt(&[4.0, 0.5, -8.0])?;

    // Anyone multiplies: evaluation keys decrypt nothing.
    let keys = owner.evaluation_keys(&KeyNeeds::new().relinearise(KeyLevel::Top))?;
    let product = Evaluator::with_keys(keys).multiply_rescale(&x, &y)?;

    println!("{:.3?}", owner.decrypt(&product)?.into_real()?); // [6.000, -1.000, -2.000]
    Ok(())
}
