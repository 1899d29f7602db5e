//! What a component wants and offers, judged by name before anything of it runs.
//!
//! Interfaces are matched by name and compatible version, since toolchains differ in the patch version they import.

use airlock_core::{Code, Permissions, World};
use semver::Version;
use wasmtime::Engine;
use wasmtime::component::{Component, types::ComponentItem};

use crate::http;
use crate::key_value;

/// Standard packages that are always linked and powerless without a grant: standard libraries import them whether
/// they use them or not.
const INERT_PACKAGES: &[&str] =
    &["wasi:cli", "wasi:clocks", "wasi:random", "wasi:io", "wasi:filesystem", "wasi:sockets"];

/// The contract's own interfaces that a guest may import.
const CONTRACT_INTERFACES: &[&str] = &["types", "hook-types", "registry", "runtime"];

/// The interface that every plugin exports.
const GUEST_INTERFACE: &str = "guest";

/// Why a component is refused: the code, a sentence, and what to do.
pub(crate) type Refusal = (Code, String, String);

/// Accepts a component that speaks a known contract and imports nothing beyond its manifest.
pub(crate) fn audit(
    engine: &Engine,
    component: &Component,
    permissions: &Permissions,
) -> Result<(), Refusal> {
    let kind = component.component_type();
    for (name, _) in kind.imports(engine) {
        judge_import(name, permissions)?;
    }
    let guest_prefix = format!("{}/{GUEST_INTERFACE}@", World::PACKAGE);
    let exported = kind.exports(engine).find_map(|(name, export)| {
        matches!(export.ty, ComponentItem::ComponentInstance(_))
            .then(|| name.strip_prefix(&guest_prefix).map(str::to_owned))?
    });
    match exported {
        Some(version) if is_spoken(&version) => Ok(()),
        Some(version) => Err((
            Code::WorldMismatch,
            format!(
                "the component speaks `{}@{version}`, this host speaks `{}`",
                World::PACKAGE,
                World::CURRENT
            ),
            "build the plugin against a contract that this host speaks, or update the host".to_owned(),
        )),
        None => Err((
            Code::WorldMismatch,
            format!("the component does not export `{}/{GUEST_INTERFACE}`", World::PACKAGE),
            format!("build it for the world `plugin` of `{}`", World::CURRENT),
        )),
    }
}

fn judge_import(name: &str, permissions: &Permissions) -> Result<(), Refusal> {
    let shown = airlock_core::text::single_line(&airlock_core::text::shorten(name, 120)).into_owned();
    let (path, version) = name.rsplit_once('@').map_or((name, None), |(path, version)| (path, Some(version)));
    let (package, interface) = path.split_once('/').unwrap_or((path, ""));
    let is_inert = INERT_PACKAGES.contains(&package) && version.is_some_and(is_wasi_0_2);
    let is_contract = package == World::PACKAGE
        && CONTRACT_INTERFACES.contains(&interface)
        && version.is_some_and(is_spoken);
    if is_inert || is_contract {
        return Ok(());
    }
    let asked = match package {
        "wasi:http" => Some(("permissions.network", !permissions.network.is_empty())),
        "wasi:keyvalue" => Some(("permissions.keyValue", permissions.key_value.is_some())),
        _ => None,
    };
    // A draft is compatible with nothing but itself.
    let is_key_value = package == "wasi:keyvalue"
        && version == Some(key_value::VERSION)
        && key_value::INTERFACES.contains(&interface);
    let is_http =
        package == "wasi:http" && http::INTERFACES.contains(&interface) && version.is_some_and(is_wasi_0_2);
    match asked {
        Some((_, true)) if is_key_value || is_http => Ok(()),
        Some((field, false)) => Err((
            Code::ImportUnrequested,
            format!("the component imports `{shown}`, which its manifest does not ask for"),
            format!("ask for it in `{field}`, or build the plugin without it"),
        )),
        _ => Err((
            Code::ImportUnknown,
            format!("the component imports `{shown}`, which this host does not provide"),
            "build the plugin without that interface".to_owned(),
        )),
    }
}

fn is_spoken(version: &str) -> bool {
    World::parse(&format!("{}@{version}", World::PACKAGE)).is_ok_and(|world| world.is_spoken())
}

fn is_wasi_0_2(version: &str) -> bool {
    version
        .parse::<Version>()
        .is_ok_and(|version| (version.major, version.minor) == (0, 2) && version.pre.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn judged(name: &str) -> Option<Code> {
        judge_import(name, &Permissions::default()).err().map(|(code, _, _)| code)
    }

    #[test]
    fn imports_are_judged_by_interface_and_compatible_version() {
        for fine in [
            "wasi:cli/stdout@0.2.6",
            "wasi:io/poll@0.2.12",
            "airlock:plugin/runtime@0.1.0",
            "wasi:sockets/tcp@0.2.9",
        ] {
            assert_eq!(judged(fine), None, "{fine}");
        }
        for unknown in [
            "evil:host/api@1.0.0",
            "wasi:cli/stdout",
            "wasi:cli/stdout@0.3.0",
            "wasi:cli/stdout@0.2.0-rc-2023",
            "wasi:clix/stdout@0.2.6",
            "airlock:plugin/guest@0.1.0",
            "airlock:plugin/runtime@0.2.0",
            "airlock:plugin/runtime",
            "env",
            "",
            "wasi:nn/tensor@0.2.0",
        ] {
            assert_eq!(judged(unknown), Some(Code::ImportUnknown), "{unknown}");
        }
        let asking: Permissions = serde_json::from_str(r#"{"network": [{"host": "a.b"}]}"#).unwrap();
        for (name, is_fine) in [
            ("wasi:http/types@0.2.6", true),
            ("wasi:http/outgoing-handler@0.2.12", true),
            ("wasi:http/outgoing-handler@0.3.0", false),
            ("wasi:http/incoming-handler@0.2.6", false),
        ] {
            assert_eq!(judge_import(name, &asking).is_ok(), is_fine, "{name}");
        }
        assert_eq!(judged("wasi:http/types@0.2.6"), Some(Code::ImportUnrequested));
        assert_eq!(judged("wasi:keyvalue/store@0.2.0-draft"), Some(Code::ImportUnrequested));
    }
}
