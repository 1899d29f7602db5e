//! Plugins for many at once: four that never end by themselves, each busy in another way, and an honest one that needs half of
//! the same limit, most of it to wait.

use airlock_core::CallKind;

use crate::attack::Attack;
use crate::floods::{CLOCK, OUTPUT};
use crate::guest::Guest;

/// The honest one's id.
pub const HONEST: &str = "load-honest";

/// The plugins, under that limit in milliseconds.
pub fn plugins(limit_ms: u64) -> Vec<Attack> {
    let clock = |execute: String| {
        Guest::new(execute).importing(&["wasi:clocks/monotonic-clock@0.2.6", "wasi:io/poll@0.2.6"], CLOCK)
    };
    let spins = Guest::new("(loop $again (br $again))");
    let waits = clock("(call $block (call $alarm (i64.const -1)))".to_owned());
    let prints = Guest::new(
        "(local.set $i (call $stdout))
        (loop $again
            (call $write_now (local.get $i) (i32.const 8192) (i32.const 4096) (i32.const 512)) (br $again))",
    )
    .importing(&["wasi:cli/stdout@0.2.6", "wasi:io/streams@0.2.6", "wasi:io/poll@0.2.6"], OUTPUT);
    let fills = Guest::new(
        "(drop (memory.grow (i32.const 254)))
        (loop $again (memory.fill (i32.const 65536) (i32.const 7) (i32.const 16646144)) (br $again))",
    );
    let honest = clock(format!(
        "(loop $compute (br_if $compute (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 100000))))
        (call $block (call $alarm (i64.const {})))",
        limit_ms * 500_000
    ));
    let hostile =
        [("load-spins", spins), ("load-waits", waits), ("load-prints", prints), ("load-fills", fills)];
    let hostile = hostile.map(|(plugin, guest)| Attack::call("load", plugin, &guest, CallKind::TimedOut));
    let honest = Attack::call("load", HONEST, &honest, CallKind::Completed);
    let with_limit = |attack: Attack| attack.limited("timeoutMs", limit_ms);
    hostile.into_iter().chain([honest]).map(with_limit).collect()
}
