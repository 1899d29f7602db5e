//! Floods into everything that a plugin can import: as many requests as fit into its time, as large as they can be, and
//! handles that it never gives back.

use airlock_core::CallKind;

use crate::attack::Attack;
use crate::guest::Guest;

const RANDOM: &str =
    r#"(import "wasi:random/random@0.2.6" "get-random-bytes" (func $random (param i64 i32)))"#;
const INSECURE: &str =
    r#"(import "wasi:random/insecure@0.2.6" "get-insecure-random-bytes" (func $random (param i64 i32)))"#;
pub(crate) const CLOCK: &str = r#"
    (import "wasi:clocks/monotonic-clock@0.2.6" "now" (func $now (result i64)))
    (import "wasi:clocks/monotonic-clock@0.2.6" "subscribe-duration" (func $alarm (param i64) (result i32)))
    (import "wasi:io/poll@0.2.6" "poll" (func $poll (param i32 i32 i32)))
    (import "wasi:io/poll@0.2.6" "[method]pollable.block" (func $block (param i32)))
    (import "wasi:io/poll@0.2.6" "[resource-drop]pollable" (func $drop (param i32)))"#;
pub(crate) const OUTPUT: &str = r#"
    (import "wasi:cli/stdout@0.2.6" "get-stdout" (func $stdout (result i32)))
    (import "wasi:io/streams@0.2.6" "[method]output-stream.write" (func $write (param i32 i32 i32 i32)))
    (import "wasi:io/streams@0.2.6" "[method]output-stream.blocking-write-and-flush"
        (func $write_now (param i32 i32 i32 i32)))
    (import "wasi:io/streams@0.2.6" "[method]output-stream.write-zeroes" (func $zeroes (param i32 i64 i32)))
    (import "wasi:io/streams@0.2.6" "[method]output-stream.subscribe" (func $subscribe (param i32) (result i32)))"#;
const INPUT: &str = r#"
    (import "wasi:cli/stdin@0.2.6" "get-stdin" (func $stdin (result i32)))
    (import "wasi:io/streams@0.2.6" "[method]input-stream.read" (func $read (param i32 i64 i32)))"#;
const SOCKETS: &str = r#"
    (import "wasi:sockets/tcp-create-socket@0.2.6" "create-tcp-socket" (func $socket (param i32 i32)))"#;
const ENVIRONMENT: &str =
    r#"(import "wasi:cli/environment@0.2.6" "get-environment" (func $environment (param i32)))"#;

pub(crate) fn attacks() -> Vec<Attack> {
    [contract(), random(), clocks(), streams(), handles()].concat()
}

/// The contract's own imports.
fn contract() -> Vec<Attack> {
    let ends = |title, plugin, guest: Guest| Attack::call(title, plugin, &guest, CallKind::TimedOut);
    let by = |execute| Guest::new(execute).pages(50);
    vec![
        ends(
            "floods its log with empty lines",
            "log-empty",
            by("(loop $again (call $log (i32.const 4) (i32.const 0) (i32.const 0)) (br $again))"),
        ),
        ends(
            "floods its log with lines of 3 MiB of controls",
            "log-large",
            by("(loop $again (call $log (i32.const 4) (i32.const 8192) (i32.const 3145728)) (br $again))"),
        ),
        ends(
            "floods progress with no numbers and 3 MiB of controls",
            "progress-flood",
            by("(loop $again
                (call $progress (f64.const nan) (i32.const 1) (f64.const -inf) (i32.const 1)
                    (i32.const 8192) (i32.const 3145728))
                (br $again))"),
        ),
        ends(
            "asks for its configuration for ever",
            "config-flood",
            by("(loop $again (call $rewind) (call $config (i32.const 512)) (br $again))"),
        ),
        ends(
            "registers for ever during a call",
            "late-flood",
            by("(loop $again (call $register_own) (br $again))"),
        ),
        ends(
            "reads the environment for ever",
            "environment-flood",
            by("(loop $again (call $rewind) (call $environment (i32.const 512)) (br $again))")
                .importing(&["wasi:cli/environment@0.2.6"], ENVIRONMENT),
        ),
        ends(
            "opens sockets for ever",
            "socket-flood",
            by("(loop $again (call $socket (i32.const 0) (i32.const 512)) (br $again))")
                .importing(&["wasi:sockets/tcp-create-socket@0.2.6"], SOCKETS),
        ),
    ]
}

