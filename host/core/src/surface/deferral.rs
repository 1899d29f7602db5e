//! Which tools a model is not shown at once: what survived assembly enters, with the operator's thresholds; the names that
//! are withheld from the wire leave, and the host's three tools that find them. Nothing is taken away from a run here, and
//! nothing is added but those three.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::narrow::Rules;
use super::{Cause, ExposedTool, Rule, Stage, Surface};
use crate::config::ToolSearchConfig;
use crate::diagnostic::{Code, Diagnostic};
use crate::id::ToolName;
use crate::manifest::Deferral;
use crate::search::Control;

/// What a surface withholds.
#[derive(Debug, Clone, Default)]
pub(super) struct Withheld {
    names: BTreeSet<ToolName>,
    /// In order of their names; none if nothing is withheld.
    controls: Vec<Arc<ExposedTool>>,
}

impl Withheld {
    fn control(&self, name: &ToolName) -> Option<&Arc<ExposedTool>> {
        self.controls.iter().find(|control| control.tool.name == *name)
    }
}

/// What keeps a run's tools from being withheld: a `deny` of one of the three, or a provider that brings its own.
pub(super) fn refusal(rules: &Rules<'_>) -> Option<Cause> {
    Control::ALL.into_iter().find_map(|control| {
        let name = control.as_str();
        rules.policy.denial_of(name).or_else(|| {
            let mut native = rules.run.native_model_tools.iter();
            let place = native.position(|native| native.as_str() == name)?;
            let location = rules.run.location(&["native-model-tools", &place.to_string()]);
            Some(Cause {
                stage: Stage::Model,
                rule: Rule::of(Stage::Model, "native-model-tools", location),
                reason: format!("the model's provider brings its own `{name}`"),
                fix: "switch the provider's own tool off".to_owned(),
            })
        })
    })
}

/// What is withheld of these tools, and what is to be said about that. `refusal` is what [`refusal`] found for the run.
pub(super) fn settle(
    tools: &BTreeMap<ToolName, Arc<ExposedTool>>,
    written: &ToolSearchConfig,
    controls: &[Arc<ExposedTool>],
    refusal: Option<&Cause>,
) -> (Withheld, Option<Diagnostic>) {
    let names = withheld(tools, written);
    if names.is_empty() {
        return (Withheld::default(), None);
    }
    if let Some(refusal) = refusal {
        let message = format!("all {} tools are sent to the model: {}", tools.len(), refusal.reason);
        let finding = Diagnostic::new(Code::DeferralOff, Control::Search.as_str(), message, &refusal.fix);
        return (Withheld::default(), Some(finding.at(refusal.rule.location.clone())));
    }
    let mut controls = controls.to_vec();
    controls.sort_by(|one, other| one.tool.name.cmp(&other.tool.name));
    (Withheld { names, controls }, None)
}

/// The tools that wish to be withheld go first; all others that may be follow if what is left is still too much.
fn withheld(tools: &BTreeMap<ToolName, Arc<ExposedTool>>, written: &ToolSearchConfig) -> BTreeSet<ToolName> {
    let (most_tools, most_bytes) = (u64::from(written.threshold_tools), u64::from(written.threshold_bytes));
    let pinned: BTreeSet<&ToolName> = written.pinned.iter().collect();
    let mut names = BTreeSet::new();
    for step in [Deferral::Always, Deferral::Auto] {
        let (mut count, mut bytes) = (0_u64, 0_u64);
        for exposed in tools.values().filter(|exposed| !names.contains(&exposed.tool.name)) {
            count += 1;
            bytes = bytes.saturating_add(u64::try_from(exposed.tool.schema_bytes).unwrap_or(u64::MAX));
        }
        if count <= most_tools && bytes <= most_bytes {
            break;
        }
        let may_go = tools.values().filter(|exposed| exposed.defer == step);
        names.extend(may_go.map(|exposed| exposed.tool.name.clone()).filter(|name| !pinned.contains(name)));
    }
    names
}

impl Surface {
    /// The exposed tools that are withheld from the wire, in order of their names. A call of one by its name is accepted.
    pub fn deferred(&self) -> impl Iterator<Item = &ExposedTool> {
        self.tools().filter(|exposed| self.is_deferred(&exposed.tool.name))
    }

    /// Whether the tool is withheld from the wire, and found by `tool_search`.
    pub fn is_deferred(&self, name: &ToolName) -> bool {
        self.0.withheld.names.contains(name)
    }

    /// What a model is shown, in order of the names: exposed tools that are not withheld and, where some are, the host's own
    /// `tool_call`, `tool_describe` and `tool_search`.
    pub fn offered(&self) -> impl Iterator<Item = &ExposedTool> {
        let shown = self.tools().filter(|exposed| !self.is_deferred(&exposed.tool.name));
        let mut offered: Vec<&ExposedTool> = shown.chain(self.controls()).collect();
        offered.sort_by(|one, other| one.tool.name.cmp(&other.tool.name));
        offered.into_iter()
    }

    /// The host's own tools that find withheld ones; none where nothing is withheld.
    pub(crate) fn controls(&self) -> impl Iterator<Item = &ExposedTool> {
        self.0.withheld.controls.iter().map(Arc::as_ref)
    }

    pub(super) fn control(&self, name: &ToolName) -> Option<&Arc<ExposedTool>> {
        self.0.withheld.control(name)
    }

    /// The withheld tools that the configuration in force still allows.
    pub(crate) fn still_deferred(&self) -> Vec<&ExposedTool> {
        self.with_current(|is_current| self.deferred().filter(|exposed| is_current(exposed)).collect())
    }
}
