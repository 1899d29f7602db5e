//! What a call came through, if it is not a direct one: for policies, handlers, the record and the rows.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::search::Control;
use crate::skills::SkillName;

/// As text, `tool_call` or `skill:NAME`.
#[derive(Debug, Clone)]
pub(super) enum Via {
    /// The host's own tool that it stood in.
    Control(Control),
    /// A person's command for a skill, without a turn of the model.
    Command(SkillName),
}

impl fmt::Display for Via {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Control(control) => formatter.write_str(control.as_str()),
            Self::Command(skill) => write!(formatter, "skill:{skill}"),
        }
    }
}

impl Serialize for Via {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
