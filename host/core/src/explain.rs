//! Why is it not there? A name enters; the six states with their evidence leave, where it stopped, and what would help.
//!
//! It decides nothing: it reads what the stages recorded when they decided.

mod skill;

use serde::Serialize;

use crate::call::CallKind;
use crate::diagnostic::{Code, Diagnostic};
use crate::hooks::HookName;
use crate::host::PluginStatus;
use crate::id::ToolName;
use crate::projection::{Provider, ReportRow};
use crate::search::Control;
use crate::skills::SkillRead;
use crate::surface::{ExposedTool, Owner, Removal, Rule, Surface};
use crate::text;

/// How far something has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// A package folder lies in a plugin root.
    Installed,
    /// Its manifest parsed.
    Discovered,
    /// Its code registered it, as the manifest says.
    Registered,
    /// It survived assembly for this run.
    Exposed,
    /// A call would be accepted.
    Called,
    /// A call would run.
    Executed,
}

/// What an explanation is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectKind {
    /// A tool.
    Tool,
    /// A plugin.
    Plugin,
    /// A skill.
    Skill,
    /// Nothing that is known.
    Unknown,
}

/// One of the six states.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedState {
    /// Which.
    pub state: State,
    /// Whether it was reached.
    pub reached: bool,
    /// What shows that.
    pub evidence: String,
}

/// The whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// What was asked about.
    pub subject: String,
    /// What it is.
    pub kind: SubjectKind,
    /// All six states, in order.
    pub states: Vec<ExplainedState>,
    /// The first state that was not reached; `None` if nothing stands in the way of a call.
    pub stopped_at: Option<State>,
    /// Why it stopped there.
    pub reason: Option<String>,
    /// Every rule that stopped it.
    pub rules: Vec<Rule>,
    /// What would change that.
    pub fix: Option<String>,
    /// What each model provider is told of a tool that is exposed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub projected: Vec<Projected>,
}

/// A tool before one model provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Projected {
    /// Which.
    pub provider: Provider,
    /// Everything that its schema lost or changed on the way.
    pub changes: Vec<ReportRow>,
    /// Why it is not sent at all, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

/// Why something stopped: the state, the finding that says so, and every rule.
struct Stop {
    at: State,
    reason: String,
    rules: Vec<Rule>,
    fix: String,
}

impl Stop {
    fn by(at: State, finding: &Diagnostic) -> Self {
        let rule =
            Rule { layer: at.word(), rule: finding.code.to_string(), location: finding.location.clone() };
        Self { at, reason: finding.message.clone(), rules: vec![rule], fix: finding.hint.clone() }
    }

    /// What took the tool off the surface.
    fn at_removal(removal: &Removal, surface: &Surface) -> Self {
        let (reason, rules, fix) = (removal.reason.clone(), removal.rules.clone(), surface.cure(removal));
        Self { at: State::Exposed, reason, rules, fix }
    }
}

impl State {
    const ALL: [Self; 6] =
        [Self::Installed, Self::Discovered, Self::Registered, Self::Exposed, Self::Called, Self::Executed];

    fn word(self) -> &'static str {
        match self {
            Self::Installed => "installed",
            Self::Discovered => "discovered",
            Self::Registered => "registered",
            Self::Exposed => "exposed",
            Self::Called => "called",
            Self::Executed => "executed",
        }
    }
}

pub(crate) fn explain(subject: &str, surface: &Surface, plugins: &[PluginStatus]) -> Explanation {
    let name = ToolName::canonicalise(subject).ok();
    let shown = name
        .as_ref()
        .map_or_else(|| text::single_line(&text::shorten(subject, 80)).into_owned(), ToString::to_string);
    let is_plugin = plugins.iter().any(|status| status.entry.manifest.id.as_str() == shown);
    let is_tool_name = plugins
        .iter()
        .any(|status| status.entry.manifest.contracts.tools.iter().any(|tool| tool.as_str() == shown))
        || name.as_ref().is_some_and(|name| surface.tool(name).is_some());
    let is_there = is_tool_name
        || name.as_ref().is_some_and(|name| surface.removed().iter().any(|removal| removal.name == *name));
    if let Some(explanation) = skill::explain_skill(subject, surface).filter(|_| !is_there && !is_plugin) {
        return explanation;
    }
    if is_plugin && !is_tool_name {
        return explain_plugin(shown, surface, plugins);
    }
    explain_tool(shown, name.as_ref(), surface, plugins)
}

