//! Authentication: a server recognises messages of the owner's clients, and a client recognises its server's
//! replies.
//!
//! ```text
//! owner     K = derive_key("clathrate light client authentication v1", seed of the secret key)    one for all clients, for the server
//! client    T = keyed BLAKE3(K, terms without the seed)                                            in its state
//! bytes     first 16 bytes of keyed BLAKE3(T, what it is, the bytes)                               at the end of an introduction, a message, a reply
//! ```
//!
//! The terms say how the client encrypts, and contain a number that the owner drew for it. A valid tag shows
//! that the owner made the client, and that the client's terms are as its owner chose them, because other
//! terms have another T.

use std::fmt;

use clathrate_samples::tag::finished;
use clathrate_samples::wire::Writer;
use clathrate_samples::{ClientKey, Terms};
use zeroize::Zeroizing;

use crate::key_id::KeyId;
use crate::keys::SecretKey;
use crate::parameters::Params;

/// Domain-separation string of authentication keys.
const DOMAIN: &str = "clathrate light client authentication v1";

/// The key that the owner gives to a server, besides evaluation keys, to authenticate the owner's light
/// clients. It decrypts nothing, but whoever has it can send numbers in the name of every client, and replies
/// to every client.
///
/// ```
/// use clathrate_ckks::prelude::*;
/// use clathrate_ckks::light::{LightOptions, Receiver};
///
/// let params = Params::preset("insecure_small", &Runtime::default())?;
/// let (owner, other) = (SecretKey::generate(&params)?, SecretKey::generate(&params)?);
/// let introduction = owner.light_client(&LightOptions::default())?.introduction();
/// assert!(Receiver::new(&params, &introduction, &owner.authentication_key()).is_ok());
/// assert!(Receiver::new(&params, &introduction, &other.authentication_key()).is_err());
/// # Ok::<(), CkksError>(())
/// ```
#[derive(Clone)]
pub struct AuthenticationKey {
    params: Params,
    key_id: KeyId,
    key: Zeroizing<[u8; 32]>,
}

impl fmt::Debug for AuthenticationKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuthenticationKey({:?}, {}, redacted)", self.params, self.key_id)
    }
}

impl SecretKey {
    /// The key with which a server authenticates this owner's light clients; it is always the same.
    #[must_use]
    pub fn authentication_key(&self) -> AuthenticationKey {
        let mut hasher = blake3::Hasher::new_derive_key(DOMAIN);
        hasher.update(self.seed().as_ref());
        AuthenticationKey { params: self.params().clone(), key_id: self.id(), key: finished(hasher) }
    }
}

impl AuthenticationKey {
    pub(crate) fn from_parts(params: &Params, key_id: KeyId, key: Zeroizing<[u8; 32]>) -> Self {
        Self { params: params.clone(), key_id, key }
    }

    pub(crate) fn bytes(&self) -> &Zeroizing<[u8; 32]> {
        &self.key
    }

    /// The parameters.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The id of the owner's secret key.
    #[must_use]
    pub const fn key_id(&self) -> KeyId {
        self.key_id
    }

    /// The key of the client with these terms, for any seed.
    pub(super) fn of_client(&self, terms: &Terms) -> ClientKey {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        let mut writer = Writer::default();
        terms.write_fixed(&mut writer);
        hasher.update(&writer.0);
        ClientKey::new(finished(hasher))
    }
}
