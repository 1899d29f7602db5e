//! Attacks on memory, tables and the stack: more than there is, all of it at once, and in more places than one.

use airlock_core::{CallKind, Code};

use crate::attack::Attack;
use crate::guest::Guest;
use crate::sections::appended;

pub(crate) fn attacks() -> Vec<Attack> {
    [growth(), stack(), instances()].concat()
}

fn growth() -> Vec<Attack> {
    let table = "(table $many 10 funcref)";
    vec![
        Attack::call(
            "grows its memory by 4 GiB",
            "grow-huge",
            &Guest::new("(drop (memory.grow (i32.const 60000)))"),
            CallKind::OutOfMemory,
        ),
        Attack::call(
            "grows its memory page by page",
            "grow-steps",
            &Guest::new("(loop $again (drop (memory.grow (i32.const 1))) (br $again))"),
            CallKind::OutOfMemory,
        ),
        Attack::call(
            "grows a table by a million",
            "table-huge",
            &Guest::new("(drop (table.grow $many (ref.null func) (i32.const 1000000)))").with(table),
            CallKind::OutOfMemory,
        ),
        Attack::call(
            "grows a table by 100 for ever",
            "table-steps",
            &Guest::new(
                "(loop $again (drop (table.grow $many (ref.null func) (i32.const 100))) (br $again))",
            )
            .with(table),
            CallKind::OutOfMemory,
        ),
        // One instruction that nothing interrupts, over as much memory as there is.
        Attack::call(
            "fills 60 MiB at a time for ever",
            "fill-large",
            &Guest::new(
                "(drop (memory.grow (i32.const 958)))
                (loop $again
                    (memory.fill (i32.const 65536) (local.get $i) (i32.const 62849024))
                    (local.set $i (i32.add (local.get $i) (i32.const 1)))
                    (br $again))",
            ),
            CallKind::TimedOut,
        ),
        Attack::call(
            "copies 30 MiB at a time for ever",
            "copy-large",
            &Guest::new(
                "(drop (memory.grow (i32.const 958)))
                (loop $again
                    (memory.copy (i32.const 31490048) (i32.const 65536) (i32.const 31424512))
                    (br $again))",
            ),
            CallKind::TimedOut,
        ),
        Attack::call(
            "touches every page of 60 MiB, then spins",
            "touch-pages",
            &Guest::new(
                "(drop (memory.grow (i32.const 958)))
                (local.set $i (i32.const 65536))
                (loop $touch
                    (i32.store (local.get $i) (i32.const -1))
                    (local.set $i (i32.add (local.get $i) (i32.const 4096)))
                    (br_if $touch (i32.lt_u (local.get $i) (i32.const 62914560))))
                (loop $spin (br $spin))",
            ),
            CallKind::TimedOut,
        ),
        Attack::call(
            "writes past its memory",
            "write-past",
            &Guest::new("(i32.store (i32.const -4) (i32.const 1))"),
            CallKind::Trapped,
        ),
    ]
}

fn stack() -> Vec<Attack> {
    vec![
        Attack::call(
            "recurses without locals",
            "recurse-bare",
            &Guest::new("(call $down)").with("(func $down (call $down))"),
            CallKind::Trapped,
        ),
        Attack::call(
            "recurses with 1,000 locals",
            "recurse-wide",
            &Guest::new("(drop (call $down (i64.const 1)))").with(format!(
                "(func $down (param i64) (result i64) (local {}) (local.set 500 (local.get 0))
                    (local.set 999 (call $down (i64.add (local.get 500) (i64.const 1))))
                    (i64.add (local.get 500) (local.get 999)))",
                "i64 ".repeat(1_000)
            )),
            CallKind::Trapped,
        ),
        Attack::call(
            "recurses through a table",
            "recurse-table",
            &Guest::new("(call_indirect (i32.const 0))").with(
                "(table 1 funcref) (elem (i32.const 0) $down) (func $down (call_indirect (i32.const 0)))",
            ),
            CallKind::Trapped,
        ),
        Attack::call(
            "calls itself in its place for ever",
            "recurse-tail",
            &Guest::new("(call $round)").with("(func $round (return_call $round))"),
            CallKind::TimedOut,
        ),
        Attack::call(
            "calls a function of another type",
            "call-mistyped",
            &Guest::new("(call_indirect (param i32) (i32.const 1) (i32.const 0))")
                .with("(table 1 funcref) (elem (i32.const 0) $rewind)"),
            CallKind::Trapped,
        ),
    ]
}

/// More memories, tables and instances than one: their sum counts, and their number has an end.
fn instances() -> Vec<Attack> {
    let honest = |plugin: &str| Guest::new("").component(plugin);
    let with = |title, plugin: &str, items: &str, code| {
        Attack::refused(title, plugin, appended(honest(plugin), items), code)
    };
    let instance = "(core instance (instantiate $more))";
    let more = |module: &str, times| format!("(core module $more {module}) {}", instance.repeat(times));
    vec![
        Attack::refused(
            "has two memories of 40 MiB",
            "memory-sum",
            appended(Guest::new("").pages(640).component("memory-sum"), &more("(memory 640)", 1)),
            Code::RegisterFailed,
        ),
        Attack::refused(
            "grows a second memory at its start",
            "memory-second",
            appended(
                Guest::new("").pages(100).component("memory-second"),
                &more("(memory 1) (func $begin (drop (memory.grow (i32.const 1000)))) (start $begin)", 1),
            ),
            Code::RegisterFailed,
        ),
        with("has 32 memories", "memory-many", &more("(memory 1)", 31), Code::ComponentInvalid),
        with(
            "has 25 more instances with a table each",
            "table-many",
            &more("(table 1 funcref)", 25),
            Code::ComponentInvalid,
        ),
        with("has 100 instances", "instance-many", &more("", 100), Code::ComponentInvalid),
        with(
            "has tables of 24,000 elements together",
            "table-sum",
            &more("(table 12000 funcref) (table 12000 funcref)", 1),
            Code::RegisterFailed,
        ),
        with(
            "has a table of 10,000,000",
            "table-start",
            &more("(table 10000000 funcref)", 1),
            Code::ComponentInvalid,
        ),
        with("has a memory of 4 GiB", "memory-start", &more("(memory 65536)", 1), Code::ComponentInvalid),
    ]
}
