//! Registered → exposed: the tools of one run. A run context enters; exposed tools and every removal's reason leave.
//!
//! Only a [`Surface`] hands out exposed tools, and only it accepts calls.

mod narrow;
mod plan;
mod pool;
mod stale;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use serde::Serialize;

use crate::call::{Call, Outcome};
use crate::diagnostic::{Diagnostic, Location};
use crate::discover::Origin;
use crate::hooks::HookName;
use crate::host::{Shared, Snapshot};
use crate::id::{CallId, Digest, PluginId, ToolName};
use crate::limits::Limits;
use crate::load::Loaded;
use crate::native::NativeTool;
use crate::plugin::Plugin;
use crate::run::RunContext;
use crate::tool::Tool;

pub use plan::LoadReason;
pub(crate) use plan::MissingGuard;

/// Who implements a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The host's own code.
    Core,
    /// A plugin.
    Plugin(PluginId),
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Core => "core",
            Self::Plugin(id) => id.as_str(),
        })
    }
}

/// A tool that survived assembly for one run.
#[derive(Debug)]
pub struct ExposedTool {
    /// Name, texts and schemas.
    pub tool: Arc<Tool>,
    /// Who implements it.
    pub owner: Owner,
    /// Where its plugin comes from; `None` for a native tool.
    pub origin: Option<Origin>,
    /// Whether it needed an opt-in.
    pub optional: bool,
    /// Of the plugin as it was when the surface was assembled.
    pub(crate) fingerprint: Option<Digest>,
    pub(crate) implementation: Implementation,
}

/// What runs when the tool is called.
#[derive(Debug)]
pub(crate) enum Implementation {
    Native(Arc<dyn NativeTool>),
    Guest(Arc<dyn Plugin>, Limits),
}

/// At which step of the assembly a tool was removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Its plugin is off, or cannot be used.
    Enablement,
    /// None of the providers and settings that it needs is there.
    Availability,
    /// It is optional and nothing opts in.
    Optional,
    /// Another owner has the name.
    Conflict,
    /// It comes from a factory that gave none.
    Factory,
}

impl fmt::Display for Stage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Enablement => "enablement",
            Self::Availability => "availability",
            Self::Optional => "optional",
            Self::Conflict => "conflict",
            Self::Factory => "factory",
        })
    }
}

/// One rule that removes a tool.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Rule {
    /// The policy layer, or the stage where the rule is none of a layer's.
    pub layer: String,
    /// The rule itself.
    pub rule: String,
    /// Where it is written, if it is in a file.
    pub location: Option<Location>,
}

/// A tool that a run might have had, and every rule that took it away.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Removal {
    /// The tool.
    pub name: ToolName,
    /// Its plugin.
    #[serde(serialize_with = "as_text")]
    pub plugin: Owner,
    /// The first stage that removed it.
    pub stage: Stage,
    /// Every rule of that stage that removes it.
    pub rules: Vec<Rule>,
    /// One sentence.
    pub reason: String,
}

fn as_text<S: serde::Serializer>(owner: &Owner, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(owner)
}

/// The tools of one run, and why others are missing. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Surface(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    host: Arc<Shared>,
    snapshot: Arc<Snapshot>,
    run: Arc<RunContext>,
    tools: BTreeMap<ToolName, ExposedTool>,
    removed: Vec<Removal>,
    diagnostics: Vec<Diagnostic>,
    plan: Vec<(PluginId, Vec<LoadReason>)>,
    missing_guards: Vec<MissingGuard>,
}

