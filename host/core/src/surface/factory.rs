//! Factories: those that claim a surviving name are asked once an assembly, all at once, and each is on its own. What one
//! gives beyond its declared names is dropped; one that is slow, fails or answers nonsense loses its own tools only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;

use super::narrow::Rules;
use super::pool::{Candidate, Source};
use super::{Cause, Owner, Rule, Stage};
use crate::diagnostic::{Code, Diagnostic};
use crate::id::{PluginId, ToolName};
use crate::load::{Loaded, stopped};
use crate::plugin::{Bound, BoundDescriptor, Materialisation};
use crate::registry::{Exposure, RegisteredFactory};
use crate::run::RunContext;
use crate::text;
use crate::tool::Tool;

/// Longest binding in bytes: an address or a few settings, handed back with every call.
const MAX_BINDING_BYTES: usize = 4 * 1024;

/// How many findings one factory leaves: it may return a thousand wrong names.
const MAX_FINDINGS: usize = 16;

/// A tool that a factory made for this run.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) tool: Arc<Tool>,
    pub(super) bound: Bound,
}

/// What all factories gave.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) tools: BTreeMap<(Owner, ToolName), Made>,
    /// Why a factory that was asked gave nothing usable for these names.
    failures: BTreeMap<(Owner, ToolName), String>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Answers {
    /// Why a claimed name did not become a tool.
    pub(super) fn none(&self, candidate: &Candidate) -> Cause {
        let name = &candidate.name;
        let failure = self.failures.get(&(candidate.owner.clone(), name.clone()));
        let (rule, reason, fix) = match failure {
            Some(failure) => ("failed", failure.clone(), "mend the plugin's factory".to_owned()),
            None => (
                "not available in this run",
                format!("the factory of `{}` made no `{name}` for this run", candidate.owner),
                "give the run what the factory looks for, such as its channel or a provider's credential"
                    .to_owned(),
            ),
        };
        let rule = Rule::of(Stage::Factory, rule, None);
        Cause { stage: Stage::Factory, rule, reason, fix }
    }
}

/// Asks every factory that claims a surviving name.
pub(super) async fn ask(
    surviving: &[Arc<Candidate>],
    rules: &Rules<'_>,
    owners: &BTreeMap<PluginId, Arc<Loaded>>,
    run: &Arc<RunContext>,
) -> Answers {
    let mut claims: BTreeMap<(&PluginId, u32), (&Arc<Loaded>, &RegisteredFactory)> = BTreeMap::new();
    for candidate in surviving {
        let Source::Plugin(entry) = &candidate.source else { continue };
        let Some(loaded) = owners.get(&entry.manifest.id) else { continue };
        if let Some(factory) = loaded.factory(&candidate.name)
            && (factory.exposure == Exposure::Required || rules.policy.opts_in(candidate))
        {
            claims.insert((&entry.manifest.id, factory.factory), (loaded, factory));
        }
    }
    let asking = claims.into_iter().map(|((id, _), (loaded, factory))| async move {
        let request = Materialisation {
            factory: factory.factory,
            run: Arc::clone(run),
            limits: loaded.limits.for_factory(),
        };
        (id, factory, loaded.plugin.materialise(request).await)
    });
    let mut answers = Answers::default();
    for (id, factory, materialised) in join_all(asking).await {
        let failure = match materialised.end {
            Ok(Ok(made)) => {
                accept(id, factory, made, &mut answers);
                continue;
            }
            Ok(Err(message)) => {
                format!("failed: {}", text::single_line(&text::shorten(&message, 500)))
            }
            Err(stop) => stopped(&stop),
        };
        let names = factory.names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let message = format!("the factory of `{id}` for {} {failure}", text::shorten(&names, 200));
        let hint = "mend the plugin's factory; its other tools stay";
        answers.diagnostics.push(Diagnostic::new(Code::FactoryFailed, id, message.clone(), hint));
        for name in &factory.names {
            answers.failures.insert((Owner::Plugin(id.clone()), name.clone()), message.clone());
        }
    }
    answers
}

/// Takes of a factory's answer what it may give: each of its declared names at most once, and well-formed.
fn accept(id: &PluginId, factory: &RegisteredFactory, made: Vec<BoundDescriptor>, answers: &mut Answers) {
    let names: BTreeSet<&str> = factory.names.iter().map(ToolName::as_str).collect();
    let mut seen = BTreeSet::new();
    let mut findings = 0_usize;
    let mut refuse = |answers: &mut Answers, code: Code, subject: &str, message: String, hint: &str| {
        findings = findings.saturating_add(1);
        if findings <= MAX_FINDINGS {
            answers.diagnostics.push(Diagnostic::new(code, subject, message, hint));
        }
    };
    for BoundDescriptor { descriptor, binding } in made {
        let shown = text::single_line(&text::shorten(&descriptor.name, 80)).into_owned();
        let declared = names.get(descriptor.name.as_str()).and_then(|name| ToolName::parse(name).ok());
        let Some(name) = declared else {
            let message = format!("a factory of `{id}` made `{shown}`, which is none of its declared names");
            let hint = "return only names that the factory registered";
            refuse(answers, Code::ToolUndeclared, &shown, message, hint);
            continue;
        };
        let key = (Owner::Plugin(id.clone()), name.clone());
        if !seen.insert(name.clone()) {
            let message = format!("a factory of `{id}` made `{name}` twice for one run; neither counts");
            refuse(answers, Code::RegistrationDuplicate, &shown, message.clone(), "return each name once");
            answers.tools.remove(&key);
            answers.failures.insert(key, message);
            continue;
        }
        let accepted =
            check_binding(binding.as_deref()).and_then(|()| Tool::accept(name.clone(), &descriptor));
        match accepted {
            Ok(tool) => {
                if tool.was_escaped {
                    let message = format!(
                        "the texts of `{name}` as a factory of `{id}` made it hold invisible or direction-changing \
                         characters, shown escaped"
                    );
                    refuse(answers, Code::TextEscaped, &shown, message, "remove them from the plugin's code");
                }
                let bound = Bound { factory: factory.factory, binding };
                answers.tools.insert(key, Made { tool: Arc::new(tool), bound });
            }
            Err(cause) => {
                let message = format!("`{name}` as a factory of `{id}` made it is refused: {cause}");
                refuse(
                    answers,
                    Code::ToolInvalid,
                    &shown,
                    message.clone(),
                    "correct the tool in the plugin's code",
                );
                answers.failures.insert(key, message);
            }
        }
    }
}

fn check_binding(binding: Option<&str>) -> Result<(), String> {
    let Some(binding) = binding else { return Ok(()) };
    if binding.len() > MAX_BINDING_BYTES {
        return Err(format!("its binding has {} bytes, the limit is {MAX_BINDING_BYTES}", binding.len()));
    }
    serde_json::from_str::<serde::de::IgnoredAny>(binding)
        .map(drop)
        .map_err(|error| format!("its binding is not JSON: {error}"))
}
