//! Why a tool is not on a surface: every cause, with the rule, its place, and what would take it away.

use std::fmt;

use serde::Serialize;

use super::Owner;
use super::pool::Candidate;
use crate::diagnostic::{Diagnostic, Location};
use crate::id::ToolName;

macro_rules! stages {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal;)+) => {
        /// At which step of the assembly a tool was removed, in the order of the steps.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Stage { $($(#[doc = $doc])+ $variant,)+ }

        impl Stage {
            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

stages! {
    /// Its plugin is off, or cannot be used.
    Enablement = "enablement";
    /// None of the providers and settings that it needs is there.
    Availability = "availability";
    /// It is optional and nothing opts in.
    Optional = "optional";
    /// Another owner has the name.
    Conflict = "conflict";
    /// It exists on other channels only.
    Channel = "channel";
    /// The model cannot use it, or its provider brings its own.
    Model = "model";
    /// A layer of the policy does not permit it.
    Policy = "policy";
    /// It is made for each run, and was not made for this one.
    Factory = "factory";
    /// The client cannot do what it asks for.
    Client = "client";
    /// This turn does without it.
    Prompt = "prompt";
}

impl Stage {
    /// What would take away a rule that only shows after loading.
    pub(crate) fn cure(self) -> &'static str {
        match self {
            Self::Enablement => "mend the plugin; its finding says how",
            Self::Optional => {
                "name the tool, its plugin or a glob in an `allow` or `also-allow` of the operator's"
            }
            Self::Factory => {
                "give the run what the factory looks for, such as its channel or a provider's credential, or mend the plugin"
            }
            Self::Prompt => "widen what the turn allows",
            _ => "see the rule",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for Stage {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// One rule that removes a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Rule {
    /// The policy layer, or the stage where the rule is none of a layer's.
    pub layer: &'static str,
    /// The rule itself.
    pub rule: String,
    /// Where it is written, if it is in a file.
    pub location: Option<Location>,
}

/// One rule that removes a tool, with its step, its sentence and its cure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) stage: Stage,
    pub(crate) rule: Rule,
    pub(crate) reason: String,
    pub(crate) fix: String,
}

impl Cause {
    /// What a finding says removes a tool.
    pub(super) fn because(stage: Stage, finding: &Diagnostic) -> Self {
        let rule = Rule::of(stage, &finding.message, finding.location.clone());
        Self { stage, rule, reason: finding.message.clone(), fix: finding.hint.clone() }
    }
}

impl Rule {
    pub(super) fn of(stage: Stage, rule: &str, location: Option<Location>) -> Self {
        Self { layer: stage.as_str(), rule: rule.to_owned(), location }
    }
}

/// A tool that a run might have had, and every rule that took it away.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Removal {
    /// The tool.
    pub name: ToolName,
    /// Its plugin.
    pub plugin: Owner,
    /// The first stage that removed it.
    pub stage: Stage,
    /// Every rule of every stage that removes it: it is there again when all of them are gone, and not before.
    pub rules: Vec<Rule>,
    /// What the first rule says, in one sentence.
    pub reason: String,
}

impl Removal {
    /// The removal of a candidate; none without a cause.
    pub(super) fn by(candidate: &Candidate, causes: Vec<Cause>) -> Option<Self> {
        let (stage, reason) =
            causes.iter().min_by_key(|cause| cause.stage).map(|first| (first.stage, first.reason.clone()))?;
        let rules = causes.into_iter().map(|cause| cause.rule).collect();
        let (name, plugin) = (candidate.name.clone(), candidate.owner.clone());
        Some(Self { name, plugin, stage, rules, reason })
    }

    /// One more rule that removes the tool, after those that do already.
    pub(super) fn also(&mut self, rule: Rule) {
        self.rules.push(rule);
    }
}
