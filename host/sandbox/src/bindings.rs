//! The contract `airlock:plugin@0.1.0` as Rust types, made from `wit/0.1.0` at compile time.

#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    clippy::all,
    reason = "generated code"
)]

wasmtime::component::bindgen!({
    path: "../../wit/0.1.0",
    world: "plugin",
    imports: { default: trappable },
    exports: { default: async },
});
