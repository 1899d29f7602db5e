//! A plugin as WebAssembly text: what its exports do enters as instructions; a component that fits the contract leaves. So a
//! guest can do what no compiler would make it do.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use crate::standard::STANDARD;

/// Parts of a core module around a frame that registers one tool and answers `done`.
///
/// The frame has these for the parts: `$heap`, where free memory begins; `$rewind`, which frees all of it; the memory from
/// 8192 to 65536, which nothing uses; and `$answer`, the address of the result: 0 or 1 for an answer or an error, then what
/// the canonical ABI says.
#[derive(Debug, Clone)]
pub struct Guest {
    imports: &'static [&'static str],
    core_imports: &'static str,
    items: String,
    register: &'static str,
    execute: String,
    allocate: &'static str,
    pages: u32,
}

/// What allocates by default: the next free bytes, and pages for them.
const BUMP: &str = "
    (local.set $at (i32.and (i32.add (global.get $heap) (i32.const 7)) (i32.const -8)))
    (global.set $heap (i32.add (local.get $at) (local.get $size)))
    (block $enough (loop $more
        (br_if $enough (i32.le_u (global.get $heap) (i32.shl (memory.size) (i32.const 16))))
        (if (i32.eq (memory.grow (i32.const 1)) (i32.const -1)) (then (unreachable)))
        (br $more)))
    (local.get $at)";

impl Guest {
    /// A guest whose tool runs `execute` and then answers, if it comes so far.
    pub fn new(execute: impl Into<String>) -> Self {
        Self {
            imports: &[],
            core_imports: "",
            items: String::new(),
            register: "",
            execute: execute.into(),
            allocate: BUMP,
            pages: 2,
        }
    }

    /// With more interfaces to import: their names in `standard.rs`, and the core imports of their functions.
    pub fn importing(mut self, interfaces: &'static [&'static str], core: &'static str) -> Self {
        (self.imports, self.core_imports) = (interfaces, core);
        self
    }

    /// With more items in its module.
    pub fn with(mut self, items: impl Into<String>) -> Self {
        self.items = items.into();
        self
    }

    /// With something to do before it registers its tool.
    pub fn registering(mut self, register: &'static str) -> Self {
        self.register = register;
        self
    }

    /// With another body of its allocator, which the host calls to hand it what it asked for.
    pub fn allocating(mut self, allocate: &'static str) -> Self {
        self.allocate = allocate;
        self
    }

    /// With so many pages of memory at its start.
    pub fn pages(mut self, pages: u32) -> Self {
        self.pages = pages;
        self
    }

    /// The component; its tool has that name.
    pub fn component(&self, tool: &str) -> Vec<u8> {
        let mut module = wat::parse_str(self.module(tool)).unwrap_or_else(|error| panic!("{tool}: {error}"));
        let mut resolve = Resolve::default();
        let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/0.1.0");
        resolve.push_path(contract).expect("the contract");
        let imports: String = self.imports.iter().map(|name| format!("import {name};\n")).collect();
        let world = format!(
            "package corpus:attack;\n{STANDARD}\nworld attack {{\ninclude airlock:plugin/plugin@0.1.0;\n{imports}}}\n"
        );
        let package =
            resolve.push_source("attack.wit", &world).unwrap_or_else(|error| panic!("{tool}: {error:#}"));
        let world = resolve.select_world(&[package], Some("attack")).expect("the world");
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata");
        // A component that does not validate is for the host to refuse.
        let mut encoder = ComponentEncoder::default();
        let encoded = encoder.validate(false).module(&module);
        encoded.and_then(ComponentEncoder::encode).unwrap_or_else(|error| panic!("{tool}: {error:#}"))
    }

    fn module(&self, tool: &str) -> String {
        let Self { core_imports, items, register, execute, allocate, pages, .. } = self;
        let length = tool.len();
        format!(
            r#"(module
    {core_imports}
    (import "airlock:plugin/registry@0.1.0" "register-tool" (func $register_tool
        (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
    (import "airlock:plugin/runtime@0.1.0" "log" (func $log (param i32 i32 i32)))
    (import "airlock:plugin/runtime@0.1.0" "config" (func $config (param i32)))
    (import "airlock:plugin/runtime@0.1.0" "progress" (func $progress (param f64 i32 f64 i32 i32 i32)))
    (memory (export "memory") {pages})
    (global $heap (mut i32) (i32.const 65536))
    (global $answer i32 (i32.const 64))
    ;; The answer: one piece, a text of four bytes.
    (data (i32.const 64) "\00\00\00\00\80\00\00\00\01\00\00\00")
    (data (i32.const 128) "\00\00\00\00\00\05\00\00\04\00\00\00")
    (data (i32.const 1024) "{tool}")
    (data (i32.const 1104) "Attacks its host.")
    (data (i32.const 1200) "{{\"type\":\"object\"}}")
    (data (i32.const 1280) "done")
    {items}
    (func $rewind (global.set $heap (i32.const 65536)))
    (func $allocate (export "cabi_realloc")
        (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
        (local $at i32)
        {allocate})
    (func $register_own
        (call $register_tool (i32.const 1024) (i32.const {length}) (i32.const 0) (i32.const 0) (i32.const 0)
            (i32.const 1104) (i32.const 17) (i32.const 1200) (i32.const 17)
            (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 512)))
    (func (export "airlock:plugin/guest@0.1.0#register") (result i32)
        (local $i i32)
        {register}
        (call $register_own)
        (i32.const 16))
    (func (export "airlock:plugin/guest@0.1.0#execute") (param $call i32) (result i32)
        (local $i i32) (local $j i32)
        {execute}
        (global.get $answer))
    (func (export "airlock:plugin/guest@0.1.0#materialize") (param i32) (result i32) (unreachable))
    (func (export "airlock:plugin/guest@0.1.0#on-hook") (param i32) (result i32) (unreachable))
)"#
        )
    }
}
