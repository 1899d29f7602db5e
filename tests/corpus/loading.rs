//! Attacks before the first call: components that are hard to read or to compile, start functions, registrations without
//! end, data without measure.

use airlock_core::{CallKind, Code};

use crate::attack::{Attack, Expected};
use crate::guest::Guest;
use crate::sections::appended;

pub(crate) fn attacks() -> Vec<Attack> {
    [starting(), registering(), proposals(), data(), bombs()].concat()
}

fn refused(title: &'static str, plugin: &str, guest: &Guest, code: Code) -> Attack {
    Attack::refused(title, plugin, guest.component(plugin), code)
}

/// Code that runs when an instance is made, before anything was asked of it.
fn starting() -> Vec<Attack> {
    let by = |title, plugin, items: &str| {
        refused(title, plugin, &Guest::new("").with(items), Code::RegisterFailed)
    };
    vec![
        by(
            "a start that never ends",
            "start-endless",
            "(func $begin (loop $again (br $again))) (start $begin)",
        ),
        by("a start that recurses", "start-recurse", "(func $begin (call $begin)) (start $begin)"),
        by("a start that traps", "start-trap", "(func $begin (unreachable)) (start $begin)"),
        by(
            "a start that grows its memory by 4 GiB",
            "start-grow",
            "(func $begin (drop (memory.grow (i32.const 60000)))) (start $begin)",
        ),
        by(
            "a start that calls the host",
            "start-call",
            "(func $begin (call $log (i32.const 4) (i32.const 1280) (i32.const 4))) (start $begin)",
        ),
        by("data past its memory", "data-past", r#"(data (i32.const 131070) "past the end")"#),
    ]
}

const REGISTRY: &str = r#"
    (import "airlock:plugin/registry@0.1.0" "register-factory"
        (func $register_factory (param i32 i32 i32 i32 i32)))
    (import "airlock:plugin/registry@0.1.0" "on" (func $on (param i32 i32 i32 i32 i32 i32 i32 i32)))"#;

fn registering() -> Vec<Attack> {
    let by = |title, plugin, register| {
        let guest = Guest::new("").importing(&[], REGISTRY).registering(register).pages(50);
        refused(title, plugin, &guest, Code::RegisterFailed)
    };
    let patterns: Vec<String> =
        (0..60).map(|number| format!(r#"\"((a|b{number}){{20}}){{20}}\":{{}}"#)).collect();
    let schema = format!(r#"{{\"type\":\"object\",\"patternProperties\":{{{}}}}}"#, patterns.join(","));
    let length = schema.replace('\\', "").len();
    let costly = Guest::new("")
        .with(format!(r#"(data (i32.const 8192) "{schema}") (global $length i32 (i32.const {length}))"#))
        .registering(
            "(loop $again
                (call $register_tool (i32.const 1024) (i32.const 15) (i32.const 0) (i32.const 0) (i32.const 0)
                    (i32.const 1104) (i32.const 17) (i32.const 8192) (global.get $length)
                    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 512))
                (br $again))",
        );
    vec![
        by(
            "registers one tool for ever",
            "register-flood",
            "(loop $again (call $rewind) (call $register_own) (br $again))",
        ),
        by(
            "registers a tool with a name of 3 MiB for ever",
            "register-name",
            "(loop $again (call $rewind)
                (call $register_tool (i32.const 8192) (i32.const 3145728) (i32.const 0) (i32.const 0) (i32.const 0)
                    (i32.const 1104) (i32.const 17) (i32.const 1200) (i32.const 17)
                    (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 512))
                (br $again))",
        ),
        refused(
            "registers 60 patterns of a megabyte for ever",
            "register-costly",
            &costly,
            Code::RegisterFailed,
        ),
        by(
            "registers factories of 100,000 names for ever",
            "register-factory",
            "(loop $again (call $rewind)
                (call $register_factory (i32.const 7) (i32.const 1048576) (i32.const 100000) (i32.const 0) (i32.const 512))
                (br $again))",
        ),
        by(
            "registers handlers for ever",
            "register-hooks",
            "(loop $again (call $rewind)
                (call $on (local.get $i) (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0)
                    (i32.const 1048576) (i32.const 1000) (i32.const 512))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br $again))",
        ),
    ]
}

