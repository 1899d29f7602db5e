//! A number of rounds enters, a number leaves if the fuel lasts. It never calls the host in between.

use std::hint::black_box;

use airlock_plugin::prelude::*;

#[arguments]
struct Rounds {
    /// How many rounds to compute; one costs a handful of instructions.
    rounds: u64,
}

/// Computes for a number of rounds.
#[tool]
fn burn_fuel(arguments: Rounds) -> String {
    let mut sum: u64 = 1;
    for round in 0..arguments.rounds {
        sum = black_box(sum.rotate_left(5) ^ round);
    }
    format!("{} rounds gave {sum}", arguments.rounds)
}

plugin!(tools: [burn_fuel]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        let manifest = include_str!("../airlock.plugin.json");
        assert_eq!(airlock_plugin::testing::check_manifest::<Plugin>(manifest), Ok(()));
    }
}
