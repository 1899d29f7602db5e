//! `wasi:keyvalue@0.2.0-draft` as Rust types, made from `wit/deps/keyvalue` at compile time.

#![allow(
    missing_docs,
    missing_debug_implementations,
    unreachable_pub,
    clippy::all,
    reason = "generated code"
)]

wasmtime::component::bindgen!({
    path: "../../wit/deps/keyvalue",
    world: "wasi:keyvalue/imports",
    imports: { default: async | trappable },
    with: { "wasi:keyvalue/store.bucket": crate::key_value::Bucket },
});
