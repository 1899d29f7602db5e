//! The surface of a run, as later runs inherit it: names with their owners, never more than the run had.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use crate::config::PolicyEntry;
use crate::discover::Origin;
use crate::id::ToolName;
use crate::surface::Owner;

/// How many runs may start one another: deeper is a loop.
pub(crate) const MAX_LINEAGE: u32 = 32;

/// What a run had, captured to be the cap of a child or of a scheduled run. A tool counts only while its owner is the
/// same and comes from the same origin, so that nobody inherits a permission by taking over a name or an id.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Capture {
    tools: Vec<CapturedTool>,
    /// What of it the next run may have: only what every list names. No list: all of it.
    #[serde(default)]
    delegated: Vec<Vec<PolicyEntry>>,
    /// How many runs had started one another before the captured one.
    #[serde(default)]
    depth: u32,
}

/// One tool that the run had.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize, Serialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct CapturedTool {
    pub(crate) name: ToolName,
    pub(crate) owner: Owner,
    /// Where its plugin came from; none for a native tool.
    #[serde(default)]
    pub(crate) origin: Option<Origin>,
}

impl Capture {
    pub(crate) fn new(tools: Vec<CapturedTool>, depth: u32) -> Self {
        Self { tools, delegated: Vec::new(), depth }
    }

    /// The same, of which the next run may have only what these entries name: an empty list is nothing. What was not
    /// delegated before stays so.
    #[must_use]
    pub fn delegating(mut self, entries: Vec<PolicyEntry>) -> Self {
        self.delegated.push(entries);
        self
    }

    /// What both captures hold.
    pub(crate) fn and(mut self, other: Self) -> Self {
        let also: HashSet<&CapturedTool> = other.tools.iter().collect();
        self.tools.retain(|tool| also.contains(tool));
        self.delegated.extend(other.delegated);
        self.depth = self.depth.max(other.depth);
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

    pub(crate) fn delegated(&self) -> &[Vec<PolicyEntry>] {
        &self.delegated
    }

    pub(crate) fn patterns(&self) -> impl Iterator<Item = Pattern> {
        self.tools.iter().map(|tool| Pattern::Owned(tool.name.clone(), tool.owner.clone(), tool.origin))
    }
}
