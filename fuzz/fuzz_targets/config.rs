//! Arbitrary bytes enter as `airlock.toml`; a configuration or a readable error leaves. No file that it names is
//! opened, and no key of it has an effect.

#![no_main]

use std::path::Path;

use airlock_core::Config;
use airlock_fuzz::check_error;
use libfuzzer_sys::fuzz_target;

const PATH: &str = "airlock/airlock.toml";

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new(PATH);
    match (Config::from_toml(bytes, path), Config::from_toml(bytes, path)) {
        (Ok(config), Ok(again)) => {
            assert_eq!(config.file(), again.file());
            assert_eq!(config.plugin_roots().len(), config.file().plugins.roots.len());
        }
        (Err(error), Err(again)) => {
            check_error(&error, path);
            assert_eq!(error.to_string(), again.to_string());
        }
        (one, other) => assert_eq!(one.is_ok(), other.is_ok(), "the same bytes were read in two ways"),
    }
});
