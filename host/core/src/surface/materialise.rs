//! Surviving names become tools, now that their owners are loaded: native tools are bound to the run, static tools are
//! taken from registrations, factories are asked for theirs. What any of them gives is a candidate and no more.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::factory::{self, Made};
use super::narrow::Rules;
use super::pool::{Candidate, Source};
use super::{Cause, ExposedTool, Implementation, Removal, Rule, Stage};
use crate::config::PluginEntry;
use crate::diagnostic::{Code, Diagnostic};
use crate::hooks::{self, Handlers};
use crate::host::NativeRegistration;
use crate::id::{PluginId, ToolName};
use crate::limits::Limits;
use crate::load::Loaded;
use crate::native::{Binding, NativeTool, panic_text};
use crate::registry::Exposure;
use crate::run::RunContext;
use crate::tool::{Tool, ToolDescriptor};

/// What came of the surviving names.
#[derive(Debug, Default)]
pub(super) struct Materialised {
    pub(super) exposed: Vec<ExposedTool>,
    pub(super) removed: Vec<Removal>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Turns surviving candidates into exposed tools, each with the removal it meets on the way, if any.
pub(super) async fn materialise(
    surviving: &[Arc<Candidate>],
    rules: &Rules<'_>,
    seen: &Arc<RunContext>,
    owners: &BTreeMap<PluginId, Arc<Loaded>>,
    failures: &BTreeMap<PluginId, Diagnostic>,
) -> Materialised {
    let mut result = Materialised::default();
    let mut own: BTreeMap<&PluginId, Arc<Handlers>> = BTreeMap::new();
    let mut made = factory::ask(surviving, rules, owners, seen).await;
    result.diagnostics.append(&mut made.diagnostics);
    for candidate in surviving {
        let judged = match &candidate.source {
            Source::Native(native) => bind(native, candidate, seen, &mut result.diagnostics),
            Source::Plugin(entry) => {
                if let Some(failure) = failures.get(&entry.manifest.id) {
                    Err(Box::new(Cause::because(Stage::Enablement, failure)))
                } else {
                    let Some(loaded) = owners.get(&entry.manifest.id) else { continue };
                    let own = own.entry(&entry.manifest.id).or_insert_with(|| {
                        Arc::new(Handlers::new(hooks::own(entry, loaded, &rules.snapshot.config)))
                    });
                    match from_plugin(candidate, loaded, own, rules, &mut made) {
                        Some(judged) => judged,
                        // A declared name that nothing registered is not a tool: its diagnostic says so.
                        None => continue,
                    }
                }
            }
        };
        match judged {
            Ok(exposed) => result.exposed.push(exposed),
            Err(cause) => result.removed.extend(Removal::by(candidate, vec![*cause])),
        }
    }
    result
}

/// A plugin's tool, static or made for this run; its registration may still make it optional.
fn from_plugin(
    candidate: &Candidate,
    loaded: &Arc<Loaded>,
    own_handlers: &Arc<Handlers>,
    rules: &Rules<'_>,
    made: &mut factory::Answers,
) -> Option<Result<ExposedTool, Box<Cause>>> {
    let (tool, exposure, bound) = if let Some(registered) = loaded.tool(&candidate.name) {
        (Arc::clone(&registered.tool), registered.exposure, None)
    } else {
        let factory = loaded.factory(&candidate.name)?;
        match made.tools.remove(&(candidate.owner.clone(), candidate.name.clone())) {
            Some(Made { tool, bound }) => (tool, factory.exposure, Some(bound)),
            None => return Some(Err(Box::new(made.none(candidate)))),
        }
    };
    if exposure == Exposure::Optional
        && let Some(cause) = rules.opted_in(candidate, "registration")
    {
        return Some(Err(Box::new(cause)));
    }
    let Source::Plugin(entry) = &candidate.source else { return None };
    let written = rules.snapshot.config.entry(&entry.manifest.id, entry.origin);
    Some(Ok(ExposedTool {
        tool,
        owner: candidate.owner.clone(),
        origin: Some(entry.origin),
        optional: candidate.metadata.optional || exposure == Exposure::Optional,
        fingerprint: Some(entry.fingerprint),
        side_effecting: candidate.metadata.side_effecting
            || rules.snapshot.capabilities(&entry.manifest.id).is_some_and(|all| all.may_have_effects()),
        concurrency: candidate.metadata.concurrency.clone(),
        defer: candidate.metadata.defer,
        own_handlers: Arc::clone(own_handlers),
        implementation: Implementation::Guest {
            id: entry.manifest.id.clone(),
            plugin: Arc::clone(&loaded.plugin),
            digest: loaded.digest,
            limits: limits_of(&candidate.name, loaded, written),
            bound,
        },
    }))
}

/// The limits of one tool's calls: the plugin's, lowered by what the operator says of the tool.
fn limits_of(tool: &ToolName, loaded: &Loaded, written: Option<&PluginEntry>) -> Limits {
    let lower = written.and_then(|written| written.tool_limits.get(tool));
    lower.map_or(loaded.limits, |lower| loaded.limits.lowered_by(&lower.ceiling()))
}

/// A native tool as this run gets it.
fn bind(
    native: &NativeRegistration,
    candidate: &Candidate,
    run: &RunContext,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<ExposedTool, Box<Cause>> {
    let name = &candidate.name;
    let missing = |reason: String| {
        Box::new(Cause {
            stage: Stage::Factory,
            rule: Rule::of(Stage::Factory, "not available in this run", None),
            reason: format!("`{name}` {reason}"),
            fix: "give the run what the tool needs".to_owned(),
        })
    };
    let mut failed = |message: String| {
        let hint = "mend the native tool, or do not add it to the host";
        diagnostics.push(Diagnostic::new(
            Code::FactoryFailed,
            name,
            format!("the native tool {message}"),
            hint,
        ));
        missing("could not be made for this run".to_owned())
    };
    let bind = || {
        native.implementation.bind(run).map(|binding| match binding {
            Binding::Made(made) => Bound::Made(made.descriptor(), made),
            Binding::Same => Bound::Same,
            Binding::Unavailable(reason) => Bound::Unavailable(reason),
        })
    };
    let (tool, implementation) = match catch_unwind(AssertUnwindSafe(bind)) {
        Err(panic) => {
            let words = panic_text(&*panic).map(|words| format!(": {words}")).unwrap_or_default();
            return Err(failed(format!("`{name}` panicked while it was made for the run{words}")));
        }
        Ok(Err(message)) => return Err(failed(format!("`{name}` could not be made for the run: {message}"))),
        Ok(Ok(Bound::Unavailable(reason))) => return Err(missing(reason)),
        Ok(Ok(Bound::Same)) => (Arc::clone(&native.tool), Arc::clone(&native.implementation)),
        Ok(Ok(Bound::Made(descriptor, made))) => {
            if descriptor.name != name.as_str() {
                return Err(failed(format!("`{name}` gave a tool of another name: `{}`", descriptor.name)));
            }
            if descriptor == native.descriptor {
                (Arc::clone(&native.tool), made)
            } else {
                match Tool::accept(name.clone(), &descriptor) {
                    Ok(tool) => (Arc::new(tool), made),
                    Err(cause) => return Err(failed(format!("`{name}` is refused as it was made: {cause}"))),
                }
            }
        }
    };
    Ok(ExposedTool {
        tool,
        owner: candidate.owner.clone(),
        origin: None,
        optional: candidate.metadata.optional,
        fingerprint: None,
        side_effecting: candidate.metadata.side_effecting,
        concurrency: candidate.metadata.concurrency.clone(),
        defer: candidate.metadata.defer,
        own_handlers: Arc::default(),
        implementation: Implementation::Native(implementation),
    })
}

/// What a run gets of a native tool, with what the tool says about itself.
enum Bound {
    Same,
    Made(ToolDescriptor, Arc<dyn NativeTool>),
    Unavailable(String),
}
