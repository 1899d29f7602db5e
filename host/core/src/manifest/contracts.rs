//! What a plugin owns: the tools and hooks that its code must register, exactly, and its channels and providers.

use std::fmt;

use serde::de::{Deserializer, Error as _, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, de};

use crate::hooks::HookName;
use crate::id::ToolName;

/// Declared ownership.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Contracts {
    /// Every tool the code registers or its factories may return.
    #[serde(deserialize_with = "distinct_tools")]
    #[schemars(with = "Vec<ToolName>")]
    pub tools: Vec<ToolName>,
    /// Every hook the code handles.
    pub hooks: Vec<HookContract>,
    /// Channels it implements.
    pub channels: Vec<String>,
    /// Providers it implements.
    pub providers: Vec<String>,
}

/// One declared hook, for all tools it may see or for some.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct HookContract {
    /// The checkpoint.
    pub hook: HookName,
    /// The tools that a tool hook is about; empty means every tool it may see.
    pub tools: Vec<ToolName>,
}

impl<'de> Deserialize<'de> for HookContract {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Limited {
            hook: HookName,
            #[serde(default, deserialize_with = "distinct_tools")]
            tools: Vec<ToolName>,
        }

        struct NameOrLimited;
        impl<'de> Visitor<'de> for NameOrLimited {
            type Value = HookContract;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a hook name, or an object with `hook` and `tools`")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<HookContract, E> {
                let hook = HookName::deserialize(de::value::StrDeserializer::new(name))?;
                Ok(HookContract { hook, tools: Vec::new() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HookContract, A::Error> {
                let limited = Limited::deserialize(MapAccessDeserializer::new(map))?;
                if !limited.tools.is_empty() && !limited.hook.is_about_a_tool() {
                    return Err(A::Error::custom(format_args!(
                        "`{}` is not about a tool, so `tools` says nothing",
                        limited.hook
                    )));
                }
                Ok(HookContract { hook: limited.hook, tools: limited.tools })
            }
        }
        deserializer.deserialize_any(NameOrLimited)
    }
}

/// A list of canonical tool names, each once.
fn distinct_tools<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ToolName>, D::Error> {
    struct Names;
    impl<'de> Visitor<'de> for Names {
        type Value = Vec<ToolName>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a list of canonical tool names")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<ToolName>, A::Error> {
            let mut names = Vec::new();
            let mut seen = std::collections::HashSet::new();
            while let Some(name) = list.next_element::<ToolName>()? {
                if !seen.insert(name.clone()) {
                    return Err(A::Error::custom(format_args!("`{name}` is listed twice")));
                }
                names.push(name);
            }
            Ok(names)
        }
    }
    deserializer.deserialize_seq(Names)
}
