//! Files, each with what it is about, and the reason where Airlock and the reference validator do not agree about it.

/// One `SKILL.md` in its folder.
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) folder: String,
    pub(super) file: &'static str,
    pub(super) bytes: Vec<u8>,
    /// Why both do not agree; `None` where they must.
    pub(super) difference: Option<&'static str>,
}

impl Case {
    fn new(name: &'static str, bytes: impl Into<Vec<u8>>) -> Self {
        let (folder, bytes) = ("tidy".to_owned(), bytes.into());
        Self { name, folder, file: "SKILL.md", bytes, difference: None }
    }

    /// A head between its fences, and a body.
    fn head(name: &'static str, head: &str) -> Self {
        Self::new(name, format!("---\n{head}\n---\n# Tidy\n"))
    }

    /// A head with more lines.
    fn plus(name: &'static str, lines: &str) -> Self {
        Self::head(name, &format!("name: tidy\ndescription: Cleans files\n{lines}"))
    }

    /// A head with that description.
    fn described(name: &'static str, description: &str) -> Self {
        Self::head(name, &format!("name: tidy\ndescription: {description}"))
    }

    /// A head with that name, in a folder of that name.
    fn named(name: &'static str, skill: &str) -> Self {
        let head = format!("name: {skill}\ndescription: Cleans files");
        Self { folder: skill.trim_matches(['"', '\'', ' ']).to_owned(), ..Self::head(name, &head) }
    }

    fn differs(self, reason: &'static str) -> Self {
        Self { difference: Some(reason), ..self }
    }
}

/// The head that nothing is wrong with.
const PLAIN: &str = "---\nname: tidy\ndescription: Cleans files\n---\n# Tidy\n";

const FLOW: &str = "the reference reads a subset of YAML without flow style; clients write such lists";
const ALIAS: &str = "the reference reads a subset of YAML without aliases and tags; here they have a budget";
const NOTHING: &str = "in YAML 1.2 this stands for no value; the reference takes every value for a text";
const CLIENTS: &str = "a key of clients that semantics knows; the reference knows the specification's only";
const TYPES: &str = "the specification says what the value is; the reference does not look at it";
const FENCE: &str =
    "a head stands between two lines of three hyphens; the reference looks for hyphens anywhere";
const BYTES: &str = "whoever reads a text must be able to trust that it is one, and of bounded size";

pub(super) fn all() -> Vec<Case> {
    let mut all = files();
    all.extend(names());
    all.extend(descriptions());
    all.extend(keys());
    all.extend(yaml());
    all
}

fn files() -> Vec<Case> {
    let utf16: Vec<u8> = PLAIN.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let long = format!("{PLAIN}{}", "x".repeat(300_000));
    vec![
        Case::new("plain", PLAIN),
        Case { file: "skill.md", ..Case::new("a lower-case file name", PLAIN) },
        Case { file: "Skill.md", ..Case::new("a mixed-case file name", PLAIN) },
        Case { file: "README.md", ..Case::new("another file name", PLAIN) },
        Case { folder: "other".to_owned(), ..Case::new("a folder of another name", PLAIN) }
            .differs("a warning: identity is the name in the head"),
        Case::new("empty", ""),
        Case::new("no head", "# Tidy\n"),
        Case::new("an empty head", "---\n---\n# Tidy\n"),
        Case::new("a head that is not closed", "---\nname: tidy\ndescription: Cleans files\n"),
        Case::new("no body", "---\nname: tidy\ndescription: Cleans files\n---"),
        Case::new("a line before the head", format!("\n{PLAIN}")),
        Case::new("blanks after the fence", PLAIN.replace("---\n", "--- \n")),
        Case::new("four hyphens", PLAIN.replace("---\n", "----\n")),
        Case::new("a fence with a comment", PLAIN.replacen("---\n", "--- # head\n", 1)).differs(FENCE),
        Case::new("a head on the fence's line", PLAIN.replacen("---\n", "---", 1)).differs(FENCE),
        Case::new("hyphens that close within a value", "---\nname: tidy\ndescription: Cleans --- files\n")
            .differs(FENCE),
        Case::described("hyphens within a value", "Cleans --- files"),
        Case::new("a fence in the body", format!("{PLAIN}\n---\nmore\n")),
        Case::new("a mark", format!("\u{feff}{PLAIN}")).differs("editors write a mark; it changes nothing"),
        Case::new("line ends of Windows", PLAIN.replace('\n', "\r\n")),
        Case::new("line ends of old", PLAIN.replace('\n', "\r")),
        Case::new("UTF-16", [b"\xff\xfe".as_slice(), &utf16].concat()),
        Case::new("UTF-16 without a mark", utf16),
        Case::new("a byte of no character in the body", [PLAIN.as_bytes(), b"caf\xe9\n"].concat()),
        Case::new(
            "a byte of no character in the head",
            b"---\nname: tidy\ndescription: caf\xe9\n---\n".as_slice(),
        ),
        Case::new("a zero byte in the body", format!("{PLAIN}\0")).differs(BYTES),
        Case::new("a zero byte in the head", PLAIN.replace("Cleans", "Cle\0ans")),
        Case::new("300,000 bytes", long).differs(BYTES),
    ]
}

