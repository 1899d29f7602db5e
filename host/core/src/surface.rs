//! Registered → exposed: the tools of one run. A run context enters; exposed tools and every removal's reason leave.
//!
//! Only a [`Surface`] hands out exposed tools, and only it accepts calls.

mod deferral;
mod factory;
mod materialise;
mod narrow;
mod plan;
mod pool;
mod prepare;
mod removal;
mod stale;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Outcome};
use crate::config::PolicyEntry;
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::discover::Origin;
use crate::error::Error;
use crate::hooks::{Guards, Handlers, MissingGuard};
use crate::host::{Shared, Snapshot};
use crate::id::{CallId, Digest, PluginId, ToolName};
use crate::limits::Limits;
use crate::load::Loaded;
use crate::manifest::{Concurrency, Deferral};
use crate::native::NativeTool;
use crate::plugin::{Bound, Plugin};
use crate::policy::{Capture, CapturedTool, MAX_LINEAGE, Words};
use crate::run::RunContext;
use crate::search::{Control, Index};
use crate::skills::{AllowedTools, Skill, SkillRead, SkillSnapshot};
use crate::tool::Tool;

pub use plan::LoadReason;
pub(crate) use pool::{Candidate, Source, candidates};
pub use prepare::Turn;
pub(crate) use removal::Cause;
pub use removal::{Removal, Rule, Stage};

use deferral::Withheld;
use narrow::Rules;

/// Who implements a tool; as text `core` or a plugin's id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
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

impl Serialize for Owner {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Owner {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "core" {
            return Ok(Self::Core);
        }
        PluginId::parse(&text).map(Self::Plugin).map_err(serde::de::Error::custom)
    }
}

crate::schemas::text_schema!(Owner, "`core`, or a plugin's id");

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
    /// Whether it changes something outside the sandbox, or might.
    pub(crate) side_effecting: bool,
    /// How many of its calls may run at once.
    pub(crate) concurrency: Concurrency,
    /// Whether it may be withheld from the wire.
    pub(crate) defer: Deferral,
    /// Its plugin's handlers over its own tools, which need no grant.
    pub(crate) own_handlers: Arc<Handlers>,
    pub(crate) implementation: Implementation,
}

/// What runs when the tool is called.
#[derive(Debug, Clone)]
pub(crate) enum Implementation {
    Native(Arc<dyn NativeTool>),
    /// The host itself reads the surface.
    Control(Control),
    Guest {
        id: PluginId,
        plugin: Arc<dyn Plugin>,
        digest: Digest,
        limits: Limits,
        bound: Option<Bound>,
    },
}

/// The tools of one run, and why others are missing. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Surface(Arc<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    host: Arc<Shared>,
    snapshot: Arc<Snapshot>,
    run: Arc<RunContext>,
    /// The run as plugins see it.
    seen: Arc<RunContext>,
    tools: BTreeMap<ToolName, Arc<ExposedTool>>,
    removed: Vec<Removal>,
    diagnostics: Vec<Diagnostic>,
    plan: Vec<(PluginId, Vec<LoadReason>)>,
    /// What a model is not shown at once.
    withheld: Withheld,
    /// Why nothing may be withheld in this run, if so.
    not_withheld: Option<Arc<Cause>>,
    /// What can be found here; made when somebody first searches.
    index: OnceLock<Arc<Index>>,
}