fn explain_tool(
    shown: String,
    name: Option<&ToolName>,
    surface: &Surface,
    plugins: &[PluginStatus],
) -> Explanation {
    if let Some(exposed) = name.and_then(|name| surface.tool(name)) {
        let owner = &exposed.owner;
        let guards = surface.snapshot().known_guards();
        let guard = guards.as_ref().and_then(|guards| guards.missing(HookName::BeforeToolCall, Some(&shown)));
        let stop = guard.map(|guard| {
            let rule = Rule { layer: "guard", rule: Code::GuardMissing.to_string(), location: None };
            let reason = format!(
                "its guard `{}` {}, so every call ends as `{}`",
                guard.plugin,
                guard.reason,
                CallKind::Blocked.as_str()
            );
            let fix = "mend the guard, or set `on-load-failure = \"ignore\"` in its entry".to_owned();
            Stop { at: State::Executed, reason, rules: vec![rule], fix }
        });
        let explanation = answer(shown, SubjectKind::Tool, stop, |state| match (state, owner) {
            (State::Installed, Owner::Core) => "it is a native tool of the host".to_owned(),
            (State::Discovered | State::Registered, Owner::Core) => "the host was built with it".to_owned(),
            (State::Installed, Owner::Plugin(id)) => folder_of(plugins, id.as_str()),
            (State::Discovered, Owner::Plugin(id)) => format!("the manifest of `{id}` declares it"),
            (State::Registered, Owner::Plugin(id)) => {
                format!("the code of `{id}` registered it{}", reasons(surface, id.as_str()))
            }
            (State::Exposed, _) => exposure(surface, exposed),
            (State::Called, _) => "a call with arguments that fit its schema is accepted".to_owned(),
            (State::Executed, _) => judges(surface, exposed),
        });
        return Explanation { projected: projected(surface, &exposed.tool.name), ..explanation };
    }
    if shown == SkillRead::NAME && surface.skills().is_some_and(|skills| skills.catalogue().is_empty()) {
        let reason = "it reads skills, and this run has none that a model is told of".to_owned();
        let fix = "`airlock skills` says which there are, and what keeps others away".to_owned();
        let stop = Stop { at: State::Exposed, reason, rules: Vec::new(), fix };
        return answer(shown, SubjectKind::Tool, Some(stop), |_| "it is the host's own".to_owned());
    }
    if let Some(control) = Control::named(&shown) {
        let reason = format!(
            "`{}` is the host's own, for runs whose tools are withheld; none is here",
            control.as_str()
        );
        let off = surface.diagnostics().iter().find(|finding| finding.code == Code::DeferralOff);
        let stop = off.map_or_else(
            || {
                let fix = "it comes by itself when there are more tools than `[tool-search]` says".to_owned();
                Stop { at: State::Exposed, reason, rules: Vec::new(), fix }
            },
            |off| Stop::by(State::Exposed, off),
        );
        return answer(shown, SubjectKind::Tool, Some(stop), |_| "it is the host's own".to_owned());
    }
    let native =
        surface.removed().iter().find(|gone| gone.name.as_str() == shown && gone.plugin == Owner::Core);
    if let Some(removal) = native {
        let stop = Stop::at_removal(removal, surface);
        return answer(shown, SubjectKind::Tool, Some(stop), |state| match state {
            State::Installed => "it is a native tool of the host".to_owned(),
            _ => "the host was built with it".to_owned(),
        });
    }
    let declared: Vec<&PluginStatus> = plugins
        .iter()
        .filter(|status| status.entry.manifest.contracts.tools.iter().any(|tool| tool.as_str() == shown))
        .collect();
    // Several plugins may declare the name; the one that came farthest is the one that people mean.
    let stops = declared.iter().map(|status| (stop_of_declared(&shown, status, surface), *status));
    if let Some((stop, status)) = stops.max_by_key(|(stop, _)| stop.at) {
        let id = status.entry.manifest.id.to_string();
        return answer(shown, SubjectKind::Tool, Some(stop), |state| match state {
            State::Installed => folder_of(plugins, &id),
            State::Discovered => format!("the manifest of `{id}` declares it"),
            State::Registered => format!("the code of `{id}` registered it"),
            _ => "not reached".to_owned(),
        });
    }
    let smuggled = plugins.iter().find_map(|status| {
        let findings = &status.loaded.as_ref().ok()?.as_ref()?.registration.diagnostics;
        Some((
            status,
            findings
                .iter()
                .find(|finding| finding.code == Code::ToolUndeclared && finding.subject == shown)?,
        ))
    });
    if let Some((status, finding)) = smuggled {
        let id = status.entry.manifest.id.to_string();
        return answer(shown, SubjectKind::Tool, Some(Stop::by(State::Registered, finding)), |state| {
            match state {
                State::Installed => folder_of(plugins, &id),
                _ => format!("the manifest of `{id}` parsed; it does not declare this name"),
            }
        });
    }
    let mut broken = surface.snapshot().catalogue.broken().iter();
    if let Some(package) = broken.find(|package| package.mentions(&shown)) {
        let stop = Stop::by(State::Discovered, &package.diagnostic);
        let folder = package.folder.display().to_string();
        return answer(shown, SubjectKind::Tool, Some(stop), |_| {
            format!("a package that names it lies in {folder}")
        });
    }
    let tools = surface.snapshot().candidates.iter().map(|candidate| candidate.name.as_str());
    let ids = plugins.iter().map(|status| status.entry.manifest.id.as_str());
    let known: Vec<&str> = tools.chain(ids).collect();
    let fix = text::suggest(&shown, known).map_or_else(
        || "install the plugin that has it, or hand its root to the host".to_owned(),
        |meant| format!("did you mean `{meant}`? Else install the plugin that has it"),
    );
    let reason =
        "no installed plugin declares this name, no plugin's code registers it, and no native tool has it"
            .to_owned();
    let stop = Stop { at: State::Installed, reason, rules: Vec::new(), fix };
    answer(shown, SubjectKind::Unknown, Some(stop), |_| "not reached".to_owned())
}

