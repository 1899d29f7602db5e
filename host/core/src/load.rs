//! Discovered → registered: a catalogue entry enters, a compiled plugin with its closed registration leaves.
//!
//! Each plugin of a snapshot is loaded and registered at most once, when something first needs it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;

use crate::catalog::{CatalogEntry, Catalogue};
use crate::diagnostic::{Code, Diagnostic};
use crate::id::{PluginId, ToolName};
use crate::limits::Limits;
use crate::plugin::{LoadRequest, Plugin, Sandbox, Stop};
use crate::registry::{RegisteredTool, Registrar, Registration};
use crate::text;

/// A plugin whose code was compiled and whose `register` agreed to be run.
#[derive(Debug)]
pub struct Loaded {
    /// The code.
    pub plugin: Arc<dyn Plugin>,
    /// What it registered.
    pub registration: Registration,
    /// What each of its invocations may use.
    pub(crate) limits: Limits,
}

impl Loaded {
    /// The static tool of that name.
    pub(crate) fn tool(&self, name: &ToolName) -> Option<&RegisteredTool> {
        self.registration.tools.iter().find(|registered| registered.tool.name == *name)
    }
}

/// Loads the plugins of one catalogue on demand.
#[derive(Debug)]
pub(crate) struct Loader {
    sandbox: Arc<dyn Sandbox>,
    limits: Limits,
    patience: Duration,
    /// A lock a plugin, so that two runs that need it wait for one loading; `None` until it was tried.
    slots: BTreeMap<PluginId, Mutex<Option<LoadResult>>>,
}

type LoadResult = Result<Arc<Loaded>, Diagnostic>;

impl Loader {
    pub(crate) fn new(
        catalogue: &Catalogue,
        sandbox: Arc<dyn Sandbox>,
        limits: Limits,
        patience: Duration,
    ) -> Self {
        let slots =
            catalogue.entries().iter().map(|entry| (entry.manifest.id.clone(), Mutex::new(None))).collect();
        Self { sandbox, limits, patience, slots }
    }

    /// The loaded plugin, or why it cannot be. A failure is remembered, except that one was not ready yet.
    pub(crate) async fn load(&self, entry: &CatalogEntry) -> LoadResult {
        if let Some(refusal) = &entry.refusal {
            return Err(refusal.clone());
        }
        let Some(slot) = self.slots.get(&entry.manifest.id) else {
            return Err(register_failed(entry, "the plugin is not part of this snapshot".to_owned()));
        };
        let mut slot = slot.lock().await;
        if let Some(known) = &*slot {
            return known.clone();
        }
        let result = self.load_now(entry).await.map(Arc::new);
        if !matches!(&result, Err(diagnostic) if diagnostic.code == Code::NotReady) {
            *slot = Some(result.clone());
        }
        result
    }

    async fn load_now(&self, entry: &CatalogEntry) -> Result<Loaded, Diagnostic> {
        let Some(component) = entry.component.clone() else {
            return Err(Diagnostic::new(
                Code::ComponentMissing,
                &entry.manifest.id,
                "the plugin has no code to load",
                "name a `component`",
            ));
        };
        let plugin = self
            .sandbox
            .load(LoadRequest {
                plugin: entry.manifest.id.clone(),
                component,
                permissions: entry.manifest.permissions.clone(),
                configuration: "{}".into(),
                patience: self.patience,
            })
            .await?;
        let limits = self.limits.lowered_by(&entry.manifest.limits);
        let registered = plugin.register(Registrar::new(entry), limits.for_registration()).await;
        match registered.end {
            Ok(Ok(())) => {}
            Ok(Err(message)) => {
                return Err(register_failed(
                    entry,
                    format!("`register` failed: {}", text::single_line(&text::shorten(&message, 500))),
                ));
            }
            Err(Stop::Mismatched(cause)) => {
                let message = format!("the component does not fit the contract that it claims: {cause}");
                let hint = "build it against the released contract of that version";
                return Err(Diagnostic::new(Code::WorldMismatch, &entry.manifest.id, message, hint));
            }
            Err(stop) => return Err(register_failed(entry, format!("`register` {}", stopped(&stop)))),
        }
        if registered.registrar.refused_a_guard() {
            let registration = registered.registrar.close();
            let cause = registration
                .diagnostics
                .into_iter()
                .find(|diagnostic| diagnostic.code == Code::HookUndeclared);
            return Err(cause
                .unwrap_or_else(|| register_failed(entry, "an undeclared hook was registered".to_owned())));
        }
        Ok(Loaded { plugin, registration: registered.registrar.close(), limits })
    }
}

fn register_failed(entry: &CatalogEntry, message: String) -> Diagnostic {
    Diagnostic::new(
        Code::RegisterFailed,
        &entry.manifest.id,
        message,
        "correct the plugin's `register`; none of its tools is available",
    )
}

/// How a guest stopped, as the end of a sentence about it.
pub(crate) fn stopped(stop: &Stop) -> String {
    match stop {
        Stop::TimedOut => "ran into its deadline".to_owned(),
        Stop::OutOfFuel => "ran out of fuel".to_owned(),
        Stop::OutOfMemory => "ran out of memory".to_owned(),
        Stop::OutputTooLarge(what) => format!("passed too much to the host: {what}"),
        Stop::Trapped { cause, panic: None } => format!("trapped: {cause}"),
        Stop::Trapped { panic: Some(panic), .. } => format!("panicked: {}", text::single_line(panic)),
        Stop::Busy => "found no free slot in time".to_owned(),
        Stop::Mismatched(cause) => format!("does not fit its contract: {cause}"),
        Stop::HostFault(what) => format!("met a fault of the host: {what}"),
    }
}