impl Surface {
    /// The whole assembly: names first, so that a plugin that this run does not need is never loaded; then the tools
    /// behind the names, which are judged as their names were.
    pub(crate) async fn assemble(host: Arc<Shared>, run: RunContext) -> Self {
        let snapshot = host.current();
        let run = host.with_skills(run, &snapshot);
        let rules = Rules::new(&snapshot, &run);
        let (surviving, mut removed) = survive(&snapshot, &rules);

        let plan = plan::plan(&snapshot, &run, &surviving);
        let (owners, failures) = load(&snapshot, &plan).await;
        let guards = snapshot.learn_guards(Guards::new(&snapshot, &owners, &failures));

        let seen = Arc::new(run.clone().authenticated_at(&snapshot.config.file().providers.authenticated));
        let materialised = materialise::materialise(&surviving, &rules, &seen, &owners, &failures).await;
        removed.extend(materialised.removed);
        // Nobody misses a tool that reads what is not there.
        if run.skills().is_some_and(|skills| skills.catalogue().is_empty()) {
            removed.retain(|removal| removal.name.as_str() != SkillRead::NAME);
        }
        removed.sort();

        let mut diagnostics = snapshot.catalogue.diagnostics().to_vec();
        diagnostics.extend_from_slice(snapshot.policy.diagnostics());
        diagnostics.extend_from_slice(rules.policy.diagnostics());
        diagnostics
            .extend(owners.values().flat_map(|loaded| loaded.registration.diagnostics.iter().cloned()));
        diagnostics.extend(failures.into_values());
        diagnostics.extend(materialised.diagnostics);
        diagnostics.extend(guards.missing.iter().map(MissingGuard::diagnostic));
        diagnostics.extend_from_slice(&guards.strays);
        diagnostics.sort();
        diagnostics.dedup();

        let exposed = materialised.exposed.into_iter();
        let tools = exposed.map(|exposed| (exposed.tool.name.clone(), Arc::new(exposed))).collect();
        let plan = plan.into_iter().map(|(id, (_, reasons))| (id, reasons)).collect();
        let not_withheld = deferral::refusal(&rules).map(Arc::new);
        drop(rules);
        let run = Arc::new(run);
        let (index, withheld) = (OnceLock::new(), Withheld::default());
        let mut parts = Parts {
            host,
            snapshot,
            run,
            seen,
            tools,
            removed,
            diagnostics,
            plan,
            withheld,
            not_withheld,
            index,
        };
        parts.withhold();
        Self(Arc::new(parts))
    }

    /// The exposed tools in order of their names, whether or not a model is shown them at once; not the host's own three that
    /// find those that are [deferred](Self::deferred).
    pub fn tools(&self) -> impl Iterator<Item = &ExposedTool> {
        self.0.tools.values().map(Arc::as_ref)
    }

    /// The exposed tool of that name, or the one of the host's own three if this surface has them.
    pub fn tool(&self, name: &ToolName) -> Option<&ExposedTool> {
        self.0.tools.get(name).or_else(|| self.control(name)).map(Arc::as_ref)
    }

    /// What can be found here.
    pub(crate) fn index(&self) -> &Index {
        self.0.index.get_or_init(|| Arc::new(Index::new(self.tools().map(|exposed| &*exposed.tool))))
    }

    /// What this run might have had, and why it has it not.
    pub fn removed(&self) -> &[Removal] {
        &self.0.removed
    }

    /// Everything that was found while assembling; what is wrong with skills is in [`SkillSnapshot::diagnostics`].
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    /// The run that this surface belongs to.
    pub fn run(&self) -> &Arc<RunContext> {
        &self.0.run
    }

    /// The skills of this turn; `None` in a host without skills.
    pub fn skills(&self) -> Option<&Arc<SkillSnapshot>> {
        self.0.run.skills()
    }

    /// The surface while a skill is active: with those tools only that its `allowed-tools` names, if it has such a list. What
    /// the run does not have is not added.
    #[must_use]
    pub fn activate(&self, skill: &Skill) -> Self {
        let Some(allowed) = skill.allowed_tools() else { return self.clone() };
        let by = format!("the skill `{}`", skill.name());
        let narrowed = self.narrow(&by, &self.entries_of(allowed));
        if !self.leaves_none(skill) {
            return narrowed;
        }
        let message = "`allowed-tools` names no tool that there is, so that the skill leaves none".to_owned();
        let hint = "write the names of tools as `airlock tools` has them";
        let finding = Diagnostic::new(Code::SkillToolsUnknown, skill.name(), message, hint);
        narrowed.with_finding(finding.at(Location::path(skill.path())))
    }