fn projected(surface: &Surface, name: &ToolName) -> Vec<Projected> {
    let for_provider = |provider| {
        let projection = surface.project_tool(name, provider)?;
        let left_out = projection.left_out().first().map(|finding| finding.message.clone());
        Some(Projected { provider, changes: projection.report().to_vec(), left_out })
    };
    Provider::ALL.into_iter().filter_map(for_provider).collect()
}

/// Where a declared tool that is not on the surface stopped.
fn stop_of_declared(name: &str, status: &PluginStatus, surface: &Surface) -> Stop {
    let owner = Owner::Plugin(status.entry.manifest.id.clone());
    let removal =
        surface.removed().iter().find(|removal| removal.name.as_str() == name && removal.plugin == owner);
    if let Err(failure) = &status.loaded {
        return match removal.filter(|_| status.entry.refusal().is_some()) {
            Some(removal) => Stop { at: State::Registered, ..Stop::at_removal(removal, surface) },
            None => Stop::by(State::Registered, failure),
        };
    }
    let findings =
        status.loaded.as_ref().ok().and_then(Option::as_ref).map(|loaded| &loaded.registration.diagnostics);
    let unregistered = findings.into_iter().flatten().find(|finding| {
        finding.subject == name && matches!(finding.code, Code::ContractUnfulfilled | Code::ToolInvalid)
    });
    if let Some(finding) = unregistered {
        return Stop::by(State::Registered, finding);
    }
    let Some(removal) = removal else {
        let reason = "it is registered and was left out of this surface without a record".to_owned();
        return Stop { at: State::Exposed, reason, rules: Vec::new(), fix: "report this".to_owned() };
    };
    Stop::at_removal(removal, surface)
}

