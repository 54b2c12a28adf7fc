//! Kinds of files.

use std::fmt;

/// The content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum FileKind {
    /// A parameter set.
    Params = 1,
    /// A secret key; only its owner can read the file.
    SecretKey = 2,
    /// A public key.
    PublicKey = 3,
    /// Evaluation keys.
    EvaluationKeys = 4,
    /// An array of ciphertexts.
    Ciphertext = 5,
    /// An encoded plaintext.
    Plaintext = 6,
    /// A plan.
    Plan = 7,
    /// A matrix with the keys for its products.
    PreparedMatrix = 8,
    /// The packed masks of a light client's messages.
    PreparedSamples = 9,
    /// The key with which a server authenticates an owner's light clients; only its owner can read the file.
    AuthenticationKey = 10,
    /// A program.
    Program = 11,
    /// What the owner of the secret needs of a program.
    OwnerPart = 12,
}

impl FileKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 12] = [
        Self::Params,
        Self::SecretKey,
        Self::PublicKey,
        Self::EvaluationKeys,
        Self::Ciphertext,
        Self::Plaintext,
        Self::Plan,
        Self::PreparedMatrix,
        Self::PreparedSamples,
        Self::AuthenticationKey,
        Self::Program,
        Self::OwnerPart,
    ];

    /// Whether only the file's owner may read it.
    #[must_use]
    pub const fn is_private(self) -> bool {
        matches!(self, Self::SecretKey | Self::AuthenticationKey)
    }

    pub(super) fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|&kind| kind as u32 == number)
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Params => "parameters",
            Self::SecretKey => "a secret key",
            Self::PublicKey => "a public key",
            Self::EvaluationKeys => "evaluation keys",
            Self::Ciphertext => "ciphertexts",
            Self::Plaintext => "a plaintext",
            Self::Plan => "a plan",
            Self::PreparedMatrix => "a prepared matrix",
            Self::PreparedSamples => "prepared masks",
            Self::AuthenticationKey => "an authentication key",
            Self::Program => "a program",
            Self::OwnerPart => "the owner's part of a program",
        })
    }
}