/// What the engine could do and no guest of ours needs.
fn proposals() -> Vec<Attack> {
    let by = |title, plugin: &str, module: &str| {
        let component = appended(Guest::new("").component(plugin), &format!("(core module $more {module})"));
        Attack::refused(title, plugin, component, Code::ComponentInvalid)
    };
    vec![
        by("two memories in one module", "module-memories", "(memory 1) (memory 1)"),
        by("a memory of 64-bit addresses", "module-memory64", "(memory i64 1)"),
        by("a shared memory", "module-shared", "(memory 1 1 shared)"),
        by("structures of the garbage collector", "module-gc", "(type (struct (field i32)))"),
        by("exceptions", "module-exceptions", "(tag)"),
        by("pages of one byte", "module-pages", "(memory 1 (pagesize 1))"),
        by(
            "relaxed vectors",
            "module-relaxed",
            "(func (param v128) (result v128) (i32x4.relaxed_trunc_f32x4_s (local.get 0)))",
        ),
    ]
}

fn data() -> Vec<Attack> {
    let completes =
        |title, plugin: &str, guest: &Guest| Attack::call(title, plugin, guest, CallKind::Completed);
    vec![
        completes(
            "brings 20 MiB of data",
            "data-large",
            &Guest::new("").pages(400).with(format!("(data (i32.const 65536) \"{}\")", "x".repeat(20 << 20))),
        ),
        completes(
            "brings 50,000 pieces of data",
            "data-pieces",
            &Guest::new("").pages(100).with(
                (0..50_000)
                    .map(|number| format!("(data (i32.const {}) \"x\")", 65_536 + number * 100))
                    .collect::<String>(),
            ),
        ),
        completes(
            "brings one byte at each end of 60 MiB",
            "data-sparse",
            &Guest::new("")
                .pages(960)
                .with("(data (i32.const 65536) \"x\") (data (i32.const 62914000) \"x\")"),
        ),
    ]
}

/// Small files that mean very much work.
fn bombs() -> Vec<Attack> {
    let honest = |plugin: &str| Guest::new("").component(plugin);
    // Each level instantiates the one before it twice, and none stands in another.
    let instances = |levels: usize| {
        let level = |level: usize| {
            let before = level - 1;
            format!(
                "(component $level{level} (alias outer 1 $level{before} (component $before))
                    (instance (instantiate $before)) (instance (instantiate $before)))"
            )
        };
        let levels: String = (1..=levels).map(level).collect();
        format!("(component $level0 (core module $m) (core instance (instantiate $m))) {levels}")
    };
    let types: String =
        (1..60).map(|level| format!("(type $t{level} (tuple $t{} $t{}))", level - 1, level - 1)).collect();
    let made = |title, plugin: &str, items: &str, code| {
        Attack::made(title, plugin, appended(honest(plugin), items), Expected::Refused(code))
    };
    vec![
        made(
            "instances that double 40 times",
            "bomb-instances",
            &format!("{} (instance (instantiate $level40))", instances(40)),
            Code::ComponentInvalid,
        ),
        made(
            "a type that doubles 60 times",
            "bomb-types",
            &format!("(type $t0 (tuple u8 u8)) {types}"),
            Code::ComponentInvalid,
        ),
        made(
            "components 40 deep in each other",
            "bomb-nesting",
            &format!("{}{}", "(component ".repeat(40), ")".repeat(40)),
            Code::ComponentInvalid,
        ),
        made(
            "a function of 40,000 locals in 100,000 blocks",
            "bomb-locals",
            &format!(
                "(core module $more (func (local {}) {}))",
                "i64 ".repeat(40_000),
                "(block (local.set 0 (i64.const 1)))".repeat(100_000)
            ),
            Code::ComponentInvalid,
        ),
        Attack::call(
            "20,000 functions and a table of branches",
            "bomb-functions",
            &Guest::new("").with(format!(
                "{} (func (param i32) (block $a (br_table {} $a (local.get 0))))",
                "(func)".repeat(20_000),
                "$a ".repeat(50_000)
            )),
            CallKind::Completed,
        ),
        Attack::call(
            "blocks 3,000 deep in each other",
            "bomb-blocks",
            &Guest::new("").with(format!("(func {}{})", "(block ".repeat(3_000), ")".repeat(3_000))),
            CallKind::Completed,
        ),
    ]
}
