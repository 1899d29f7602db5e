//! Where a plugin wants to call, and where an operator lets it: a scheme, a host and a port as one text, such as
//! `api.example.org`, `*.example.org:8443` or `http://127.0.0.1:8080`.

use std::fmt;
use std::net::Ipv6Addr;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize, Serializer};

use super::permissions::HostPattern;

/// How an endpoint is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scheme {
    /// In the open: only where somebody wrote so.
    Http,
    /// The default.
    Https,
}

impl Scheme {
    /// As in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port that a URL of this scheme means.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// One scheme and port of one host, or of all hosts below a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// How.
    pub scheme: Scheme,
    /// Which host, or hosts.
    pub host: HostPattern,
    /// Which port.
    pub port: u16,
}

impl Endpoint {
    /// Reads `[SCHEME://]HOST[:PORT]`. Without a scheme it is `https`, without a port the scheme's.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = match text.split_once("://") {
            None => (Scheme::Https, text),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
            Some((other, _)) => {
                let shown = crate::text::shorten(other, 20);
                return Err(format!("the scheme `{shown}` is none of `https` and `http`"));
            }
        };
        let (host, port) = split_port(rest)?;
        let port = port.map_or(Ok(scheme.default_port()), |port| {
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            let number = port.parse::<u16>().ok().filter(|number| *number > 0 && digits);
            number.ok_or_else(|| format!("`{}` is not a port", crate::text::shorten(port, 20)))
        })?;
        Ok(Self { scheme, host: HostPattern::parse(host)?, port })
    }

    /// Whether every endpoint that `other` matches is matched by this one too.
    pub fn covers(&self, other: &Self) -> bool {
        self.scheme == other.scheme && self.port == other.port && self.host.covers(&other.host)
    }
}

/// The host and the port of an authority; an IPv6 address with a port has brackets.
fn split_port(authority: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(rest) = authority.strip_prefix('[') {
        let (address, after) = rest.split_once(']').ok_or_else(|| "a `[` without its `]`".to_owned())?;
        return match after.strip_prefix(':') {
            Some(port) => Ok((address, Some(port))),
            None if after.is_empty() => Ok((address, None)),
            None => Err("something stands behind the `]` that is no port".to_owned()),
        };
    }
    if authority.parse::<Ipv6Addr>().is_ok() {
        return Ok((authority, None));
    }
    Ok(authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))))
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scheme != Scheme::Https {
            write!(formatter, "{}://", self.scheme.as_str())?;
        }
        let is_plain = self.port == self.scheme.default_port();
        match self.host.as_str() {
            host if is_plain => formatter.write_str(host),
            host if host.contains(':') => write!(formatter, "[{host}]:{}", self.port),
            host => write!(formatter, "{host}:{}", self.port),
        }
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_reads_back_as_it_is_written_shortest() {
        for (written, shortest) in [
            ("API.GitHub.com.", "api.github.com"),
            ("https://api.github.com:443", "api.github.com"),
            ("*.example.org:8443", "*.example.org:8443"),
            ("HTTP://127.0.0.1:80", "http://127.0.0.1"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("::1", "::1"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("[::1]", "::1"),
        ] {
            let endpoint = Endpoint::parse(written).unwrap();
            assert_eq!(endpoint.to_string(), shortest, "{written}");
            assert_eq!(Endpoint::parse(shortest).unwrap(), endpoint, "{written}");
        }
        for bad in [
            "", "ftp://a", "a:", "a:0", "a:65536", "a:+1", "a:1:2", "[::1", "[::1]x", "a/b", "user@a", "a b",
            "https://",
        ] {
            assert!(Endpoint::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn scheme_and_port_are_part_of_what_is_covered() {
        let endpoint = |text| Endpoint::parse(text).unwrap();
        assert!(endpoint("*.a.b").covers(&endpoint("x.a.b")));
        assert!(!endpoint("a.b").covers(&endpoint("http://a.b")));
        assert!(!endpoint("a.b").covers(&endpoint("a.b:8443")));
        assert!(endpoint("http://a.b:8080").covers(&endpoint("http://a.b:8080")));
    }
}
