//! The rules that need no plugin code: a candidate enters, every cause that removes it leaves; none means it survives.
//!
//! Each rule is asked, whatever the others say, so that a removal names all of its causes.

use serde_json::Value;

use super::pool::{Candidate, Source};
use super::{Cause, Owner, Rule, Stage};
use crate::config::Config;
use crate::host::Snapshot;
use crate::manifest::JsonPointer;
use crate::policy::{RunPolicy, Words};
use crate::run::RunContext;

/// What the rules look at besides the candidate.
#[derive(Debug)]
pub(super) struct Rules<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) run: &'a RunContext,
    pub(super) policy: RunPolicy<'a>,
}

impl<'a> Rules<'a> {
    pub(super) fn new(snapshot: &'a Snapshot, run: &'a RunContext) -> Self {
        Self { snapshot, run, policy: snapshot.policy.for_run(run, &snapshot.config) }
    }

    /// Every cause that removes the candidate, in the order of the stages.
    pub(super) fn causes(&self, candidate: &Candidate, words: Words) -> Vec<Cause> {
        let mut causes = Vec::new();
        self.enabled(candidate, &mut causes);
        self.available(candidate, &mut causes);
        if candidate.metadata.optional {
            let author = if candidate.owner == Owner::Core { "author" } else { "manifest" };
            causes.extend(self.opted_in(candidate, author));
        }
        self.uncontested(candidate, &mut causes);
        self.on_channel(candidate, &mut causes);
        self.for_model(candidate, &mut causes);
        if !self.policy.permits(candidate) {
            causes.extend(self.policy.causes(candidate, words));
        }
        self.for_client(candidate, &mut causes);
        causes
    }

    /// Its plugin is one that is used.
    fn enabled(&self, candidate: &Candidate, causes: &mut Vec<Cause>) {
        if let Source::Plugin(entry) = &candidate.source {
            causes.extend(entry.refusals.iter().map(|refusal| Cause::because(Stage::Enablement, refusal)));
        }
    }

    /// One of the providers and settings that it needs is there, if it needs any.
    fn available(&self, candidate: &Candidate, causes: &mut Vec<Cause>) {
        let (providers, signals) = (&candidate.metadata.auth_providers, &candidate.metadata.config_signals);
        let (needs_no_provider, needs_no_setting) = (providers.is_empty(), signals.is_empty());
        if needs_no_provider && needs_no_setting {
            return;
        }
        let is_set = |pointer: &JsonPointer| match &candidate.source {
            Source::Native(_) => false,
            Source::Plugin(entry) => is_set(entry.configuration.pointer(pointer.as_str())),
        };
        let config = &self.snapshot.config;
        if providers.iter().any(|provider| is_authenticated(provider, config, self.run))
            || signals.iter().any(is_set)
        {
            return;
        }
        let wanted = providers.iter().map(|provider| format!("the provider `{provider}`"));
        let signals = signals.iter().map(|signal| format!("the setting `{}`", signal.as_str()));
        let wanted = wanted.chain(signals).collect::<Vec<_>>().join(" or ");
        let fields = [("authProviders", needs_no_provider), ("configSignals", needs_no_setting)];
        for (field, _) in fields.into_iter().filter(|(_, needs_none)| !needs_none) {
            causes.push(Cause {
                stage: Stage::Availability,
                rule: Rule::of(Stage::Availability, field, candidate.marked_at(field)),
                reason: format!("`{}` needs {wanted}, and there is none", candidate.name),
                fix: "authenticate the provider in `providers.authenticated`, or configure the plugin"
                    .to_owned(),
            });
        }
    }

    /// An operator's entry names it. `made_optional_by` says which side wants that.
    pub(super) fn opted_in(&self, candidate: &Candidate, made_optional_by: &str) -> Option<Cause> {
        if self.policy.opts_in(candidate) {
            return None;
        }
        let name = &candidate.name;
        let location = candidate.metadata.optional.then(|| candidate.marked_at("optional")).flatten();
        let (rule, fix) = (
            format!("optional by its {made_optional_by}"),
            format!("name `{name}`, its plugin or a glob in an `allow` or `also-allow` of the operator's"),
        );
        Some(Cause {
            stage: Stage::Optional,
            rule: Rule::of(Stage::Optional, &rule, location),
            reason: format!("`{name}` is optional, and no allow entry names it"),
            fix,
        })
    }

