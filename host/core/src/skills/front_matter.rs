//! The head of a `SKILL.md`: the file's bytes enter; what the skill says of itself and the text after it leave, or what is wrong
//! with line and column. A file that cannot be read whole is no skill, so that none ever has fewer restrictions than it states.
//!
//! The format is the public Agent Skills specification, with two keys of its clients; rules: ARCHITECTURE.md, "Skills".

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

use super::allowed_tools::AllowedTools;
use super::name::SkillName;
use super::requirements::Requirements;
use super::yaml::{self, YamlError};

/// Longest description, in characters; the specification's.
const MAX_DESCRIPTION_CHARS: usize = 1_024;

/// Longest note on compatibility, in characters; the specification's.
const MAX_COMPATIBILITY_CHARS: usize = 500;

/// Longest head, in bytes: all that the specification knows at its longest, and as much again of metadata.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// What a skill says of itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FrontMatter {
    pub(super) name: SkillName,
    pub(super) description: String,
    pub(super) license: Option<String>,
    pub(super) compatibility: Option<String>,
    pub(super) metadata: BTreeMap<String, Value>,
    /// Present: a run in which the skill is active has no other tools.
    pub(super) allowed_tools: Option<AllowedTools>,
    pub(super) is_user_invocable: bool,
    pub(super) is_hidden_from_model: bool,
    pub(super) requirements: Requirements,
}

/// Why a file is no skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flaw {
    pub(super) message: String,
    pub(super) line: Option<u32>,
    pub(super) column: Option<u32>,
}

impl Flaw {
    fn new(message: impl Into<String>, (line, column): (u32, u32)) -> Self {
        Self { message: message.into(), line: Some(line), column: Some(column) }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Written {
    #[serde(deserialize_with = "name")]
    name: SkillName,
    #[serde(deserialize_with = "description")]
    description: String,
    #[serde(default)]
    license: Option<String>,
    #[serde(default, deserialize_with = "compatibility")]
    compatibility: Option<String>,
    #[serde(default)]
    metadata: Option<BTreeMap<String, Value>>,
    #[serde(default, deserialize_with = "stated")]
    allowed_tools: Option<AllowedTools>,
    #[serde(default = "yes")]
    user_invocable: bool,
    #[serde(default)]
    disable_model_invocation: bool,
}

fn yes() -> bool {
    true
}

/// Reads a file. The text after the head is the second part.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(bytes: &[u8]) -> Result<(FrontMatter, String), Flaw> {
    let text = text(bytes)?;
    let (head, body) = split(&text)?;
    if head.len() > MAX_HEAD_BYTES {
        let message = format!("the head has {} bytes, the limit is {MAX_HEAD_BYTES}", head.len());
        return Err(Flaw::new(message, (1, 1)));
    }
    let written: Written = yaml::parse(head).map_err(|YamlError { message, line, column }| {
        let needs_quotes = message.starts_with("mapping values are not allowed");
        let quotes = if needs_quotes { "; a text with `: ` in it stands in quotes" } else { "" };
        let message = format!("{message}{quotes}");
        Flaw { message, line: Some(line.map_or(2, in_the_file)), column: column.or(Some(1)) }
    })?;
    let metadata = written.metadata.unwrap_or_default();
    let requirements =
        Requirements::read(&metadata).map_err(|message| Flaw::new(message, place_of_gates(head)))?;
    let front = FrontMatter {
        name: written.name,
        description: written.description,
        license: written.license,
        compatibility: written.compatibility,
        metadata,
        allowed_tools: written.allowed_tools,
        is_user_invocable: written.user_invocable,
        is_hidden_from_model: written.disable_model_invocation,
        requirements,
    };
    Ok((front, body.to_owned()))
}

/// A line of the head as one of the file: the head begins on the second.
fn in_the_file(line: u32) -> u32 {
    line.saturating_add(1)
}

/// Where the gates are wrong, if the parser can say; else where they begin.
fn place_of_gates(head: &str) -> (u32, u32) {
    let (line, column) = Requirements::problem_place(head).unwrap_or_else(|| {
        let line = head.lines().position(|line| line.trim_start_matches(['"', '\'']).starts_with("metadata"));
        (u32::try_from(line.unwrap_or_default()).unwrap_or_default().saturating_add(1), 1)
    });
    (in_the_file(line), column)
}

/// The file as text, without a byte order mark and with plain line ends.
fn text(bytes: &[u8]) -> Result<String, Flaw> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    // With a mark, or a first hyphen in two bytes.
    if bytes.starts_with(b"\xff\xfe\0\0") || bytes.starts_with(b"\0\0\xfe\xff") {
        return Err(Flaw::new("the file is UTF-32; save it as UTF-8", (1, 1)));
    }
    if [b"\xff\xfe", b"\xfe\xff", b"-\0", b"\0-"].iter().any(|start| bytes.starts_with(*start)) {
        return Err(Flaw::new("the file is UTF-16; save it as UTF-8", (1, 1)));
    }
    let place = |at: usize| {
        let before = bytes.get(..at).unwrap_or_default();
        // The second of two line ends that are one is not counted.
        let is_end =
            |(at, byte): (usize, &u8)| *byte == b'\n' || *byte == b'\r' && before.get(at + 1) != Some(&b'\n');
        let lines = before.iter().enumerate().filter(|end| is_end(*end)).count();
        let last = before.rsplit(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
        let columns = String::from_utf8_lossy(last).chars().count();
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).saturating_add(1);
        (number(lines), number(columns))
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Flaw::new(format!("the file is not UTF-8: byte {at} belongs to no character"), place(at))
    })?;
    if let Some(at) = text.find('\0') {
        return Err(Flaw::new(format!("the file has a zero byte at {at}, and is no text"), place(at)));
    }
    Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
}

