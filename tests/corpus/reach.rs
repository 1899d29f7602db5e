//! Floods into what a plugin asked for: headers and requests without measure, buckets and keys without end. The operator
//! granted the store, and no endpoint.

use airlock_core::CallKind;
use serde_json::json;

use crate::attack::Attack;
use crate::guest::Guest;

const HTTP: &str = r#"
    (import "wasi:http/types@0.2.6" "[constructor]fields" (func $fields (result i32)))
    (import "wasi:http/types@0.2.6" "[method]fields.append" (func $append (param i32 i32 i32 i32 i32 i32)))
    (import "wasi:http/types@0.2.6" "[static]fields.from-list" (func $from_list (param i32 i32 i32)))
    (import "wasi:http/types@0.2.6" "[constructor]outgoing-request" (func $request (param i32) (result i32)))"#;
const STORE: &str = r#"
    (import "wasi:keyvalue/store@0.2.0-draft" "open" (func $open (param i32 i32 i32)))
    (import "wasi:keyvalue/store@0.2.0-draft" "[method]bucket.set" (func $set (param i32 i32 i32 i32 i32 i32)))
    (import "wasi:keyvalue/store@0.2.0-draft" "[method]bucket.get" (func $get (param i32 i32 i32 i32)))
    (import "wasi:keyvalue/batch@0.2.0-draft" "get-many" (func $get_many (param i32 i32 i32 i32)))"#;

pub(crate) fn attacks() -> Vec<Attack> {
    [headers(), keys()].concat()
}

fn headers() -> Vec<Attack> {
    let by = |title, plugin, execute, expected| {
        let guest = Guest::new(execute).importing(&["wasi:http/types@0.2.6"], HTTP).pages(50);
        Attack::call(title, plugin, &guest, expected)
            .asking(json!({ "network": [{ "host": "api.example.org" }] }))
    };
    vec![
        by(
            "appends headers for ever",
            "header-flood",
            "(local.set $i (call $fields))
            (loop $again
                (call $append (local.get $i) (i32.const 1280) (i32.const 4) (i32.const 1104) (i32.const 17)
                    (i32.const 512))
                (br $again))",
            CallKind::Trapped,
        ),
        by(
            "a header of 3 MiB",
            "header-long",
            "(memory.fill (i32.const 8192) (i32.const 97) (i32.const 3145728))
            (call $append (call $fields) (i32.const 1280) (i32.const 4) (i32.const 8192) (i32.const 3145728)
                (i32.const 512))",
            CallKind::Trapped,
        ),
        by(
            "a header's name of 3 MiB of zeroes for ever",
            "header-name",
            "(local.set $i (call $fields))
            (loop $again
                (call $append (local.get $i) (i32.const 8192) (i32.const 3145728) (i32.const 1280) (i32.const 4)
                    (i32.const 512))
                (br $again))",
            CallKind::TimedOut,
        ),
        by(
            "100,000 headers at once",
            "header-list",
            "(call $from_list (i32.const 1048576) (i32.const 100000) (i32.const 512))",
            CallKind::OutputTooLarge,
        ),
        by(
            "keeps every request it makes",
            "request-flood",
            "(loop $again (drop (call $request (call $fields))) (br $again))",
            CallKind::Trapped,
        ),
    ]
}

fn keys() -> Vec<Attack> {
    let by = |title, plugin, execute, settings, expected| {
        let interfaces = &["wasi:keyvalue/store@0.2.0-draft", "wasi:keyvalue/batch@0.2.0-draft"];
        let guest = Guest::new(execute).importing(interfaces, STORE).pages(50);
        let attack = Attack::call(title, plugin, &guest, expected);
        attack.asking(json!({ "keyValue": { "maxBytes": 1_048_576 } })).with_settings(settings)
    };
    // The handle of a bucket is where the result is, behind the word that all is well.
    vec![
        by(
            "keeps every bucket it opens",
            "bucket-flood",
            "(loop $again (call $open (i32.const 1280) (i32.const 4) (i32.const 512)) (br $again))",
            "[plugins.entries.bucket-flood.grants]\nkey-value = true\n",
            CallKind::Trapped,
        ),
        by(
            "asks for its store without a grant for ever",
            "bucket-denied",
            "(loop $again (call $open (i32.const 1280) (i32.const 4) (i32.const 512)) (br $again))",
            "",
            CallKind::TimedOut,
        ),
        by(
            "writes 200 KiB under new keys for ever",
            "key-flood",
            "(call $open (i32.const 1280) (i32.const 4) (i32.const 512))
            (loop $again
                (call $rewind)
                (call $set (i32.load (i32.const 516)) (i32.const 8192) (i32.const 4) (i32.const 8192)
                    (i32.const 204800) (i32.const 528))
                (i32.store8 (i32.const 8192)
                    (i32.and (i32.add (i32.load8_u (i32.const 8192)) (i32.const 1)) (i32.const 127)))
                (br $again))",
            "[plugins.entries.key-flood.grants]\nkey-value = true\n",
            CallKind::TimedOut,
        ),
        by(
            "asks for 100,000 keys at once for ever",
            "key-batch",
            "(call $open (i32.const 1280) (i32.const 4) (i32.const 512))
            (loop $again
                (call $rewind)
                (call $get_many (i32.load (i32.const 516)) (i32.const 1048576) (i32.const 100000) (i32.const 528))
                (br $again))",
            "[plugins.entries.key-batch.grants]\nkey-value = true\n",
            CallKind::TimedOut,
        ),
        by(
            "asks for a key of 3 MiB for ever",
            "key-long",
            "(call $open (i32.const 1280) (i32.const 4) (i32.const 512))
            (loop $again
                (call $rewind)
                (call $get (i32.load (i32.const 516)) (i32.const 8192) (i32.const 3145728) (i32.const 528))
                (br $again))",
            "[plugins.entries.key-long.grants]\nkey-value = true\n",
            CallKind::TimedOut,
        ),
    ]
}
