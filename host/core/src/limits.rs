//! How much one guest invocation may use: numbers with a minimum, which only ever get smaller.
//!
//! Defaults and meanings: ARCHITECTURE.md, "Limits".

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// Limits of one invocation, all of them in force at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall clock from the moment the guest has its slot, host calls included.
    pub timeout: Duration,
    /// Wasmtime fuel: about one unit an instruction.
    pub fuel: u64,
    /// All linear memories of the instance together, in bytes.
    pub memory_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            // Long enough for a tool that waits for the network, short enough for a person who waits for the tool.
            timeout: Duration::from_secs(30),
            // A tenth to a third of a second of the tightest loop: a hundred times what a large document takes.
            fuel: 1_000_000_000,
            // A Rust guest starts at 1.1 MiB, JavaScript at 9 MiB, Python at 12 MiB.
            memory_bytes: 64 << 20,
        }
    }
}

/// Longest deadline that makes sense for a tool that a model waits for.
const MAX_TIMEOUT: Duration = Duration::from_secs(3_600);

/// Most memory that an instance can have: the size of a slot in the sandbox's pool.
const MAX_MEMORY_BYTES: u64 = 64 << 20;

impl Limits {
    /// Says which limit of an operator makes no sense, if one does.
    pub(crate) fn problem(&self) -> Option<String> {
        let outside = |name: &str, value: String, least: String, most: String| {
            Some(format!("the limit `{name}` is {value}; it must be between {least} and {most}"))
        };
        if self.timeout < Duration::from_millis(1) || self.timeout > MAX_TIMEOUT {
            return outside(
                "timeout",
                format!("{:?}", self.timeout),
                "1 ms".to_owned(),
                format!("{MAX_TIMEOUT:?}"),
            );
        }
        if self.fuel < 1_000 {
            return outside("fuel", self.fuel.to_string(), "1000".to_owned(), u64::MAX.to_string());
        }
        if !(65_536..=MAX_MEMORY_BYTES).contains(&self.memory_bytes) {
            let most = MAX_MEMORY_BYTES.to_string();
            return outside("memory_bytes", self.memory_bytes.to_string(), "65536".to_owned(), most);
        }
        None
    }

    /// The limits for `register`, which only declares: the same fuel and memory, five seconds at most.
    pub fn for_registration(self) -> Self {
        Self { timeout: self.timeout.min(Duration::from_secs(5)), ..self }
    }

    /// The limits for a factory, which an assembly waits for: the same fuel and memory, two seconds at most.
    pub fn for_factory(self) -> Self {
        Self { timeout: self.timeout.min(Duration::from_secs(2)), ..self }
    }

    /// These limits, lowered by what `ceiling` asks for. Nothing is ever raised.
    #[must_use]
    pub fn lowered_by(self, ceiling: &LimitsCeiling) -> Self {
        let timeout = ceiling.timeout_ms.map(|limit| Duration::from_millis(limit.0));
        Self {
            timeout: timeout.map_or(self.timeout, |limit| limit.min(self.timeout)),
            fuel: ceiling.fuel.map_or(self.fuel, |limit| limit.0.min(self.fuel)),
            memory_bytes: ceiling
                .memory_bytes
                .map_or(self.memory_bytes, |limit| limit.0.min(self.memory_bytes)),
        }
    }
}

/// A wish to have less, as a manifest or a configuration entry writes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LimitsCeiling {
    /// Wall clock in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<AtLeast<1>>,
    /// Fuel.
    #[serde(default)]
    pub fuel: Option<AtLeast<1_000>>,
    /// Bytes of memory.
    #[serde(default)]
    pub memory_bytes: Option<AtLeast<65_536>>,
}

/// A whole number that is at least `MINIMUM`, below which nothing could ever run: 1 ms, the fuel to enter a
/// function, one page of memory; and at most `MAXIMUM`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtLeast<const MINIMUM: u64, const MAXIMUM: u64 = { u64::MAX }>(u64);

/// How long somebody is waited for, in milliseconds: a person or a handler, and never more than ten minutes.
pub type WaitMs = AtLeast<1, 600_000>;

impl<const MINIMUM: u64, const MAXIMUM: u64> AtLeast<MINIMUM, MAXIMUM> {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }
}

impl<'de, const MINIMUM: u64, const MAXIMUM: u64> Deserialize<'de> for AtLeast<MINIMUM, MAXIMUM> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole<const MINIMUM: u64, const MAXIMUM: u64>;
        impl<const MINIMUM: u64, const MAXIMUM: u64> serde::de::Visitor<'_> for Whole<MINIMUM, MAXIMUM> {
            type Value = AtLeast<MINIMUM, MAXIMUM>;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(formatter, "a whole number of at least {MINIMUM}")?;
                if MAXIMUM < u64::MAX { write!(formatter, " and at most {MAXIMUM}") } else { Ok(()) }
            }
            fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Self::Value, E> {
                if !(MINIMUM..=MAXIMUM).contains(&value) {
                    return Err(E::invalid_value(serde::de::Unexpected::Unsigned(value), &self));
                }
                Ok(AtLeast(value))
            }
        }
        deserializer.deserialize_any(Whole::<MINIMUM, MAXIMUM>)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn ceiling(source: &str) -> Result<LimitsCeiling, String> {
        crate::document::Document::from_json(source.as_bytes())
            .and_then(|document| document.read())
            .map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_ceiling_lowers_and_never_raises() {
        let operator = Limits::default();
        let lower = operator
            .lowered_by(&ceiling(r#"{"timeoutMs": 200, "fuel": 5000, "memoryBytes": 65536}"#).unwrap());
        assert_eq!((lower.timeout.as_millis(), lower.fuel, lower.memory_bytes), (200, 5_000, 65_536));
        let higher =
            r#"{"timeoutMs": 9000000, "fuel": 18446744073709551615, "memoryBytes": 9223372036854775808}"#;
        assert_eq!(operator.lowered_by(&ceiling(higher).unwrap()), operator);
    }

    #[test]
    fn an_operators_limits_have_bounds_too() {
        assert_eq!(Limits::default().problem(), None);
        for limits in [
            Limits { timeout: Duration::ZERO, ..Limits::default() },
            Limits { timeout: Duration::MAX, ..Limits::default() },
            Limits { fuel: 0, ..Limits::default() },
            Limits { memory_bytes: 65_535, ..Limits::default() },
            Limits { memory_bytes: u64::MAX, ..Limits::default() },
        ] {
            assert!(
                limits.problem().is_some_and(|problem| problem.contains("must be between")),
                "{limits:?}"
            );
        }
    }

    #[test]
    fn senseless_limits_name_the_field_and_the_minimum() {
        for bad in ["0", "1", "65535", "-1", "\"16MB\"", "1.5", "1e300"] {
            let problem = ceiling(&format!("{{\"memoryBytes\": {bad}}}")).unwrap_err();
            assert!(
                problem.starts_with("`memoryBytes`: ") && problem.contains("at least 65536"),
                "{bad}: {problem}"
            );
        }
    }
}
