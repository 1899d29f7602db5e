//! What a skill needs to be of use: its metadata enters, gates leave. It asks nobody whether they are open.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::id::ToolName;

/// Gates of a skill, and how its command is run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requirements {
    /// Systems on which it works; empty for every one.
    pub os: Vec<String>,
    /// Programs that must all be there.
    pub bins: Vec<String>,
    /// Programs of which one must be there.
    pub any_bins: Vec<String>,
    /// Variables that must be set.
    pub env: Vec<String>,
    /// Keys of the configuration that must be true.
    pub config: Vec<String>,
    /// The tool that its command calls, in place of a turn of the model.
    pub command_tool: Option<ToolName>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct Own {
    os: OneOrMany,
    requires: OwnRequires,
    command_dispatch: Option<Dispatch>,
    command_tool: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct OwnRequires {
    bins: Vec<String>,
    any_bins: Vec<String>,
    env: Vec<String>,
    config: Vec<String>,
}

/// OpenClaw's keys, of which Airlock reads the gates; the others are about things that it does not do.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Foreign {
    os: OneOrMany,
    requires: ForeignRequires,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ForeignRequires {
    bins: Vec<String>,
    any_bins: Vec<String>,
    env: Vec<String>,
    config: Vec<String>,
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

impl Default for OneOrMany {
    fn default() -> Self {
        Self::Many(Vec::new())
    }
}

impl OneOrMany {
    fn into_list(self) -> Vec<String> {
        match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        }
    }
}

impl Requirements {
    /// Reads the gates of a skill's metadata: Airlock's own keys, and those of OpenClaw that mean the same.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn read(metadata: &BTreeMap<String, Value>) -> Result<Self, String> {
        let mut all = Self::default();
        if let Some(foreign) = section::<Foreign>(metadata, "openclaw")? {
            let ForeignRequires { bins, any_bins, env, config } = foreign.requires;
            all = Self { os: foreign.os.into_list(), bins, any_bins, env, config, command_tool: None };
        }
        if let Some(own) = section::<Own>(metadata, "airlock")? {
            let OwnRequires { bins, any_bins, env, config } = own.requires;
            all.os.extend(own.os.into_list());
            all.bins.extend(bins);
            all.any_bins.extend(any_bins);
            all.env.extend(env);
            all.config.extend(config);
            all.command_tool = match (own.command_dispatch, own.command_tool) {
                (Some(Dispatch::Tool), Some(name)) => {
                    let name = ToolName::canonicalise(&name);
                    Some(name.map_err(|problem| format!("`metadata.airlock.command-tool`: {problem}"))?)
                }
                (None, None) => None,
                (Some(Dispatch::Tool), None) => {
                    return Err(
                        "`metadata.airlock.command-dispatch` needs a `command-tool` beside it".to_owned()
                    );
                }
                (None, Some(_)) => {
                    return Err(
                        "`metadata.airlock.command-tool` needs `command-dispatch: tool` beside it".to_owned()
                    );
                }
            };
        }
        Ok(all)
    }
}

/// A section of the metadata: a mapping, or the same as a text of JSON, since the specification's values are texts.
fn section<T: for<'de> Deserialize<'de>>(
    metadata: &BTreeMap<String, Value>,
    name: &str,
) -> Result<Option<T>, String> {
    let Some(written) = metadata.get(name) else { return Ok(None) };
    let read = match written {
        Value::String(text) => super::yaml::parse(text).map_err(|error| error.message),
        mapping => T::deserialize(mapping).map_err(|error| error.to_string()),
    };
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
            any_bins: vec!["rg".to_owned(), "grep".to_owned()],
            env: vec!["HOME".to_owned()],
            config: Vec::new(),
            command_tool: Some(ToolName::parse("exec").unwrap()),
        };
        assert_eq!(both, Ok(expected));
        assert_eq!(read(&json!({})), Ok(Requirements::default()));
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
            json!({ "openclaw": { "requires": { "bins": 7 } } }),
        ] {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}
