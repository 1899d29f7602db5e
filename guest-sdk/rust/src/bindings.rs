//! The contract as `wit-bindgen` generates it: WIT types enter and leave, nothing is added.
//!
//! This is the low level, for a plugin that must do what [`plugin!`](crate::plugin) does not offer: implement
//! [`Guest`](exports::airlock::plugin::guest::Guest) for a type of your own and export it with
//! `airlock_plugin::bindings::export!(MyPlugin with_types_in airlock_plugin::bindings);`. The imports under
//! [`airlock::plugin`] exist in a component only; natively they panic.

#![allow(missing_docs, unsafe_code, unreachable_pub, reason = "generated from wit/0.1.0")]
#![allow(clippy::allow_attributes_without_reason, reason = "generated from wit/0.1.0")]

wit_bindgen::generate!({
    world: "plugin",
    path: "../../wit/0.1.0",
    additional_derives: [PartialEq],
    pub_export_macro: true,
    generate_unused_types: true,
});

/// `wasi:keyvalue@0.2.0-draft`, which a component imports only if it calls something of it, and may import only if its
/// manifest asks for `permissions.keyValue`.
pub mod key_value {
    wit_bindgen::generate!({
        world: "wasi:keyvalue/imports",
        path: "../../wit/deps/keyvalue",
        generate_all,
    });
}

/// `wasi:http@0.2.12` for requests, which a component imports only if it calls something of it, and may import only if its
/// manifest asks for `permissions.network`.
pub mod http {
    wit_bindgen::generate!({
        world: "wasi:http/outgoing",
        path: ["../../wit/deps/io", "../../wit/deps/clocks", "../../wit/deps/http"],
        generate_all,
    });
}