fn names() -> Vec<Case> {
    vec![
        Case::named("a letter", "a"),
        Case::named("words", "pdf-tools-2"),
        Case::named("digits first", "2fa"),
        Case::named("quoted digits", "\"123\""),
        Case::named("digits only", "123"),
        Case::named("what YAML takes for true", "true"),
        Case::named("what YAML takes for nothing", "null").differs(NOTHING),
        Case::named("German", "übersicht"),
        Case::named("Chinese", "文档"),
        Case::named("Greek", "αρχεία"),
        Case::named("64 letters", &"a".repeat(64)),
        Case::named("65 letters", &"a".repeat(65)),
        Case::named("64 letters of two bytes", &"é".repeat(64)),
        Case::named("64 letters and their accents", &"e\u{301}".repeat(64)),
        Case::named("65 letters and their accents", &"e\u{301}".repeat(65)),
        Case::named("letters in one sign", "ﬁle"),
        Case::named("wide letters", "ｆｉｌｅ"),
        Case::named("a small number", "x²"),
        Case::named("a vowel that is a mark", "हिदी")
            .differs("signs of a script that stand for vowels are letters"),
        Case::named("upper-case", "Tidy"),
        Case::named("upper-case of another script", "Übersicht"),
        Case::named("an underscore", "tidy_up"),
        Case::named("a blank", "tidy up"),
        Case::named("a dot", "tidy.up"),
        Case::named("a hyphen first", "-tidy"),
        Case::named("a hyphen last", "tidy-"),
        Case::named("two hyphens", "tidy--up"),
        Case::named("a sign", "tidy😀"),
        Case::named("a sign that cannot be seen", "ti\u{200b}dy"),
        Case::named("a sign that turns", "ti\u{202e}dy"),
        Case::named("a letter that cannot be seen", "tidy\u{1160}")
            .differs("a name that reads like another one must not be another one"),
        Case::named("blanks around it", "\" tidy \""),
        Case::head("a name that is empty", "name: ''\ndescription: x"),
        Case::head("a name that is nothing", "name:\ndescription: x"),
        Case::head("a name that is blank", "name: '  '\ndescription: x"),
        Case::head("a name that is a list", "name:\n  - tidy\ndescription: x"),
        Case::head("no name", "description: x"),
        Case::head("a path", "name: ../tidy\ndescription: x"),
    ]
}

fn descriptions() -> Vec<Case> {
    let blanks = format!("\"{}{}\"", "a".repeat(1_020), " ".repeat(10));
    vec![
        Case::described("1,024 characters", &"a".repeat(1_024)),
        Case::described("1,025 characters", &"a".repeat(1_025)),
        Case::described("1,024 characters of two bytes", &"ä".repeat(1_024)),
        Case::described("100,000 characters", &"a".repeat(100_000)),
        Case::described("blanks that make it too long", &blanks),
        Case::described("empty", "''"),
        Case::described("nothing", ""),
        Case::described("blank", "'   '"),
        Case::described("a number", "7"),
        Case::described("a date", "2026-12-01"),
        Case::described("a truth", "true"),
        Case::described("nothing in letters", "null").differs(NOTHING),
        Case::described("a tilde", "~").differs(NOTHING),
        Case::described("a list", "\n  - a\n  - b"),
        Case::described("a mapping", "\n  a: b"),
        Case::described("a colon", "Cleans files: logs first, then cache"),
        Case::described("a colon in quotes", "\"Cleans files: logs first, then cache\""),
        Case::described("a comment", "Cleans # not this"),
        Case::described("a folded text", ">-\n  Cleans\n  files"),
        Case::described("a literal text", "|\n  Cleans\n  files"),
        Case::described("a text over two lines", "Cleans\n  files"),
        Case::described("an at sign", "@x"),
        Case::described("a star", "*x"),
        Case::described("a brace", "{x"),
        Case::described("an apostrophe that is not closed", "'Cleans"),
        Case::described("signs of another script", "整理文件"),
        Case::head("no description", "name: tidy"),
    ]
}