/// The head between its two lines of three hyphens, and what follows.
fn split(text: &str) -> Result<(&str, &str), Flaw> {
    let is_fence = |line: &str| line.trim_end_matches([' ', '\t']) == "---";
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    if !is_fence(first) {
        let message = "the file does not begin with `---`: a skill has a head of YAML between two lines of three hyphens";
        return Err(Flaw::new(message, (1, 1)));
    }
    let mut start = 0;
    for line in rest.split_inclusive('\n') {
        let end = start + line.len();
        if is_fence(line.trim_end_matches('\n')) {
            return Ok((rest.get(..start).unwrap_or_default(), rest.get(end..).unwrap_or_default()));
        }
        start = end;
    }
    Err(Flaw::new("the head is not closed: a line of three hyphens ends it", (1, 1)))
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SkillName, D::Error> {
    // A key with nothing behind it says as much as an empty text.
    let written = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    SkillName::parse(&written).map_err(D::Error::custom)
}

/// A key that stands there is a ceiling, also if nothing stands behind it.
fn stated<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AllowedTools>, D::Error> {
    AllowedTools::deserialize(deserializer).map(Some)
}

fn description<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let written = Option::<String>::deserialize(deserializer)?.unwrap_or_default();
    let chars = written.chars().count();
    if chars > MAX_DESCRIPTION_CHARS {
        return Err(D::Error::custom(format!(
            "`description` has {chars} characters, the limit is {MAX_DESCRIPTION_CHARS}"
        )));
    }
    match written.trim() {
        "" => Err(D::Error::custom("`description` is empty; say what the skill is for")),
        description => Ok(description.to_owned()),
    }
}

