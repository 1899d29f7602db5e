//! Registers a tool that the manifest declares and one that it does not, and leaves out one that it declares.

use airlock_plugin::prelude::*;

/// Is declared and registered.
#[tool]
fn declared_one() -> &'static str {
    "declared"
}

/// Is registered and not declared.
#[tool]
fn smuggled() -> &'static str {
    "smuggled"
}

plugin!(tools: [declared_one, smuggled]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_disagrees_both_ways() {
        let manifest = include_str!("../airlock.plugin.json");
        let problems = airlock_plugin::testing::check_manifest::<Plugin>(manifest).unwrap_err();
        assert!(problems.contains("`smuggled`") && problems.contains("`never_registered`"), "{problems}");
    }
}
