//! What a skill needs to be of use: its metadata enters, gates leave. It asks nobody whether they are open.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::{Map, Value};

use crate::id::ToolName;
use crate::text;

/// Entries of one list: more than any skill needs.
const MAX_ENTRIES: usize = 32;

/// One entry, in characters: a path in the configuration with a long name in it.
const MAX_ENTRY_CHARS: usize = 200;

/// Gates of a skill, and how its command is run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Systems on which it works; empty for every one.
    pub os: Vec<String>,
    /// Programs that must all be there.
    pub bins: Vec<String>,
    /// Programs of which one must be there, of each list.
    pub any_bins: Vec<Vec<String>>,
    /// Variables that must be set.
    pub env: Vec<String>,
    /// Keys of the configuration that must be true.
    pub config: Vec<String>,
    /// The tool that its command calls, in place of a turn of the model.
    pub command_tool: Option<ToolName>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default, expecting = "a mapping of gates")]
struct Own {
    os: Option<OneOrMany>,
    #[serde(deserialize_with = "mapping")]
    requires: OwnRequires,
    command_dispatch: Option<Dispatch>,
    command_tool: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default, expecting = "a mapping of gates")]
struct OwnRequires {
    bins: Vec<String>,
    any_bins: Option<Vec<String>>,
    env: Vec<String>,
    config: Vec<String>,
}

/// OpenClaw's keys, of which Airlock reads the gates; the others are about things that it does not do.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a mapping of gates")]
struct Foreign {
    os: Option<OneOrMany>,
    #[serde(deserialize_with = "mapping")]
    requires: ForeignRequires,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, expecting = "a mapping of gates")]
struct ForeignRequires {
    bins: Vec<String>,
    any_bins: Vec<String>,
    env: Vec<String>,
    config: Vec<String>,
}

/// A mapping, and not a list in which the gates are by their places.
fn mapping<'de, D: Deserializer<'de>, T: Default + DeserializeOwned>(deserializer: D) -> Result<T, D::Error> {
    let members = Map::<String, Value>::deserialize(deserializer)?;
    T::deserialize(Value::Object(members)).map_err(D::Error::custom)
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Dispatch {
    Tool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "a text or a list of texts")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn is_empty_list(&self) -> bool {
        matches!(self, Self::Many(many) if many.is_empty())
    }

    fn into_list(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

impl Requirements {
    /// Reads the gates of a skill's metadata: Airlock's own keys, and those of OpenClaw that mean the same. Where both sections
    /// say something, both hold.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn read(metadata: &BTreeMap<String, Value>) -> Result<Self, String> {
        let mut all = Self::default();
        if let Some(foreign) = section::<Foreign>(metadata, "openclaw")? {
            let ForeignRequires { bins, any_bins, env, config } = foreign.requires;
            let any_bins = Some(any_bins);
            all.and(
                foreign.os.map_or_else(Vec::new, OneOrMany::into_list),
                OwnRequires { bins, any_bins, env, config },
            )?;
        }
        if let Some(own) = section::<Own>(metadata, "airlock")? {
            let empty = [
                ("os", own.os.as_ref().is_some_and(OneOrMany::is_empty_list)),
                ("any-bins", own.requires.any_bins.as_deref() == Some(&[])),
            ];
            if let Some((name, _)) = empty.into_iter().find(|(_, is_empty)| *is_empty) {
                return Err(format!(
                    "`{name}` is an empty list, which nothing can meet: leave it out, or fill it"
                ));
            }
            all.and(own.os.map_or_else(Vec::new, OneOrMany::into_list), own.requires)?;
            all.command_tool = command_tool(own.command_dispatch, own.command_tool)?;
        }
        Ok(all)
    }

    /// Where in a head the sections are wrong, by line and column from 1; `None` if the parser has nothing against them.
    pub(super) fn problem_place(head: &str) -> Option<(u32, u32)> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(rename = "metadata")]
            _metadata: Sections,
        }
        #[derive(Deserialize)]
        struct Sections {
            #[serde(rename = "airlock", default)]
            _airlock: Option<Own>,
            #[serde(rename = "openclaw", default)]
            _openclaw: Option<Foreign>,
        }
        let error = super::yaml::parse::<Head>(head).err()?;
        error.line.zip(error.column)
    }

    /// Adds what one more section wants.
    fn and(&mut self, os: Vec<String>, requires: OwnRequires) -> Result<(), String> {
        let OwnRequires { bins, any_bins, env, config } = requires;
        let any_bins = any_bins.unwrap_or_default();
        let lists =
            [("os", &os), ("bins", &bins), ("any-bins", &any_bins), ("env", &env), ("config", &config)];
        if let Some((name, list)) = lists.into_iter().find(|(_, list)| list.len() > MAX_ENTRIES) {
            return Err(format!("`{name}` has {} entries, the limit is {MAX_ENTRIES}", list.len()));
        }
        let is_long = |entry: &&String| entry.chars().count() > MAX_ENTRY_CHARS;
        if let Some(entry) = lists.into_iter().flat_map(|(_, list)| list).find(is_long) {
            let shown = text::shorten(entry, 40).into_owned();
            return Err(format!("`{shown}` has more than {MAX_ENTRY_CHARS} characters"));
        }
        let os: Vec<String> = os.into_iter().map(system).collect();
        if self.os.is_empty() {
            self.os = os;
        } else if !os.is_empty() {
            self.os.retain(|system| os.contains(system));
            if self.os.is_empty() {
                return Err(
                    "the two sections name no system together, so that the skill is for none".to_owned()
                );
            }
        }
        self.bins.extend(bins);
        self.any_bins.extend(Some(any_bins).filter(|any| !any.is_empty()));
        self.env.extend(env);
        self.config.extend(config);
        Ok(())
    }
}

