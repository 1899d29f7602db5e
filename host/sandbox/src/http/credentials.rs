//! Credentials: a request that was let through enters, with the address that it goes to; the same request with the secrets
//! that the manifest wants there leaves. A value goes to the manifest's host only, over TLS or to an address that the operator
//! granted.

use airlock_core::{Access, Scheme, SecretRequest, Target};
use http::header::{ACCEPT_ENCODING, HeaderName, HeaderValue};
use http::{HeaderMap, header};

use super::attempt::Attempt;

/// Adds every secret that belongs there. Says whether there was one.
pub(super) fn add(
    headers: &mut HeaderMap,
    access: &Access,
    target: &Target,
    is_granted_address: bool,
    attempt: &Attempt,
) -> bool {
    let mut added = false;
    for asked in access.capabilities.secrets.asked().iter().filter(|asked| asked.host.covers(&target.host)) {
        match value(asked, access, target, is_granted_address) {
            Ok((name, value)) => {
                headers.insert(name, value);
                attempt.note(&format!("with the secret `{}`", asked.name));
                added = true;
            }
            Err(reason) => attempt.secret(&asked.name, &reason),
        }
    }
    if added {
        // What comes back is looked through; a compressed answer could not be.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    added
}

/// Whether an answer to a request with a secret hides what is in it.
pub(super) fn is_opaque(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::CONTENT_ENCODING)
        .iter()
        .any(|coding| !coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity"))
}

/// The header of one secret, or why it is not sent.
fn value(
    asked: &SecretRequest,
    access: &Access,
    target: &Target,
    is_granted_address: bool,
) -> Result<(HeaderName, HeaderValue), String> {
    access.capabilities.secrets.allows(&asked.name).map_err(|refusal| refusal.to_string())?;
    if target.scheme != Scheme::Https && !is_granted_address {
        return Err("it is sent over https only, or to an address that is granted as such".to_owned());
    }
    let secret = access.secrets.get(&asked.name).ok_or("the host has no value for it; see `[secrets]`")?;
    let header = HeaderName::from_bytes(asked.header.as_bytes());
    let header = header.map_err(|_| format!("`{}` is no name of a header", asked.header))?;
    let mut value = HeaderValue::from_str(&asked.value.replace("{secret}", secret.expose()))
        .map_err(|_| "the manifest's `value` makes no value that a header can have".to_owned())?;
    value.set_sensitive(true);
    Ok((header, value))
}
