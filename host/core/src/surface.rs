//! Registered → exposed: the tools of one run. A run context enters; exposed tools and every removal's reason leave.
//!
//! Only a [`Surface`] hands out exposed tools, and only it accepts calls.

mod narrow;
mod pool;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::join_all;
use serde::Serialize;

use crate::call::{Call, Outcome};
use crate::catalog::CatalogEntry;
use crate::diagnostic::{Diagnostic, Location};
use crate::discover::Origin;
use crate::host::Snapshot;
use crate::id::{PluginId, ToolName};
use crate::limits::Limits;
use crate::load::Loaded;
use crate::native::NativeTool;
use crate::plugin::Plugin;
use crate::run::RunContext;
use crate::tool::Tool;

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
    /// Its plugin cannot be used.
    Enablement,
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
    snapshot: Arc<Snapshot>,
    run: Arc<RunContext>,
    tools: BTreeMap<ToolName, ExposedTool>,
    removed: Vec<Removal>,
    diagnostics: Vec<Diagnostic>,
}

impl Surface {
    /// The whole assembly: names first, so that a plugin none of whose names survives is never loaded.
    pub(crate) async fn assemble(snapshot: Arc<Snapshot>, run: RunContext) -> Self {
        let mut removed = Vec::new();
        let candidates = pool::candidates(&snapshot);
        let surviving = narrow::enabled(candidates, &mut removed);
        let surviving = narrow::opted_in(surviving, &mut removed);
        let surviving = narrow::uncontested(surviving, &snapshot.catalogue, &mut removed);

        let (owners, failures) = load_owners(&snapshot, &surviving).await;
        let mut diagnostics = snapshot.catalogue.diagnostics().to_vec();
        diagnostics
            .extend(owners.values().flat_map(|loaded| loaded.registration.diagnostics.iter().cloned()));
        diagnostics.extend(failures.values().cloned());

        let exposed = pool::materialise(surviving, &owners, &failures, &mut removed);
        let tools = exposed.into_iter().map(|exposed| (exposed.tool.name.clone(), exposed)).collect();

        removed.sort();
        diagnostics.sort();
        diagnostics.dedup();
        Self(Arc::new(Parts { snapshot, run: Arc::new(run), tools, removed, diagnostics }))
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

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.0.snapshot
    }

    /// Runs one governed call to its end, whatever that is. Dropping the future stops the tool.
    pub async fn call(&self, call: Call) -> Outcome {
        crate::call::run(self, call).await
    }
}

/// Loads every plugin that owns a surviving name, all at once.
async fn load_owners(
    snapshot: &Snapshot,
    surviving: &[pool::Candidate],
) -> (BTreeMap<PluginId, Arc<Loaded>>, BTreeMap<PluginId, Diagnostic>) {
    let mut needed: BTreeMap<&PluginId, &CatalogEntry> = BTreeMap::new();
    for candidate in surviving {
        if let pool::Source::Plugin(entry) = &candidate.source {
            needed.insert(&entry.manifest.id, entry);
        }
    }
    let loading =
        needed.into_iter().map(|(id, entry)| async move { (id.clone(), snapshot.loader.load(entry).await) });
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