    /// A skill's list as entries. Tools only: a word that is no tool's name would be a plugin's id, with all its tools.
    fn entries_of(&self, allowed: &AllowedTools) -> Vec<PolicyEntry> {
        let is_known = |name: &&ToolName| self.0.snapshot.candidates.iter().any(|one| one.name == **name);
        let names = allowed.names();
        names.iter().filter(is_known).filter_map(|name| PolicyEntry::parse(name.as_str()).ok()).collect()
    }

    /// Whether a skill allows tools and nothing has any of them.
    pub(crate) fn leaves_none(&self, skill: &Skill) -> bool {
        skill
            .allowed_tools()
            .is_some_and(|allowed| !allowed.is_empty() && self.entries_of(allowed).is_empty())
    }

    /// Which plugins were loaded for this run, and every reason.
    pub fn plan(&self) -> &[(PluginId, Vec<LoadReason>)] {
        &self.0.plan
    }

    /// The surface with those tools only that an entry names, for a turn that needs fewer. `by` says who wants that.
    /// What matches nothing adds nothing.
    #[must_use]
    pub fn narrow(&self, by: &str, entries: &[PolicyEntry]) -> Self {
        let mut parts = Parts { index: OnceLock::new(), ..Parts::clone(&self.0) };
        let mut found = Vec::new();
        let named = parts.snapshot.policy.named(entries, &|_| None, &mut found);
        let mut places: BTreeMap<(ToolName, Owner), usize> = BTreeMap::new();
        for (place, removal) in parts.removed.iter().enumerate() {
            places.insert((removal.name.clone(), removal.plugin.clone()), place);
        }
        for candidate in parts.snapshot.candidates.iter().filter(|candidate| !named.matches(candidate)) {
            let cause = Cause {
                stage: Stage::Prompt,
                rule: Rule::of(Stage::Prompt, &format!("tools-allow of {by}"), None),
                reason: format!("`{}` is not among the tools that {by} allows in this turn", candidate.name),
                fix: format!("widen what {by} allows"),
            };
            let key = (candidate.name.clone(), candidate.owner.clone());
            if let Some(removal) = places.get(&key).and_then(|place| parts.removed.get_mut(*place)) {
                removal.also(cause.rule);
            } else if parts.tools.get(&candidate.name).is_some_and(|exposed| exposed.owner == candidate.owner)
            {
                parts.removed.extend(Removal::by(candidate, vec![cause]));
                parts.tools.remove(&candidate.name);
            }
        }
        parts.removed.sort();
        let said_by = |found: Diagnostic| Diagnostic { message: format!("{by}: {}", found.message), ..found };
        parts.diagnostics.extend(found.into_iter().map(said_by));
        parts.withhold();
        parts.diagnostics.dedup();
        Self(Arc::new(parts))
    }

    /// The same surface with one more thing to say about it.
    fn with_finding(&self, finding: Diagnostic) -> Self {
        let mut parts = Parts::clone(&self.0);
        parts.diagnostics.push(finding);
        parts.diagnostics.sort();
        Self(Arc::new(parts))
    }

    /// What this run has, with every narrowing in force, to be the cap of a run that comes later. What the configuration
    /// in force no longer allows is left out.
    pub fn capture(&self) -> Capture {
        let tools = self.with_current(|is_current| {
            let tools = self.tools().filter(|exposed| is_current(exposed)).map(|exposed| CapturedTool {
                name: exposed.tool.name.clone(),
                owner: exposed.owner.clone(),
                origin: exposed.origin,
            });
            tools.collect()
        });
        Capture::new(tools, self.0.run.depth())
    }

    /// Looks at the tools with a judge that says which of them the configuration in force still allows.
    pub(crate) fn with_current<T>(&self, look: impl FnOnce(&dyn Fn(&ExposedTool) -> bool) -> T) -> T {
        let current = self.0.host.current();
        let is_older = current.generation != self.0.snapshot.generation;
        let rules = is_older.then(|| Rules::new(&current, &self.0.run));
        look(&|exposed| rules.as_ref().is_none_or(|rules| stale::staleness(exposed, rules).is_none()))
    }

