//! Small values of a manifest that cannot be malformed once read: paths, worlds, pointers.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};

/// Longest path inside a package, in bytes.
const MAX_PATH_BYTES: usize = 256;

/// A relative path inside a package: forward slashes, no `..`, no drive, nothing hidden from a reader.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackagePath(String);

impl PackagePath {
    /// The path as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parse(text: &str) -> Result<Self, String> {
        let shown = crate::text::single_line(&crate::text::shorten(text, 80)).into_owned();
        let rule = "a path is relative, with forward slashes and without `..`";
        let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains([':', '\\']);
        if text.is_empty() || text.len() > MAX_PATH_BYTES {
            return Err(format!(
                "the path has {} bytes; {rule} and of 1 to {MAX_PATH_BYTES} bytes",
                text.len()
            ));
        }
        if text.chars().any(crate::text::is_unsafe) {
            return Err(format!("`{shown}` holds an invisible character; {rule}"));
        }
        if !text.split('/').all(is_plain) {
            return Err(format!("`{shown}` leaves the package; {rule}"));
        }
        Ok(Self(text.to_owned()))
    }
}

/// A version of the plugin contract, as in `airlock:plugin@0.1.0`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct World(semver::Version);

impl World {
    /// The newest contract that this host speaks.
    pub const CURRENT: Self = Self(semver::Version::new(0, 1, 0));

    /// The WIT package whose version this is.
    pub const PACKAGE: &'static str = "airlock:plugin";

    /// Reads a world of any version, as in `airlock:plugin@0.1.0`.
    ///
    /// # Errors
    /// Says what a world looks like.
    pub fn parse(text: &str) -> Result<Self, crate::id::NameProblem> {
        let version = text.split_once('@').filter(|(package, _)| *package == Self::PACKAGE);
        version.and_then(|(_, version)| version.parse().ok()).map(Self).ok_or_else(|| {
            let shown = crate::text::shorten(text, 80);
            crate::id::NameProblem::new(format!("`{shown}` is not a world; it reads `{}`", Self::CURRENT))
        })
    }

    /// The contract's version.
    pub fn version(&self) -> &semver::Version {
        &self.0
    }

    /// Whether a host of [`Self::CURRENT`] can run a component built for this version: the same released line, and
    /// not a later one.
    pub fn is_spoken(&self) -> bool {
        let current = &Self::CURRENT.0;
        let same_line = if current.major == 0 {
            self.0.major == 0 && self.0.minor == current.minor
        } else {
            self.0.major == current.major
        };
        same_line && self.0 <= *current && self.0.pre.is_empty()
    }
}

impl fmt::Display for World {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", Self::PACKAGE, self.0)
    }
}

/// An RFC 6901 pointer, such as `/target/id`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPointer(String);

impl JsonPointer {
    /// The pointer as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parse(text: &str) -> Result<Self, String> {
        let escapes_are_whole = text.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
        if text.starts_with('/') && escapes_are_whole {
            return Ok(Self(text.to_owned()));
        }
        Err(format!("`{}` is not a JSON pointer; it reads like `/target/id`", crate::text::shorten(text, 80)))
    }
}

impl<'de> Deserialize<'de> for PackagePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for JsonPointer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for World {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let world = Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)?;
        if world.is_spoken() {
            return Ok(world);
        }
        Err(D::Error::custom(format_args!("this host speaks `{}` and not `{world}`", World::CURRENT)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_package() {
        assert!(PackagePath::parse("skills/triage").is_ok());
        for bad in ["", "/etc", "a/../b", "..", "a//b", "./a", "C:\\evil", "..\\evil", "c:x", "a/\u{202e}b"] {
            assert!(PackagePath::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn pointers_are_rfc_6901() {
        for good in ["/a", "/a~1b/0", "/"] {
            assert!(JsonPointer::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "a", "/a~2", "/a~"] {
            assert!(JsonPointer::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn worlds_of_another_line_or_later_are_not_spoken() {
        let spoken = |text: &str| serde_json::from_value::<World>(text.into());
        assert!(spoken("airlock:plugin@0.1.0").is_ok());
        for other in [
            "airlock:plugin@0.1.1",
            "airlock:plugin@0.2.0",
            "airlock:plugin@1.0.0",
            "airlock:plugin@0.1.0-alpha",
            "other:plugin@0.1.0",
        ] {
            assert!(spoken(other).is_err(), "{other}");
        }
    }
}