/// A system by the name that Airlock has for it.
fn system(written: String) -> String {
    match written.as_str() {
        "darwin" => "macos".to_owned(),
        "win32" => "windows".to_owned(),
        _ => written,
    }
}

fn command_tool(dispatch: Option<Dispatch>, tool: Option<String>) -> Result<Option<ToolName>, String> {
    match (dispatch, tool) {
        (Some(Dispatch::Tool), Some(name)) => {
            let name = ToolName::canonicalise(&name);
            name.map(Some).map_err(|problem| format!("`metadata.airlock.command-tool`: {problem}"))
        }
        (None, None) => Ok(None),
        (Some(Dispatch::Tool), None) => {
            Err("`metadata.airlock.command-dispatch` needs a `command-tool` beside it".to_owned())
        }
        (None, Some(_)) => {
            Err("`metadata.airlock.command-tool` needs `command-dispatch: tool` beside it".to_owned())
        }
    }
}

/// A section of the metadata: a mapping, or the same as a text of JSON, since the specification's values are texts.
fn section<T: Default + DeserializeOwned>(
    metadata: &BTreeMap<String, Value>,
    name: &str,
) -> Result<Option<T>, String> {
    let Some(written) = metadata.get(name) else { return Ok(None) };
    let read = match written {
        Value::String(text) => super::yaml::parse(text).map_err(|error| error.message),
        written => Ok(written.clone()),
    };
    let read = read.and_then(|value: Value| mapping::<_, T>(value).map_err(|error| error.to_string()));
    read.map(Some).map_err(|problem| format!("`metadata.{name}`: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(metadata: &Value) -> Result<Requirements, String> {
        Requirements::read(&serde_json::from_value(metadata.clone()).unwrap())
    }

    #[test]
    fn gates_come_from_both_sections_and_add_up() {
        let both = read(&json!({
            "author": "somebody",
            "airlock": { "os": "linux", "requires": { "any-bins": ["rg", "grep"], "env": ["HOME"] },
                "command-dispatch": "tool", "command-tool": "Bash" },
            "openclaw": "{\"emoji\": \"x\", \"requires\": {\"bins\": [\"git\"], \"anyBins\": []}}",
        }));
        let expected = Requirements {
            os: vec!["linux".to_owned()],
            bins: vec!["git".to_owned()],
            any_bins: vec![vec!["rg".to_owned(), "grep".to_owned()]],
            env: vec!["HOME".to_owned()],
            config: Vec::new(),
            command_tool: Some(ToolName::parse("exec").unwrap()),
        };
        assert_eq!(both, Ok(expected));
        assert_eq!(read(&json!({})), Ok(Requirements::default()));
    }

    #[test]
    fn two_sections_together_have_no_fewer_gates() {
        let both = read(&json!({
            "openclaw": { "os": ["darwin", "linux"], "requires": { "anyBins": ["a", "b"] } },
            "airlock": { "os": ["macos", "windows"], "requires": { "any-bins": ["c"] } },
        }));
        let both = both.unwrap();
        assert_eq!(both.os, ["macos"]);
        assert_eq!(both.any_bins, [vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]]);
        let none = read(&json!({ "openclaw": { "os": "linux" }, "airlock": { "os": "macos" } }));
        assert!(none.unwrap_err().contains("for none"));
        let empty = read(&json!({ "openclaw": { "os": [], "requires": { "anyBins": [] } } }));
        assert_eq!(empty, Ok(Requirements::default()), "there it means nothing");
    }

    #[test]
    fn entries_of_a_gate_obeyed_and_violated() {
        for (entries, is_fine) in [(MAX_ENTRIES, true), (MAX_ENTRIES + 1, false)] {
            let bins = vec!["a"; entries];
            assert_eq!(read(&json!({ "airlock": { "requires": { "bins": bins } } })).is_ok(), is_fine);
        }
    }

    #[test]
    fn what_is_misspelt_in_our_own_section_is_no_gate_that_is_open() {
        for wrong in [
            json!({ "airlock": { "require": { "bins": ["git"] } } }),
            json!({ "airlock": { "requires": { "anyBins": ["git"] } } }),
            json!({ "airlock": { "requires": { "bins": "git" } } }),
            json!({ "airlock": { "command-dispatch": "tool" } }),
            json!({ "airlock": { "command-tool": "exec" } }),
            json!({ "airlock": { "command-dispatch": "shell", "command-tool": "exec" } }),
            json!({ "airlock": "not: [closed" }),
            json!({ "airlock": "" }),
            json!({ "airlock": "# os: [windows]" }),
            json!({ "airlock": null }),
            json!({ "airlock": [] }),
            json!({ "airlock": ["linux"] }),
            json!({ "airlock": 5 }),
            json!({ "airlock": { "requires": [["git"]] } }),
            json!({ "airlock": { "os": [] } }),
            json!({ "airlock": { "requires": { "any-bins": [] } } }),
            json!({ "airlock": { "requires": { "bins": ["a".repeat(201)] } } }),
            json!({ "openclaw": [] }),
            json!({ "openclaw": { "requires": [] } }),
            json!({ "openclaw": { "requires": { "bins": 7 } } }),
        ] {
            let said = read(&wrong).unwrap_err();
            assert!(!said.contains("struct") && !said.contains("Foreign"), "{said}");
        }
    }
}
