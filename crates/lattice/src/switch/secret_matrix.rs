//! The matrix `T` of a switch: the secret factors of the inputs in the phase of each body.
//!
//! A switch takes inputs `u_i` that contribute `u_i T[i][b]` to the phase of body `b`. Every operation with a
//! switch is one choice of `T`:
//!
//! | operation | rows | entry |
//! |---|---|---|
//! | change of secret, rank-down, ring switch | mask polynomials | `s_{b,i}` ([`SecretMatrix::linear`]) |
//! | rotation | mask polynomials | `s_{b,i}`, switched to `phi^-1(s_b)` |
//! | relinearisation at rank k | `k (k + 1) / 2` | `s_i s_j` ([`SecretMatrix::quadratic`]) |
//! | product under two secrets | `k k'` | `s_i t_j` ([`SecretMatrix::product`]) |
//! | format switch of bundles to one mask | mask polynomials of all | `s_b` on the block diagonal ([`SecretMatrix::block_diagonal`]) |
//! | products with a matrix of rows under one mask | components of all masks | `s_{b,i,r}(X^g)` ([`SecretMatrix::parts`]) |
//! | anything else | any | [`SecretMatrix::from_rows`] |

use clathrate_arith::Automorphism;
use clathrate_arith::kernels::scalar::bit_reverse;

use crate::error::LatticeError;
use crate::poly::{Basis, Poly};
use crate::ring::Ring;
use crate::secret::{SecretKey, SecretPoly};

/// The matrix `T` of a switch: one row for each input, one column for each body of the result. Zero entries
/// are not stored.
#[derive(Debug)]
pub struct SecretMatrix {
    rows: Vec<Vec<Option<SecretPoly>>>,
}

impl SecretMatrix {
    /// A matrix of the given secret polynomials, `None` for zero.
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without rows or columns; [`LatticeError::BodiesMismatch`] where rows
    /// differ in length; [`LatticeError::RingMismatch`], [`LatticeError::BasisMismatch`] where entries differ
    /// in ring or basis.
    pub fn from_rows(rows: Vec<Vec<Option<SecretPoly>>>) -> Result<Self, LatticeError> {
        let columns = rows.first().map_or(0, Vec::len);
        if columns == 0 {
            return Err(LatticeError::EmptyShape { what: "the number of secret polynomials", got: 0 });
        }
        if let Some(row) = rows.iter().find(|row| row.len() != columns) {
            return Err(LatticeError::BodiesMismatch { left: columns, right: row.len() });
        }
        let mut entries = rows.iter().flatten().flatten();
        if let Some(first) = entries.next() {
            entries.try_for_each(|entry| first.get().check_same_basis(entry.get()))?;
        }
        Ok(Self { rows })
    }

    /// `T[i][b] = s_{b,i}`: for a change of secret, a rotation, a rank-down, a ring switch.
    #[must_use]
    pub fn linear(secret: &SecretKey, ring: &Ring, basis: &Basis) -> Self {
        let mut rows: Vec<Vec<Option<SecretPoly>>> = (0..secret.rank()).map(|_| Vec::new()).collect();
        for body in 0..secret.bodies() {
            for (row, poly) in rows.iter_mut().zip(secret.eval(ring, basis, body)) {
                row.push(Some(poly));
            }
        }
        Self { rows }
    }

    /// `T = s_i s_j` for `i <= j` in lexicographic order: for relinearisation at rank `k`. [dpad-he, sec.
    /// 3.1]
    ///
    /// # Errors
    /// [`LatticeError::ManyBodies`] where the secret has more than one body; [`LatticeError::RingMismatch`].
    pub fn quadratic(secret: &SecretKey, ring: &Ring, basis: &Basis) -> Result<Self, LatticeError> {
        let polys = one_body(secret, ring, basis)?;
        let mut rows = Vec::new();
        for i in 0..polys.len() {
            for j in i..polys.len() {
                rows.push(vec![Some(times(&polys[i], &polys[j])?)]);
            }
        }
        Ok(Self { rows })
    }

    /// `T = s_i t_j`, `i` outer: for products of ciphertexts under two secrets.
    ///
    /// # Errors
    /// [`LatticeError::ManyBodies`] where a secret has more than one body; [`LatticeError::RingMismatch`].
    pub fn product(
        left: &SecretKey,
        right: &SecretKey,
        ring: &Ring,
        basis: &Basis,
    ) -> Result<Self, LatticeError> {
        let (left, right) = (one_body(left, ring, basis)?, one_body(right, ring, basis)?);
        let mut rows = Vec::with_capacity(left.len() * right.len());
        for x in &left {
            for y in &right {
                rows.push(vec![Some(times(x, y)?)]);
            }
        }
        Ok(Self { rows })
    }