fn keys() -> Vec<Case> {
    let compatible = |chars: usize| format!("compatibility: {}", "a".repeat(chars));
    vec![
        Case::plus("a licence", "license: MIT"),
        Case::plus("a licence that is a number", "license: 7"),
        Case::plus("a licence that is nothing", "license:"),
        Case::plus("a licence that is a mapping", "license:\n  name: MIT").differs(TYPES),
        Case::plus("500 characters of compatibility", &compatible(500)),
        Case::plus("501 characters of compatibility", &compatible(501)),
        Case::plus("compatibility that is nothing", "compatibility:"),
        Case::plus("compatibility that is a number", "compatibility: 3.11"),
        Case::plus("compatibility that is a list", "compatibility:\n  - linux"),
        Case::plus("metadata", "metadata:\n  author: somebody\n  version: \"1.0\""),
        Case::plus("metadata with numbers", "metadata:\n  version: 1.0\n  stable: true"),
        Case::plus("metadata in metadata", "metadata:\n  a:\n    b: c"),
        Case::plus("metadata that is a text", "metadata: somebody").differs(TYPES),
        Case::plus("metadata that is a list", "metadata:\n  - a").differs(TYPES),
        Case::plus("metadata that is nothing", "metadata:"),
        Case::plus("gates", "metadata:\n  airlock:\n    os: linux"),
        Case::plus("a gate that is misspelt", "metadata:\n  airlock:\n    requres:\n      bins: git")
            .differs("a gate that nobody can read must not stand open"),
        Case::plus("tools", "allowed-tools: Bash(git:*) Read"),
        Case::plus("tools in a list", "allowed-tools:\n  - Read\n  - Grep"),
        Case::plus("tools that are nothing", "allowed-tools:"),
        Case::plus("tools that are an empty text", "allowed-tools: ''"),
        Case::plus("tools that are a truth", "allowed-tools: true").differs(TYPES),
        Case::plus("tools that are a mapping", "allowed-tools:\n  a: b").differs(TYPES),
        Case::plus("a key for commands", "user-invocable: false").differs(CLIENTS),
        Case::plus("a key for models", "disable-model-invocation: true").differs(CLIENTS),
        Case::plus("another key", "model: large"),
        Case::plus("a key with another case", "Name: tidy"),
        Case::plus("a key that is misspelt", "allowed_tools: Read"),
        Case::plus("a key that is a number", "7: x"),
        Case::plus("everything", "license: MIT\ncompatibility: any\nmetadata:\n  a: b\nallowed-tools: Read"),
    ]
}

fn yaml() -> Vec<Case> {
    vec![
        Case::plus("a list in flow style", "allowed-tools: [Read, Grep]").differs(FLOW),
        Case::plus("a mapping in flow style", "metadata: {a: b}").differs(FLOW),
        Case::plus("an anchor", "metadata:\n  a: &x b\n  c: *x").differs(ALIAS),
        Case::plus("a tag", "license: !!str MIT").differs(ALIAS),
        Case::plus("an alias of nothing", "license: *x"),
        Case::plus("a name twice", "name: tidy"),
        Case::plus("metadata twice in one", "metadata:\n  a: b\n  a: c"),
        Case::plus("a tab", "metadata:\n\ta: b"),
        Case::plus("a comment", "# nothing"),
        Case::plus("a line that is no key", "nothing"),
        Case::plus("a wrong indent", "  license: MIT"),
        Case::plus("another document", "...\nlicense: MIT"),
        Case::head("a list", "- name: tidy\n- description: x"),
        Case::head("a text", "tidy"),
        Case::head("a comment only", "# tidy"),
        Case::head("quoted keys", "\"name\": tidy\n'description': x"),
        Case::head("a blank line between", "name: tidy\n\ndescription: x"),
        Case::head("all in flow style", "{name: tidy, description: x}").differs(FLOW),
        Case::head("an indent", "  name: tidy\n  description: x"),
    ]
}
