//! Where skills lie: a folder and what being there means enter a scan. Ordered weakest first, since a skill of a stronger source
//! takes the name of a weaker one's.

use std::fmt;
use std::path::PathBuf;

use serde::{Serialize, Serializer};

use super::node::NodeName;
use crate::id::PluginId;

/// Where a skill comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkillSource {
    /// A node has it, while it is connected.
    Node(NodeName),
    /// A folder that the operator added to `[skills] extra-dirs`.
    Extra,
    /// A plugin carries it.
    Plugin(PluginId),
    /// The host was shipped with it.
    Bundled,
    /// The host's user installed it.
    Managed,
    /// The user's own, for all agents.
    Personal,
    /// `.agents/skills` of the run's workspace.
    WorkspaceAgents,
    /// `skills` of the run's workspace.
    Workspace,
}

impl fmt::Display for SkillSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(name) => write!(formatter, "node:{name}"),
            Self::Extra => formatter.write_str("extra"),
            Self::Plugin(id) => write!(formatter, "plugin:{id}"),
            Self::Bundled => formatter.write_str("bundled"),
            Self::Managed => formatter.write_str("managed"),
            Self::Personal => formatter.write_str("personal"),
            Self::WorkspaceAgents | Self::Workspace => formatter.write_str("workspace"),
        }
    }
}

impl Serialize for SkillSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Where a walk begins, and what it must not lead out of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) root: SkillRoot,
    /// The folder of somebody else that it belongs to: a run's workspace, or a plugin's package. Without one, the root itself.
    pub(crate) within: Option<PathBuf>,
}

/// A folder below which skills lie, or that is itself one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SkillRoot {
    /// What being there means.
    pub source: SkillSource,
    /// The folder. One that does not exist has no skills.
    pub path: PathBuf,
}