impl Surface {
    /// The whole assembly: names first, so that a plugin that this run does not need is never loaded.
    pub(crate) async fn assemble(host: Arc<Shared>, run: RunContext) -> Self {
        let snapshot = host.current();
        let mut removed = Vec::new();
        let surviving = narrow::names(pool::candidates(&snapshot), &snapshot, &run, &mut removed);

        let plan = plan::plan(&snapshot, &run, &surviving);
        let (owners, failures) = load(&snapshot, &plan).await;
        let missing_guards = plan::missing_guards(&snapshot, &owners, &failures);

        let exposed = pool::materialise(surviving, &owners, &failures, &mut removed);
        let tools = exposed.into_iter().map(|exposed| (exposed.tool.name.clone(), exposed)).collect();

        let mut diagnostics = snapshot.catalogue.diagnostics().to_vec();
        diagnostics
            .extend(owners.values().flat_map(|loaded| loaded.registration.diagnostics.iter().cloned()));
        diagnostics.extend(failures.into_values());
        diagnostics.extend(missing_guards.iter().map(MissingGuard::diagnostic));
        diagnostics.sort();
        diagnostics.dedup();
        removed.sort();
        let plan = plan.into_iter().map(|(id, (_, reasons))| (id, reasons)).collect();
        let run = Arc::new(run);
        Self(Arc::new(Parts { host, snapshot, run, tools, removed, diagnostics, plan, missing_guards }))
    }

    /// The exposed tools in order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &ExposedTool> {
        self.0.tools.values()
    }

    /// The exposed tool of that name.
    pub fn tool(&self, name: &ToolName) -> Option<&ExposedTool> {
        self.0.tools.get(name)
    }

    /// What this run might have had, and why it has it not.
    pub fn removed(&self) -> &[Removal] {
        &self.0.removed
    }

    /// Everything that was found while assembling.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    /// The run that this surface belongs to.
    pub fn run(&self) -> &Arc<RunContext> {
        &self.0.run
    }

    /// Which plugins were loaded for this run, and every reason.
    pub fn plan(&self) -> &[(PluginId, Vec<LoadReason>)] {
        &self.0.plan
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.0.snapshot
    }

    pub(crate) fn next_call_id(&self) -> CallId {
        self.0.host.next_call_id()
    }

    /// Why the configuration that is in force forbids a tool of this surface, if the surface is older and it does.
    pub(crate) fn staleness(&self, exposed: &ExposedTool) -> Option<String> {
        let current = self.0.host.current();
        (current.generation != self.0.snapshot.generation)
            .then(|| stale::staleness(exposed, &self.0.run, &current))
            .flatten()
    }

    /// The guard of `hook` over `tool` that is not there, if there is one.
    pub(crate) fn missing_guard(&self, hook: HookName, tool: &str) -> Option<&MissingGuard> {
        self.0.missing_guards.iter().find(|guard| guard.covers(hook, tool))
    }

    /// Runs one governed call to its end, whatever that is. Dropping the future stops the tool.
    pub async fn call(&self, call: Call) -> Outcome {
        crate::call::run(self, call).await
    }
}

/// Loads every plugin of the plan, all at once.
async fn load(
    snapshot: &Snapshot,
    plan: &plan::Plan,
) -> (BTreeMap<PluginId, Arc<Loaded>>, BTreeMap<PluginId, Diagnostic>) {
    let loading =
        plan.iter().map(|(id, (entry, _))| async move { (id.clone(), snapshot.loader.load(entry).await) });
    let (mut owners, mut failures) = (BTreeMap::new(), BTreeMap::new());
    for (id, result) in join_all(loading).await {
        match result {
            Ok(loaded) => drop(owners.insert(id, loaded)),
            Err(diagnostic) => drop(failures.insert(id, diagnostic)),
        }
    }
    (owners, failures)
}

impl Removal {
    /// A removal for the reason that a diagnostic states.
    pub(crate) fn because(name: ToolName, plugin: Owner, stage: Stage, diagnostic: &Diagnostic) -> Self {
        let (layer, rule) = (stage.to_string(), diagnostic.code.to_string());
        let rule = Rule { layer, rule, location: diagnostic.location.clone() };
        Self { name, plugin, stage, rules: vec![rule], reason: diagnostic.message.clone() }
    }
}