fn explain_plugin(shown: String, surface: &Surface, plugins: &[PluginStatus]) -> Explanation {
    let found = plugins.iter().filter(|status| status.entry.manifest.id.as_str() == shown);
    let Some(status) = found.max_by_key(|status| status.loaded.is_ok()) else {
        return answer(shown, SubjectKind::Plugin, None, |_| String::new());
    };
    let stop = status.loaded.as_ref().err().map(|failure| Stop::by(State::Registered, failure));
    let exposed = surface.tools().filter(|exposed| exposed.owner.to_string() == shown).count();
    let declared = status.entry.manifest.contracts.tools.len();
    let stop = stop.or_else(|| {
        (declared > 0 && exposed == 0).then(|| {
            let reason = format!("none of its {declared} tools is on the surface of this run");
            let fix = "explain one of its tools by name".to_owned();
            Stop { at: State::Exposed, reason, rules: Vec::new(), fix }
        })
    });
    let (id, version) = (shown.clone(), status.entry.manifest.version.clone());
    answer(shown, SubjectKind::Plugin, stop, |state| match state {
        State::Installed => folder_of(plugins, &id),
        State::Discovered => format!("the manifest of version {version} parsed"),
        State::Registered => match &status.loaded {
            Ok(None) => "it has no code to register".to_owned(),
            _ => format!("its code registered{}", reasons(surface, &id)),
        },
        State::Exposed if declared == 0 => "it has no tools to put on a surface".to_owned(),
        State::Exposed => format!("{exposed} of its {declared} tools are on the surface of this run"),
        State::Called | State::Executed if declared == 0 => "it has no tools to call".to_owned(),
        State::Called | State::Executed => "its exposed tools can be called".to_owned(),
    })
}

fn folder_of(plugins: &[PluginStatus], id: &str) -> String {
    let found = plugins.iter().filter(|status| status.entry.manifest.id.as_str() == id);
    let shown = found
        .map(|status| format!("`{id}` lies in {} ({})", status.entry.folder.display(), status.entry.origin));
    shown.collect::<Vec<_>>().join("; ")
}

/// What shows that the tool is exposed, and whether a model is shown it at once.
fn exposure(surface: &Surface, exposed: &ExposedTool) -> String {
    let (agent, name) = (&surface.run().agent, &exposed.tool.name);
    if Control::named(name.as_str()).is_some() {
        let withheld = surface.deferred().count();
        return format!("this run of `{agent}` has it because {withheld} of its tools are withheld");
    }
    let layers = surface.layers_in_words();
    let deferred = if surface.is_deferred(name) {
        format!("; deferred: found by `{}`", Control::Search.as_str())
    } else {
        String::new()
    };
    format!("it is on the surface of this run of `{agent}`; every layer permits it: {layers}{deferred}")
}

/// Who judges a call of the tool before it runs.
fn judges(surface: &Surface, exposed: &ExposedTool) -> String {
    let policies = surface.host().policies().iter().map(|policy| policy.name().to_owned());
    let guards = surface.snapshot().known_guards().unwrap_or_default();
    let handlers =
        guards.handlers.about(HookName::BeforeToolCall, exposed.tool.name.as_str(), &exposed.own_handlers);
    let handlers = handlers.iter().map(|handler| handler.owner.to_string());
    let judges: Vec<String> = policies.chain(handlers).map(|name| format!("`{name}`")).collect();
    match judges.as_slice() {
        [] => "nothing stands between an accepted call and its execution".to_owned(),
        judges => format!(
            "{} judge each call first, in this order; `call --dry-run` says what they make of one",
            judges.join(", ")
        ),
    }
}

/// Why this run loaded a plugin, as the end of a sentence.
fn reasons(surface: &Surface, id: &str) -> String {
    let reasons =
        surface.plan().iter().find(|(planned, _)| planned.as_str() == id).map(|(_, reasons)| reasons);
    let Some(reasons) = reasons else { return "; this run does not need it".to_owned() };
    format!("; loaded because {}", reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join(", and "))
}

fn answer(
    subject: String,
    kind: SubjectKind,
    stop: Option<Stop>,
    evidence: impl Fn(State) -> String,
) -> Explanation {
    let stopped_at = stop.as_ref().map(|stop| stop.at);
    let states = State::ALL.map(|state| {
        let reached = stopped_at.is_none_or(|stopped| state < stopped);
        let evidence = match &stop {
            Some(stop) if state == stop.at => stop.reason.clone(),
            Some(stop) if state > stop.at => format!("it stopped at `{}`", stop.at.word()),
            _ => evidence(state),
        };
        ExplainedState { state, reached, evidence }
    });
    let (reason, rules, fix) = match stop {
        Some(stop) => (Some(stop.reason), stop.rules, Some(stop.fix)),
        None => (None, Vec::new(), None),
    };
    Explanation {
        subject,
        kind,
        states: states.to_vec(),
        stopped_at,
        reason,
        rules,
        fix,
        projected: Vec::new(),
    }
}
