//! Tricks with the surface between a component and its host: interfaces that nobody provides, that nobody asked for, or that
//! look like others; contracts of another version or shape.

use airlock_core::Code;

use crate::attack::Attack;

/// The name of the interface that every plugin exports.
const GUEST: &str = "airlock:plugin/guest@0.1.0";

pub(crate) fn attacks() -> Vec<Attack> {
    let import = |title, plugin: &str, name: &str, code| {
        by(title, plugin, &format!("(import \"{name}\" (instance))"), code)
    };
    let unknown = |title, plugin, name| import(title, plugin, name, Code::ImportUnknown);
    let function = |title, plugin: &str, interface: &str, name: &str, signature: &str| {
        let text = format!(
            "(import \"{interface}\" (instance (export \"{name}\" (func {signature}))))
             (instance $guest) (export \"{GUEST}\" (instance $guest))"
        );
        by(title, plugin, &text, Code::ImportUnknown)
    };
    vec![
        unknown("imports an interface of its own", "import-own", "evil:host/shell@1.0.0"),
        unknown("imports WASI of another age", "import-age", "wasi:cli/stdout@0.3.0"),
        unknown("imports a draft of WASI", "import-draft", "wasi:cli/stdout@0.2.0-rc-2023-11-10"),
        unknown("imports WASI without a version", "import-bare", "wasi:cli/stdout"),
        unknown("imports a package that looks like WASI", "import-twin", "wasi:c1i/stdout@0.2.6"),
        unknown("imports a namespace that looks like WASI", "import-wasl", "wasl:cli/stdout@0.2.6"),
        unknown("imports what guests export", "import-guest", GUEST),
        unknown("imports the contract's next version", "import-next", "airlock:plugin/runtime@0.2.0"),
        unknown("imports another interface of the contract", "import-admin", "airlock:plugin/admin@0.1.0"),
        import(
            "imports HTTP without asking",
            "import-http",
            "wasi:http/outgoing-handler@0.2.6",
            Code::ImportUnrequested,
        ),
        import(
            "imports key-value without asking",
            "import-store",
            "wasi:keyvalue/store@0.2.0-draft",
            Code::ImportUnrequested,
        ),
        import(
            "a name in Cyrillic letters",
            "import-script",
            "w\u{0430}si:cli/stdout@0.2.6",
            Code::ComponentInvalid,
        ),
        function(
            "a function that WASI never had",
            "import-function",
            "wasi:cli/stdout@0.2.6",
            "get-shell",
            "",
        ),
        function("an interface that WASI never had", "import-interface", "wasi:cli/shell@0.2.6", "run", ""),
        function(
            "a function of another type",
            "import-type",
            "wasi:random/random@0.2.6",
            "get-random-bytes",
            "(param \"len\" string) (result string)",
        ),
        by(
            "a function in place of an interface",
            "import-kind",
            "(import \"wasi:cli/stdout@0.2.6\" (func))",
            Code::WorldMismatch,
        ),
        by("a function of no interface", "import-plain", "(import \"system\" (func))", Code::ImportUnknown),
        by(
            "a core module from the host",
            "import-module",
            "(import \"host-code\" (core module))",
            Code::ImportUnknown,
        ),
        by(
            "900 interfaces of its own",
            "import-many",
            &(0..900)
                .map(|number| format!("(import \"evil:host/i{number}@1.0.0\" (instance))"))
                .collect::<String>(),
            Code::ImportUnknown,
        ),
        by(
            "an interface with a name of 90,000 letters",
            "import-long",
            &format!("(import \"evil:host/{}@1.0.0\" (instance))", "a".repeat(90_000)),
            Code::ImportUnknown,
        ),
        by("exports nothing", "export-nothing", "", Code::WorldMismatch),
        by(
            "exports a contract without functions",
            "export-empty",
            &format!("(instance $guest) (export \"{GUEST}\" (instance $guest))"),
            Code::WorldMismatch,
        ),
        by(
            "exports a contract of the future",
            "export-future",
            "(instance $guest) (export \"airlock:plugin/guest@9.0.0\" (instance $guest))",
            Code::WorldMismatch,
        ),
        by(
            "exports a function in place of the contract",
            "export-function",
            "(core module $m (func (export \"f\"))) (core instance $i (instantiate $m))
             (func $f (canon lift (core func $i \"f\"))) (export \"airlock:plugin/guest@0.1.0\" (func $f))",
            Code::WorldMismatch,
        ),
    ]
}

fn by(title: &'static str, plugin: &str, text: &str, code: Code) -> Attack {
    // A name that is no name is refused by the text format too; its bytes go in where a name of the same length was.
    let plain: String = text.chars().map(|letter| if letter.is_ascii() { letter } else { 'q' }).collect();
    let doubled = text.chars().filter(|letter| !letter.is_ascii()).count();
    let plain = if doubled == 0 { plain } else { plain.replace('q', "qq") };
    let mut component =
        wat::parse_str(format!("(component {plain})")).unwrap_or_else(|error| panic!("{plugin}: {error}"));
    if doubled > 0 {
        let at = component.windows(2).position(|bytes| bytes == b"qq").expect("the place of the letter");
        let letter: String = text.chars().filter(|letter| !letter.is_ascii()).collect();
        component[at..at + letter.len()].copy_from_slice(letter.as_bytes());
    }
    Attack::refused(title, plugin, component, code)
}