    /// No other owner has the name.
    fn uncontested(&self, candidate: &Candidate, causes: &mut Vec<Cause>) {
        let Source::Plugin(entry) = &candidate.source else { return };
        let conflict = self.snapshot.catalogue.conflict(&entry.manifest.id, &candidate.name);
        causes.extend(conflict.map(|conflict| Cause::because(Stage::Conflict, &conflict.diagnostic)));
    }

    /// The run's channel is one of its own, if it has its own.
    fn on_channel(&self, candidate: &Candidate, causes: &mut Vec<Cause>) {
        let channels = &candidate.metadata.channels;
        let is_here = |name: &str| channels.iter().any(|channel| channel.eq_ignore_ascii_case(name));
        let here = self.run.channel.as_ref().map(|channel| channel.name.as_str());
        if channels.is_empty() || here.is_some_and(is_here) {
            return;
        }
        let here = here.map_or_else(|| "no channel".to_owned(), |here| format!("the channel `{here}`"));
        let named = channels.iter().map(|channel| format!("`{channel}`")).collect::<Vec<_>>().join(", ");
        causes.push(Cause {
            stage: Stage::Channel,
            rule: Rule::of(Stage::Channel, "channels", candidate.marked_at("channels")),
            reason: format!("`{}` exists on {named} only, and this run has {here}", candidate.name),
            fix: "use it in a run of that channel".to_owned(),
        });
    }

    /// The run's model can use it, and its provider does not bring a tool of that name.
    fn for_model(&self, candidate: &Candidate, causes: &mut Vec<Cause>) {
        let name = &candidate.name;
        let provider = self.run.model.as_ref().map(|model| model.provider.as_str());
        let excluded =
            |excluded: &String| provider.is_some_and(|provider| excluded.eq_ignore_ascii_case(provider));
        let shown = provider.map_or_else(
            || "the model's provider".to_owned(),
            |provider| format!("the provider `{provider}`"),
        );
        if candidate.metadata.exclude_providers.iter().any(excluded) {
            causes.push(Cause {
                stage: Stage::Model,
                rule: Rule::of(Stage::Model, "excludeProviders", candidate.marked_at("excludeProviders")),
                reason: format!("`{name}` does not work with {shown}"),
                fix: "use it in a run of another model provider".to_owned(),
            });
        }
        let native = self.run.native_model_tools.iter().enumerate();
        for (place, _) in native.filter(|(_, native)| *native == name) {
            let location = self.run.location(&["native-model-tools", &place.to_string()]);
            causes.push(Cause {
                stage: Stage::Model,
                rule: Rule::of(Stage::Model, "native-model-tools", location),
                reason: format!("{shown} brings its own `{name}`"),
                fix: "switch the provider's own tool off".to_owned(),
            });
        }
    }

    /// The client can do what it asks for.
    fn for_client(&self, candidate: &Candidate, causes: &mut Vec<Cause>) {
        let wanted = candidate.metadata.client_capabilities.iter();
        let missing: Vec<_> =
            wanted.filter(|capability| !self.run.client_capabilities.contains(capability)).collect();
        if missing.is_empty() {
            return;
        }
        let missing =
            missing.iter().map(|capability| format!("`{capability}`")).collect::<Vec<_>>().join(", ");
        causes.push(Cause {
            stage: Stage::Client,
            rule: Rule::of(Stage::Client, "clientCapabilities", candidate.marked_at("clientCapabilities")),
            reason: format!("`{}` needs a client that can {missing}", candidate.name),
            fix: "use a client that has the capability, and name it with `--client-capability`".to_owned(),
        });
    }
}

/// Whether the host holds a usable credential of the provider.
pub(super) fn is_authenticated(provider: &String, config: &Config, run: &RunContext) -> bool {
    let file = config.file();
    file.providers.authenticated.contains(provider)
        || run.authenticated_providers.contains(provider)
        || file.secrets.contains_key(provider)
}

/// Whether a setting holds something.
fn is_set(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(_) => true,
    }
}
