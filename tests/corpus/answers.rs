//! Answers that no compiler would make: pointers to nowhere, lists that overlap, discriminants that do not exist, allocators
//! and cleanups that turn on the host that calls them.

use airlock_core::CallKind;

use crate::attack::Attack;
use crate::guest::Guest;

pub(crate) fn attacks() -> Vec<Attack> {
    [results(), allocators(), cleanups()].concat()
}

fn results() -> Vec<Attack> {
    let trapped =
        |title, plugin, execute| Attack::call(title, plugin, &Guest::new(execute), CallKind::Trapped);
    let large = |title, plugin, guest: Guest| Attack::call(title, plugin, &guest, CallKind::OutputTooLarge);
    vec![
        trapped("answers at an address past its memory", "answer-past", "(return (i32.const -4))"),
        trapped("answers at an odd address", "answer-odd", "(return (i32.const 65))"),
        trapped("answers neither yes nor no", "answer-neither", "(i32.store8 (i32.const 64) (i32.const 7))"),
        trapped(
            "answers a piece of no kind",
            "answer-kind",
            "(i32.store8 (i32.const 128) (i32.const 9))",
        ),
        trapped(
            "fails in no known way",
            "answer-failure",
            "(i32.store8 (i32.const 64) (i32.const 1)) (i32.store8 (i32.const 68) (i32.const 200))",
        ),
        trapped(
            "answers 4 billion pieces",
            "answer-pieces",
            "(i32.store (i32.const 72) (i32.const -1))",
        ),
        trapped(
            "answers a text past its memory",
            "answer-text",
            "(i32.store (i32.const 132) (i32.const -16))",
        ),
        trapped(
            "answers a text that is not UTF-8",
            "answer-bytes",
            "(i32.store (i32.const 1280) (i32.const -1))",
        ),
        trapped(
            "answers half a character",
            "answer-half",
            "(i32.store (i32.const 1280) (i32.const 0x9fdcba41))",
        ),
        large(
            "answers one text of 50 MiB",
            "answer-long",
            Guest::new("(i32.store (i32.const 132) (i32.const 8192)) (i32.store (i32.const 136) (i32.const 52428800))")
                .pages(900),
        ),
        large(
            "answers 150,000 pieces of nothing",
            "answer-empty",
            Guest::new("(i32.store (i32.const 68) (i32.const 524288)) (i32.store (i32.const 72) (i32.const 150000))")
                .pages(60),
        ),
        // 2,800 pieces that are all the same MiB.
        large(
            "answers one MiB 2,800 times",
            "answer-again",
            Guest::new(
                "(local.set $i (i32.const 8192))
                (loop $next
                    (i32.store (i32.add (local.get $i) (i32.const 4)) (i32.const 200000))
                    (i32.store (i32.add (local.get $i) (i32.const 8)) (i32.const 1048576))
                    (local.set $i (i32.add (local.get $i) (i32.const 20)))
                    (br_if $next (i32.lt_u (local.get $i) (i32.const 64192))))
                (i32.store (i32.const 68) (i32.const 8192)) (i32.store (i32.const 72) (i32.const 2800))",
            )
            .pages(30),
        ),
    ]
}

/// The host calls a guest's allocator before the tool itself, to hand it its arguments.
fn allocators() -> Vec<Attack> {
    let by = |title, plugin, allocate, expected| {
        Attack::call(title, plugin, &Guest::new("").allocating(allocate), expected)
    };
    vec![
        by(
            "an allocator that never returns",
            "allocate-endless",
            "(loop $again (br $again)) (unreachable)",
            CallKind::TimedOut,
        ),
        by("an allocator that traps", "allocate-trap", "(unreachable)", CallKind::Trapped),
        by("an allocator that allocates nowhere", "allocate-nowhere", "(i32.const -8)", CallKind::Trapped),
        by("an allocator that is out of step", "allocate-odd", "(i32.const 65537)", CallKind::Trapped),
        by(
            "an allocator that calls the host",
            "allocate-calls",
            "(call $log (i32.const 4) (i32.const 1280) (i32.const 4)) (i32.const 65536)",
            CallKind::Trapped,
        ),
        by(
            "an allocator that calls itself",
            "allocate-recurse",
            "(call $allocate (i32.const 0) (i32.const 0) (i32.const 1) (i32.const 1))",
            CallKind::Trapped,
        ),
        by(
            "an allocator that gives the same bytes twice",
            "allocate-same",
            "(i32.const 65536)",
            CallKind::Completed,
        ),
        by(
            "an allocator that takes all memory",
            "allocate-grow",
            "(drop (memory.grow (i32.const 2000))) (i32.const 65536)",
            CallKind::OutOfMemory,
        ),
    ]
}

/// The host calls a guest once more when it has read its answer.
fn cleanups() -> Vec<Attack> {
    let by = |title, plugin, body: &str, expected| {
        let export =
            format!("(func (export \"cabi_post_airlock:plugin/guest@0.1.0#execute\") (param i32) {body})");
        Attack::call(title, plugin, &Guest::new("").with(export), expected)
    };
    vec![
        by(
            "a cleanup that never returns",
            "cleanup-endless",
            "(loop $again (br $again))",
            CallKind::TimedOut,
        ),
        by("a cleanup that traps", "cleanup-trap", "(unreachable)", CallKind::Trapped),
        by(
            "a cleanup that calls the host",
            "cleanup-calls",
            "(call $log (i32.const 4) (i32.const 1280) (i32.const 4))",
            CallKind::Trapped,
        ),
    ]
}