fn compatibility<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let written = Option::<String>::deserialize(deserializer)?;
    match written.as_ref().map_or(0, |text| text.chars().count()) {
        chars if chars > MAX_COMPATIBILITY_CHARS => Err(D::Error::custom(format!(
            "`compatibility` has {chars} characters, the limit is {MAX_COMPATIBILITY_CHARS}"
        ))),
        _ => Ok(written),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str =
        "---\nname: tidy\ndescription: Cleans files\nallowed-tools: Read Grep\n---\n# Tidy\n\n---\nrest\n";

    #[track_caller]
    fn flaw(text: &str) -> Flaw {
        read(text.as_bytes()).unwrap_err()
    }

    #[test]
    fn a_mark_and_line_ends_change_nothing() {
        let plain = read(PLAIN.as_bytes()).unwrap();
        assert_eq!(plain.1, "# Tidy\n\n---\nrest\n");
        assert_eq!((plain.0.name.as_str(), plain.0.description.as_str()), ("tidy", "Cleans files"));
        let marked = |text: &str| [b"\xef\xbb\xbf".as_slice(), text.as_bytes()].concat();
        let mixed = PLAIN.replacen('\n', "\r\n", 3).replacen("\n\n", "\r\r", 1);
        for bytes in [
            marked(PLAIN),
            PLAIN.replace('\n', "\r\n").into_bytes(),
            PLAIN.replace('\n', "\r").into_bytes(),
            mixed.into_bytes(),
            marked(&PLAIN.replace('\n', "\r\n")),
            PLAIN.replace("---\nname", "---  \nname").into_bytes(),
        ] {
            assert_eq!(read(&bytes).unwrap(), plain, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_text_says_so() {
        let utf16: Vec<u8> = PLAIN.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(read(&[b"\xff\xfe".as_slice(), &utf16].concat()).unwrap_err().message.contains("UTF-16"));
        assert!(read(&utf16).unwrap_err().message.contains("UTF-16"));
        let broken = [PLAIN.as_bytes(), b"caf\xe9\n"].concat();
        let flaw = read(&broken).unwrap_err();
        assert!(flaw.message.contains("not UTF-8"), "{flaw:?}");
        assert_eq!((flaw.line, flaw.column), (Some(10), Some(4)));
        assert!(read(&[PLAIN.as_bytes(), b"\0"].concat()).unwrap_err().message.contains("zero byte"));
        let old = PLAIN.replace('\n', "\r").replace("rest", "re\0st");
        assert_eq!(
            (read(old.as_bytes()).unwrap_err().line, read(old.as_bytes()).unwrap_err().column),
            (Some(9), Some(3))
        );
        assert!(read(b"\xff\xfe\0\0-\0\0\0").unwrap_err().message.contains("UTF-32"));
        assert!(read(b"\xef\xbb\xbf\xef\xbb\xbf---\n").unwrap_err().message.contains("does not begin"));
    }

    #[test]
    fn a_broken_head_is_an_error_with_its_place_and_never_a_weaker_skill() {
        for (head, place) in [
            ("name: tidy\ndescription: Cleans files: logs first, then cache\nallowed-tools: [Read]", (3, 26)),
            ("name: tidy\ndescription: @x", (3, 14)),
            ("name: tidy\ndescription: *x", (3, 14)),
            ("name: tidy\ndescription: {x", (3, 14)),
            ("name: tidy\n\tdescription: x", (2, 7)),
            ("name: tidy\nname: tidy\ndescription: x", (3, 1)),
            ("name: tidy\ndescription: x\nallowed-tools: true", (4, 16)),
            ("name: tidy\ndescription: x\nallowd-tools: Read", (4, 1)),
            ("name: Tidy\ndescription: x", (2, 7)),
            ("name: tidy\ndescription: ''", (3, 14)),
            ("name: tidy\ndescription: x\n<<: {allowed-tools: a}\nallowed-tools: b", (4, 1)),
            ("name: tidy\ndescription: x\nmetadata:\n  airlock:\n    oss: linux", (6, 5)),
            ("name: tidy\ndescription: x\nmetadata:\n  airlock: 'oss: linux'", (5, 12)),
        ] {
            let flaw = flaw(&format!("---\n{head}\n---\nbody"));
            assert_eq!((flaw.line.unwrap(), flaw.column.unwrap()), place, "{head}: {flaw:?}");
        }
        assert_eq!(flaw("name: x").line, Some(1));
        for (blanks, is_fine) in [(MAX_HEAD_BYTES, true), (MAX_HEAD_BYTES + 1, false)] {
            let head = "name: tidy\ndescription: x\n";
            let text = format!("---\n{head}{}---\n", "\n".repeat(blanks - head.len()));
            assert_eq!(read(text.as_bytes()).is_ok(), is_fine, "{blanks}");
        }
        assert!(flaw("---\nname: tidy\ndescription: x\n").message.contains("not closed"));
        assert!(flaw("---\nname: tidy\n---\n").message.contains("description"));
        for (chars, is_fine) in [(1_024, true), (1_025, false), (100_000, false)] {
            let text = format!("---\nname: tidy\ndescription: {}\n---\n", "ä".repeat(chars));
            assert_eq!(read(text.as_bytes()).is_ok(), is_fine, "{chars}");
        }
    }

    #[test]
    fn a_key_without_a_value_is_no_open_gate() {
        let written = |lines: &str| format!("---\nname: tidy\ndescription: x\n{lines}\n---\n");
        for none in ["allowed-tools:", "allowed-tools: ~", "allowed-tools: ''", "allowed-tools: []"] {
            let allowed = read(written(none).as_bytes()).unwrap().0.allowed_tools;
            assert!(allowed.is_some_and(|allowed| allowed.names().is_empty()), "{none}");
        }
        assert!(read(written("metadata:\nlicense:\ncompatibility:").as_bytes()).is_ok());
        assert!(flaw("---\nname:\ndescription: x\n---\n").message.contains("no name of a skill"));
        assert!(flaw("---\nname: tidy\ndescription: ~\n---\n").message.contains("is empty"));
    }

    #[test]
    fn a_comment_cuts_a_value_as_yaml_says() {
        let text = "---\nname: tidy\ndescription: Cleans # not this\n---\n";
        assert_eq!(read(text.as_bytes()).unwrap().0.description, "Cleans");
    }
}