    /// Secrets on the block diagonal. Secret `b` has a column for each of its bodies and a row for each of
    /// its mask polynomials; entries outside these blocks are zero:
    ///
    /// ```text
    /// T[(b, i)][(b, j)] = s_{b,j,i}    for mask polynomial i and body j of secret b
    /// ```
    ///
    /// Used by the format switch, which makes one bundle, with one mask and all bodies, of bundles under
    /// these secrets. For secrets of rank 1 and one body this is the diagonal matrix of [pcmm-mambo, sec.
    /// 3.2], for pairs of secrets of several bodies the matrix of [pcmm-mambo, sec. 3.3].
    ///
    /// # Errors
    /// [`LatticeError::EmptyShape`] without secrets; [`LatticeError::RingMismatch`].
    pub fn block_diagonal(secrets: &[&SecretKey], ring: &Ring, basis: &Basis) -> Result<Self, LatticeError> {
        let columns: usize = secrets.iter().map(|secret| secret.bodies()).sum();
        let (mut rows, mut first) = (Vec::new(), 0);
        for secret in secrets {
            secret.check_degree(ring)?;
            for entries in Self::linear(secret, ring, basis).rows {
                let mut row: Vec<Option<SecretPoly>> = (0..columns).map(|_| None).collect();
                row.iter_mut().skip(first).zip(entries).for_each(|(place, entry)| *place = entry);
                rows.push(row);
            }
            first += secret.bodies();
        }
        Self::from_rows(rows)
    }

    /// One row for each component of every secret polynomial: row `(b, i, r)` is `s_{b,i,r}(X^g)` with
    /// `s_{b,i} = sum_r X^r s_{b,i,r}(X^g)`, for the `g` components of degree `degree`. Used by products with
    /// rows that share a mask ([`crate::row_products`]).
    ///
    /// # Errors
    /// [`LatticeError::DegreeChange`] where the degrees do not fit.
    pub fn parts(
        secret: &SecretKey,
        degree: usize,
        ring: &Ring,
        basis: &Basis,
    ) -> Result<Self, LatticeError> {
        secret.check_degree(ring)?;
        let split = secret.split_degree(degree)?;
        let gap = secret.degree() / degree;
        let mut rows = Vec::with_capacity(split.bodies() * split.rank());
        let mut coefficients = zeroize::Zeroizing::new(vec![0; secret.degree()]);
        for body in 0..split.bodies() {
            for index in 0..split.rank() {
                let (poly, power) = (index / gap, index % gap);
                // The place of a component is its power of X, bit-reversed.
                let part = split.coefficients(body, poly * gap + bit_reverse(power, gap.trailing_zeros()));
                coefficients.iter_mut().step_by(gap).zip(part).for_each(|(target, &value)| *target = value);
                rows.push(vec![Some(SecretPoly::new(
                    Poly::from_signed(ring, basis, &coefficients).into_eval(),
                ))]);
            }
        }
        Self::from_rows(rows)
    }

    /// The rows of this matrix followed by those of `other`: inputs that are switched together.
    ///
    /// # Errors
    /// [`LatticeError::BodiesMismatch`] where the numbers of columns differ; ring and basis errors.
    pub fn stack(mut self, other: Self) -> Result<Self, LatticeError> {
        self.rows.extend(other.rows);
        Self::from_rows(self.rows)
    }

    /// `phi(T)`, entry by entry.
    #[must_use]
    pub fn automorphism(&self, phi: &Automorphism) -> Self {
        let entry = |entry: &Option<SecretPoly>| {
            entry.as_ref().map(|poly| SecretPoly::new(poly.get().automorphism(phi)))
        };
        Self { rows: self.rows.iter().map(|row| row.iter().map(entry).collect()).collect() }
    }

    /// Number of inputs `R`.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.rows.len()
    }

    /// Number of bodies of the result.
    #[must_use]
    pub fn body_count(&self) -> usize {
        self.rows.first().map_or(0, Vec::len)
    }

    /// The rows; `None` is zero.
    #[must_use]
    pub fn rows(&self) -> &[Vec<Option<SecretPoly>>] {
        &self.rows
    }
}

/// The polynomials of a secret of one body.
fn one_body(secret: &SecretKey, ring: &Ring, basis: &Basis) -> Result<Vec<SecretPoly>, LatticeError> {
    if secret.bodies() != 1 {
        return Err(LatticeError::ManyBodies {
            operation: "a switch from a product of secrets",
            bodies: secret.bodies(),
        });
    }
    secret.check_degree(ring)?;
    Ok(secret.eval(ring, basis, 0))
}

fn times(x: &SecretPoly, y: &SecretPoly) -> Result<SecretPoly, LatticeError> {
    let mut product: Poly<_> = x.get().clone();
    product.mul_assign(y.get())?;
    Ok(SecretPoly::new(product))
}
