//! A call enters; the host's answer to a registration that comes too late leaves as text.

use airlock_plugin::bindings::airlock::plugin::registry;
use airlock_plugin::bindings::airlock::plugin::registry::Exposure;
use airlock_plugin::bindings::airlock::plugin::registry::RegistrationError;
use airlock_plugin::bindings::airlock::plugin::types;
use airlock_plugin::prelude::*;

/// Registers another tool and returns what the host said: `registered` or the name of the refusal.
#[tool]
fn late_register() -> &'static str {
    let addition = types::Tool {
        name: "late_addition".to_owned(),
        title: None,
        description: "Came too late.".to_owned(),
        parameters: r#"{"type":"object"}"#.to_owned(),
        output_schema: None,
    };
    match registry::register_tool(&addition, Exposure::Required) {
        Ok(()) => "registered",
        Err(RegistrationError::Undeclared(_)) => "undeclared",
        Err(RegistrationError::Duplicate(_)) => "duplicate",
        Err(RegistrationError::Invalid(_)) => "invalid",
        Err(RegistrationError::Closed) => "closed",
    }
}

plugin!(tools: [late_register]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