    /// Whether the configuration in force still allows a tool of this surface.
    pub(crate) fn still_has(&self, exposed: &ExposedTool) -> bool {
        self.with_current(|is_current| is_current(exposed))
    }

    /// The surface of a run that this one starts: what `run` leaves open is as in this run, and no tool is there that
    /// is not here.
    ///
    /// # Errors
    /// If runs would have started one another over 32 deep.
    pub async fn child(&self, run: RunContext) -> Result<Self, Error> {
        if self.0.run.depth() >= MAX_LINEAGE {
            let message = format!(
                "the run `{}` cannot start another: runs started one another {MAX_LINEAGE} deep already",
                self.0.run.run
            );
            return Err(Error::configuration(message));
        }
        let run = run.child_of(&self.0.run, self.capture());
        Ok(Self::assemble(Arc::clone(&self.0.host), run).await)
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.0.snapshot
    }

    /// The run as plugins see it.
    pub(crate) fn seen_run(&self) -> &Arc<RunContext> {
        &self.0.seen
    }

    pub(crate) fn next_call_id(&self) -> CallId {
        self.0.host.next_call_id()
    }

    /// Why the configuration that is in force forbids a tool of this surface, if the surface is older and it does.
    pub(crate) fn staleness(&self, exposed: &ExposedTool) -> Option<String> {
        let current = self.0.host.current();
        (current.generation != self.0.snapshot.generation)
            .then(|| stale::staleness(exposed, &Rules::new(&current, &self.0.run)))
            .flatten()
    }

    /// What all surfaces of the host share.
    pub(crate) fn host(&self) -> &Arc<Shared> {
        &self.0.host
    }

    /// What would take away the rules that removed a tool, in the order of the rules.
    pub(crate) fn cure(&self, removal: &Removal) -> String {
        let rules = Rules::new(&self.0.snapshot, &self.0.run);
        let is_it = |candidate: &&Arc<Candidate>| {
            (&candidate.name, &candidate.owner) == (&removal.name, &removal.plugin)
        };
        let causes = self.0.snapshot.candidates.iter().filter(is_it);
        let mut fixes: Vec<String> = Vec::new();
        for cause in causes.flat_map(|candidate| rules.causes(candidate, Words::OfAll)) {
            if !fixes.contains(&cause.fix) {
                fixes.push(cause.fix);
            }
        }
        if fixes.is_empty() {
            // No rule about names removed it: what its code did, or a turn's narrowing.
            fixes.push(removal.stage.cure().to_owned());
        }
        fixes.join("; ")
    }

    /// The layers that this run had to pass, in words.
    pub(crate) fn layers_in_words(&self) -> String {
        self.0.snapshot.policy.for_run(&self.0.run, &self.0.snapshot.config).in_words()
    }

    /// Runs one governed call to its end, whatever that is. Dropping the future stops the tool.
    pub async fn call(&self, call: Call) -> Outcome {
        crate::call::run(self, call).await
    }
}

impl Parts {
    /// Settles anew what a model is not shown at once, with what is to be said about that.
    fn withhold(&mut self) {
        let written = &self.snapshot.config.file().tool_search;
        let refusal = self.not_withheld.as_deref();
        let (withheld, finding) = deferral::settle(&self.tools, written, self.host.controls(), refusal);
        self.withheld = withheld;
        self.diagnostics.retain(|known| known.code != Code::DeferralOff);
        self.diagnostics.extend(finding);
        self.diagnostics.sort();
    }
}

/// The candidates that no rule removes, and why the others are.
fn survive(snapshot: &Snapshot, rules: &Rules<'_>) -> (Vec<Arc<Candidate>>, Vec<Removal>) {
    let (mut surviving, mut removed) = (Vec::new(), Vec::new());
    for candidate in &snapshot.candidates {
        let causes = rules.causes(candidate, Words::OfFirst);
        if causes.is_empty() {
            surviving.push(Arc::clone(candidate));
        } else {
            removed.extend(Removal::by(candidate, causes));
        }
    }
    (surviving, removed)
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
