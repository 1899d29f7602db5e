//! The surface of a run, as later runs inherit it: names with their owners, never more than the run had.

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use crate::config::PolicyEntry;
use crate::id::ToolName;
use crate::surface::Owner;

/// How many runs may start one another: deeper is a loop.
pub(crate) const MAX_LINEAGE: u32 = 32;

/// What a run had, captured to be the cap of a child or of a scheduled run. A tool counts only while its owner is the
/// same, so that nobody inherits a permission by taking over a name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Capture {
    tools: Vec<CapturedTool>,
    /// What of it the next run may have. Absent: all of it.
    #[serde(default)]
    delegated: Option<Vec<PolicyEntry>>,
    /// How many runs had started one another before the captured one.
    #[serde(default)]
    depth: u32,
}

/// One tool that the run had.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CapturedTool {
    pub(crate) name: ToolName,
    pub(crate) owner: Owner,
}

impl Capture {
    pub(crate) fn new(tools: Vec<CapturedTool>, depth: u32) -> Self {
        Self { tools, delegated: None, depth }
    }

    /// The same, of which the next run may have only what these entries name: an empty list is nothing.
    #[must_use]
    pub fn delegating(mut self, entries: Vec<PolicyEntry>) -> Self {
        self.delegated = Some(entries);
        self
    }

    /// How many tools it holds.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether it permits nothing.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    pub(crate) fn delegated(&self) -> Option<&[PolicyEntry]> {
        self.delegated.as_deref()
    }

    pub(crate) fn patterns(&self) -> impl Iterator<Item = Pattern> {
        self.tools.iter().map(|tool| Pattern::Owned(tool.name.clone(), tool.owner.clone()))
    }
}
