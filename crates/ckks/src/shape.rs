//! Ring degree and module rank: the shape of ciphertexts and keys.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Ring degree `n` and rank `k`; written `8192x4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ModuleShape {
    /// Ring degree.
    pub degree: usize,
    /// Module rank.
    pub rank: usize,
}

impl ModuleShape {
    /// The module dimension `n k`.
    #[must_use]
    pub fn dimension(self) -> usize {
        self.degree.saturating_mul(self.rank)
    }
}

impl fmt::Display for ModuleShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.degree, self.rank)
    }
}

impl From<ModuleShape> for String {
    fn from(shape: ModuleShape) -> Self {
        shape.to_string()
    }
}

impl FromStr for ModuleShape {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text
            .split_once('x')
            .and_then(|(degree, rank)| Some(Self { degree: degree.parse().ok()?, rank: rank.parse().ok()? }));
        parsed.ok_or_else(|| format!("\"{text}\" is not a degree and a rank: write them as 8192x4"))
    }
}

impl TryFrom<String> for ModuleShape {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