fn random() -> Vec<Attack> {
    let secure = |execute| Guest::new(execute).importing(&["wasi:random/random@0.2.6"], RANDOM);
    let insecure = |execute| Guest::new(execute).importing(&["wasi:random/insecure@0.2.6"], INSECURE);
    vec![
        Attack::call(
            "asks for 64 KiB of randomness for ever",
            "random-flood",
            &secure(
                "(loop $again (call $rewind) (call $random (i64.const 65536) (i32.const 512)) (br $again))",
            ),
            CallKind::TimedOut,
        ),
        Attack::call(
            "asks for a terabyte of randomness",
            "random-huge",
            &secure("(call $random (i64.const 1099511627776) (i32.const 512))"),
            CallKind::Trapped,
        ),
        Attack::call(
            "asks for all insecure randomness there is",
            "random-insecure",
            &insecure("(call $random (i64.const -1) (i32.const 512))"),
            CallKind::Trapped,
        ),
    ]
}

fn clocks() -> Vec<Attack> {
    let by = |title, plugin, execute, expected| {
        let guest = Guest::new(execute)
            .importing(&["wasi:clocks/monotonic-clock@0.2.6", "wasi:io/poll@0.2.6"], CLOCK);
        Attack::call(title, plugin, &guest, expected)
    };
    vec![
        by(
            "reads the clock for ever",
            "clock-flood",
            "(loop $again (drop (call $now)) (br $again))",
            CallKind::TimedOut,
        ),
        by(
            "sleeps for 584 years",
            "sleep-longest",
            "(call $block (call $alarm (i64.const -1)))",
            CallKind::TimedOut,
        ),
        by(
            "sleeps no time for ever",
            "sleep-none",
            "(loop $again
                (call $block (local.tee $i (call $alarm (i64.const 0)))) (call $drop (local.get $i)) (br $again))",
            CallKind::TimedOut,
        ),
        by(
            "sleeps a microsecond for ever",
            "sleep-short",
            "(loop $again
                (call $block (local.tee $i (call $alarm (i64.const 1000)))) (call $drop (local.get $i)) (br $again))",
            CallKind::TimedOut,
        ),
        // One handle, many times: each counts as lent.
        by(
            "polls a list of 1,000 that is ready for ever",
            "poll-ready",
            "(local.set $j (call $alarm (i64.const 1)))
            (call $block (local.get $j))
            (drop (memory.grow (i32.const 20)))
            (local.set $i (i32.const 131072))
            (loop $fill
                (i32.store (local.get $i) (local.get $j))
                (local.set $i (i32.add (local.get $i) (i32.const 4)))
                (br_if $fill (i32.lt_u (local.get $i) (i32.const 135072))))
            (loop $again
                (call $rewind)
                (call $poll (i32.const 131072) (i32.const 1000) (i32.const 512))
                (br $again))",
            CallKind::TimedOut,
        ),
        by(
            "polls a list of 100,000",
            "poll-many",
            "(local.set $j (call $alarm (i64.const 1)))
            (call $block (local.get $j))
            (drop (memory.grow (i32.const 20)))
            (local.set $i (i32.const 131072))
            (loop $fill
                (i32.store (local.get $i) (local.get $j))
                (local.set $i (i32.add (local.get $i) (i32.const 4)))
                (br_if $fill (i32.lt_u (local.get $i) (i32.const 531072))))
            (loop $again
                (call $rewind)
                (call $poll (i32.const 131072) (i32.const 100000) (i32.const 512))
                (br $again))",
            CallKind::Trapped,
        ),
        by(
            "polls a list of a million",
            "poll-large",
            "(local.set $j (call $alarm (i64.const 1)))
            (drop (memory.grow (i32.const 70)))
            (local.set $i (i32.const 65536))
            (loop $fill
                (i32.store (local.get $i) (local.get $j))
                (local.set $i (i32.add (local.get $i) (i32.const 4)))
                (br_if $fill (i32.lt_u (local.get $i) (i32.const 4065536))))
            (call $poll (i32.const 65536) (i32.const 1000000) (i32.const 512))",
            CallKind::OutputTooLarge,
        ),
        by("polls nothing", "poll-nothing", "(call $poll (i32.const 0) (i32.const 0) (i32.const 512))", CallKind::Trapped),
    ]
}

