//! What a plugin asks for. Each request is a ceiling: what it may reach is this *and* the operator's grant.

use std::fmt;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use super::endpoint::Endpoint;
use crate::limits::AtLeast;

/// All requests of one plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Permissions {
    /// Hosts it wants to call over HTTP.
    pub network: Vec<NetworkRequest>,
    /// Secrets that the host should add to its requests.
    pub secrets: Vec<SecretRequest>,
    /// Its own key-value store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_value: Option<KeyValueRequest>,
    /// Folders it wants to see.
    pub filesystem: Vec<FilesystemRequest>,
}

impl Permissions {
    /// The first secret that would go to a host for which the plugin has no network request.
    pub(super) fn secret_beyond_network(&self) -> Option<&SecretRequest> {
        self.secrets
            .iter()
            .find(|secret| !self.network.iter().any(|request| request.endpoint.host.covers(&secret.host)))
    }
}

/// One host, and how it may be spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NetworkRequest {
    /// Which host, or which hosts below a name, with scheme and port if they are not `https` and 443.
    #[serde(rename = "host")]
    pub endpoint: Endpoint,
    /// HTTP methods; empty means none.
    #[serde(default = "read_only", deserialize_with = "methods")]
    pub methods: Vec<String>,
}

/// A secret by the operator's name for it, and the one request header it goes into.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SecretRequest {
    /// The name in the operator's `[secrets]`.
    pub name: String,
    /// The only host that may receive it.
    pub host: HostPattern,
    /// The header.
    #[serde(deserialize_with = "header")]
    pub header: String,
    /// The header's value, in which `{secret}` is replaced.
    #[serde(default = "bare_secret", deserialize_with = "with_secret")]
    pub value: String,
}

/// A store of the plugin's own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct KeyValueRequest {
    /// How much it may hold, keys and values together.
    #[serde(serialize_with = "as_number")]
    pub max_bytes: AtLeast<1>,
}

/// One folder by the operator's name for it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FilesystemRequest {
    /// The folder's name; `workspace`, the run's own, is the only one so far.
    #[serde(deserialize_with = "folder")]
    #[schemars(extend("enum" = FOLDERS))]
    pub path: String,
    /// What it wants to do there.
    pub access: FileAccess,
}

/// What may be done in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FileAccess {
    /// Read only.
    Read,
    /// Read and write.
    Write,
}

impl FileAccess {
    /// Whether who may do this may do `other`.
    pub fn includes(self, other: Self) -> bool {
        self == Self::Write || other == Self::Read
    }
}

/// An exact host name or address, or `*.` and a name for everything below it. Lower case, no port, no scheme.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct HostPattern(String);

impl HostPattern {
    /// The pattern as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether every host that `other` matches is matched by this pattern too.
    pub fn covers(&self, other: &Self) -> bool {
        match self.0.strip_prefix('*') {
            Some(suffix) => {
                self == other || other.0.trim_start_matches('*').ends_with(suffix) && other.0 != suffix
            }
            None => self == other,
        }
    }

    /// The address, if it is one and no name.
    pub fn address(&self) -> Option<std::net::IpAddr> {
        self.0.parse().ok()
    }

    /// Reads a name, an address, or `*.` and a name. Upper case and a dot at the end do not matter.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let host = text.to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        let name = host.strip_prefix("*.").unwrap_or(host);
        let is_label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        if let Ok(address) = host.parse::<std::net::IpAddr>() {
            // An IPv6 address has many spellings.
            return Ok(Self(address.to_string()));
        }
        if name.len() <= 253 && name.split('.').all(is_label) {
            return Ok(Self(host.to_owned()));
        }
        Err(format!(
            "`{}` is not a host; it is a name, an address, or `*.` and a name",
            crate::text::shorten(text, 80)
        ))
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for HostPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// The folders that there are.
pub(crate) const FOLDERS: &[&str] = &["workspace"];

/// Reads the name of a folder that there is.
pub(crate) fn folder<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    if FOLDERS.contains(&name.as_str()) { Ok(name) } else { Err(D::Error::unknown_variant(&name, FOLDERS)) }
}

fn read_only() -> Vec<String> {
    vec!["GET".to_owned(), "HEAD".to_owned()]
}

fn bare_secret() -> String {
    "{secret}".to_owned()
}

/// Headers that frame a message, speak to whatever is on the way, or say who is who: the host's own.
const RESERVED_HEADERS: &[&str] = &[
    "connection",
    "expect",
    "forwarded",
    "host",
    "http2-settings",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
    "x-real-ip",
];

/// Families of them.
const RESERVED_FAMILIES: &[&str] = &["proxy-", "x-forwarded-"];

/// Whether no plugin may set a request's header of that name, in lower case.
pub fn is_reserved_header(name: &str) -> bool {
    RESERVED_HEADERS.contains(&name) || RESERVED_FAMILIES.iter().any(|family| name.starts_with(family))
}

fn header<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let name = String::deserialize(deserializer)?;
    let lower = name.to_ascii_lowercase();
    let is_token = !lower.is_empty()
        && lower.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte));
    let shown = crate::text::shorten(&name, 80);
    if !is_token {
        return Err(D::Error::custom(format!("`{shown}` is no name of a header")));
    }
    if is_reserved_header(&lower) || lower == "content-length" {
        return Err(D::Error::custom(format!("the header `{shown}` is the host's to set")));
    }
    Ok(name)
}

fn with_secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let value = String::deserialize(deserializer)?;
    if !value.contains("{secret}") {
        return Err(D::Error::custom(
            "the value has no `{secret}` in it, so that the secret would go nowhere",
        ));
    }
    if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err(D::Error::custom("the value has characters that no header can carry"));
    }
    Ok(value)
}

fn methods<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    const KNOWN: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    let methods = Vec::<String>::deserialize(deserializer)?;
    match methods.iter().find(|method| !KNOWN.contains(&method.as_str())) {
        Some(other) => Err(D::Error::unknown_variant(other, KNOWN)),
        None => Ok(methods),
    }
}

fn as_number<S: serde::Serializer>(number: &AtLeast<1>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(number.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_addresses_or_subdomains() {
        for (written, host) in
            [("API.GitHub.com.", "api.github.com"), ("*.example.org", "*.example.org"), ("0:0::0:1", "::1")]
        {
            assert_eq!(HostPattern::parse(written).unwrap().as_str(), host);
        }
        for bad in
            ["", "*", "*.", "a..b", "http://a", "a:80", "user@a", "-a.b", "a_b.c", "*.*.a", "*.127.0.0.1:1"]
        {
            assert!(HostPattern::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_wildcard_covers_what_is_below_it_and_not_itself() {
        let host = |text| HostPattern::parse(text).unwrap();
        assert!(host("*.a.b").covers(&host("x.a.b")));
        assert!(host("*.a.b").covers(&host("*.a.b")));
        assert!(host("*.b").covers(&host("*.a.b")));
        assert!(!host("*.a.b").covers(&host("a.b")));
        assert!(!host("*.a.b").covers(&host("xa.b")));
        assert!(!host("a.b").covers(&host("*.a.b")));
    }
}