fn streams() -> Vec<Attack> {
    let interfaces: &'static [&'static str] =
        &["wasi:cli/stdout@0.2.6", "wasi:io/streams@0.2.6", "wasi:io/poll@0.2.6"];
    let output = |title, plugin, execute, expected| {
        let guest = Guest::new(execute).importing(interfaces, OUTPUT).pages(50);
        Attack::call(title, plugin, &guest, expected)
    };
    let reads = Guest::new(
        "(local.set $i (call $stdin))
        (loop $again
            (call $rewind) (call $read (local.get $i) (i64.const -1) (i32.const 512)) (br $again))",
    );
    vec![
        output(
            "prints 3 MiB at a time for ever",
            "print-large",
            "(local.set $i (call $stdout))
            (loop $again
                (call $write (local.get $i) (i32.const 8192) (i32.const 3145728) (i32.const 512)) (br $again))",
            CallKind::TimedOut,
        ),
        output(
            "prints 4 KiB at a time for ever",
            "print-flood",
            "(local.set $i (call $stdout))
            (loop $again
                (call $write_now (local.get $i) (i32.const 8192) (i32.const 4096) (i32.const 512)) (br $again))",
            CallKind::TimedOut,
        ),
        output(
            "prints more at once than it may",
            "print-more",
            "(call $write_now (call $stdout) (i32.const 8192) (i32.const 5000) (i32.const 512))",
            CallKind::Trapped,
        ),
        output(
            "prints all zeroes there are",
            "print-zeroes",
            "(call $zeroes (call $stdout) (i64.const -1) (i32.const 512))",
            CallKind::Trapped,
        ),
        Attack::call(
            "reads an input that is not there for ever",
            "read-flood",
            &reads.importing(&["wasi:cli/stdin@0.2.6", "wasi:io/streams@0.2.6"], INPUT),
            CallKind::TimedOut,
        ),
    ]
}

/// Handles: kept, forged, given back twice.
fn handles() -> Vec<Attack> {
    let clock = |title, plugin, execute, expected| {
        let guest = Guest::new(execute)
            .importing(&["wasi:clocks/monotonic-clock@0.2.6", "wasi:io/poll@0.2.6"], CLOCK);
        Attack::call(title, plugin, &guest, expected)
    };
    let interfaces: &'static [&'static str] = &["wasi:cli/stdout@0.2.6", "wasi:io/streams@0.2.6"];
    let keeps_streams = Guest::new("(loop $again (drop (call $stdout)) (br $again))");
    vec![
        clock(
            "keeps every timer it gets",
            "timer-flood",
            "(loop $again (drop (call $alarm (i64.const -1))) (br $again))",
            CallKind::Trapped,
        ),
        Attack::call(
            "keeps every stream it gets",
            "stream-flood",
            &keeps_streams.importing(interfaces, OUTPUT),
            CallKind::Trapped,
        ),
        clock(
            "waits on 100 timers that never ring",
            "timer-wait",
            "(local.set $i (i32.const 65536))
            (loop $fill
                (i32.store (local.get $i) (call $alarm (i64.const 3600000000000)))
                (local.set $i (i32.add (local.get $i) (i32.const 4)))
                (br_if $fill (i32.lt_u (local.get $i) (i32.const 65936))))
            (global.set $heap (i32.const 70000))
            (call $poll (i32.const 65536) (i32.const 100) (i32.const 512))",
            CallKind::TimedOut,
        ),
        clock("forges a handle", "handle-forged", "(call $block (i32.const 12345))", CallKind::Trapped),
        clock(
            "gives a handle back twice",
            "handle-twice",
            "(local.set $i (call $alarm (i64.const 0))) (call $drop (local.get $i)) (call $drop (local.get $i))",
            CallKind::Trapped,
        ),
        clock(
            "uses a handle that it gave back",
            "handle-freed",
            "(local.set $i (call $alarm (i64.const 0))) (call $drop (local.get $i)) (call $block (local.get $i))",
            CallKind::Trapped,
        ),
    ]
}
