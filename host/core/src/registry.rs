//! Registered: what a plugin's code says, held against what its manifest declared. Neither side guesses the other.
//!
//! A [`Registrar`] judges each registration while `register` runs and is closed when it returned.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::catalog::CatalogEntry;
use crate::diagnostic::{Code, Diagnostic};
use crate::hooks::{HookName, HookOptions};
use crate::id::{PluginId, ToolName};
use crate::manifest::Contracts;
use crate::text;
use crate::tool::{Tool, ToolDescriptor};

/// How many findings one `register` leaves: a guest that registers in a loop must not fill memory with refusals.
const MAX_DIAGNOSTICS: usize = 64;

/// Whether a tool is in the candidate pool by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Whenever the plugin is enabled and available.
    Required,
    /// Only where an operator's allow entry names it.
    Optional,
}

/// What a guest is told about a refused registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RegistrationError {
    /// The manifest's contracts do not declare this name.
    Undeclared(String),
    /// This plugin already registered this name or id.
    Duplicate(String),
    /// It breaks a rule.
    Invalid(String),
    /// `register` has returned.
    Closed,
}

/// One registered tool.
#[derive(Debug, Clone)]
pub struct RegisteredTool {
    /// The tool.
    pub tool: Arc<Tool>,
    /// Whether it needs an opt-in.
    pub exposure: Exposure,
}

/// A promise to make tools per run.
#[derive(Debug, Clone)]
pub struct RegisteredFactory {
    /// The plugin's own number for it.
    pub factory: u32,
    /// The only names it may return.
    pub names: Vec<ToolName>,
    /// Whether they need an opt-in.
    pub exposure: Exposure,
}

/// A handler for a hook.
#[derive(Debug, Clone)]
pub struct RegisteredHandler {
    /// The plugin's own number for it.
    pub handler: u32,
    /// The checkpoint.
    pub hook: HookName,
    /// What it asked for.
    pub options: HookOptions,
}

/// Judges registrations of one plugin while its `register` runs.
#[derive(Debug, Clone)]
pub struct Registrar {
    plugin: PluginId,
    contracts: Contracts,
    tools: Vec<RegisteredTool>,
    factories: Vec<RegisteredFactory>,
    handlers: Vec<RegisteredHandler>,
    diagnostics: Vec<Diagnostic>,
    refused_guard: bool,
}

/// What a plugin registered, after its registrar closed.
#[derive(Debug, Clone)]
pub struct Registration {
    /// Static tools.
    pub tools: Vec<RegisteredTool>,
    /// Factories.
    pub factories: Vec<RegisteredFactory>,
    /// Hook handlers.
    pub handlers: Vec<RegisteredHandler>,
    /// Every refusal and every unfulfilled contract.
    pub diagnostics: Vec<Diagnostic>,
}

impl Registrar {
    /// A registrar that holds registrations against `entry`'s contracts.
    pub(crate) fn new(entry: &CatalogEntry) -> Self {
        Self {
            plugin: entry.manifest.id.clone(),
            contracts: entry.manifest.contracts.clone(),
            tools: Vec::new(),
            factories: Vec::new(),
            handlers: Vec::new(),
            diagnostics: Vec::new(),
            refused_guard: false,
        }
    }

    /// Registers a static tool.
    ///
    /// # Errors
    /// If the name is not declared or taken, or the tool's texts or schemas break a rule.
    pub fn register_tool(
        &mut self,
        descriptor: &ToolDescriptor,
        exposure: Exposure,
    ) -> Result<(), RegistrationError> {
        let name = self.declared_name(&descriptor.name)?;
        let tool = Tool::accept(name.clone(), descriptor).map_err(|cause| {
            let message = format!("the tool `{name}` is refused: {cause}");
            self.refuse(Code::ToolInvalid, name.as_str(), message, "correct the tool in the plugin's code");
            RegistrationError::Invalid(cause)
        })?;
        if tool.was_escaped {
            let message = format!(
                "the texts of `{name}` hold invisible or direction-changing characters, shown escaped"
            );
            self.refuse(Code::TextEscaped, name.as_str(), message, "remove them from the plugin's code");
        }
        self.tools.push(RegisteredTool { tool: Arc::new(tool), exposure });
        Ok(())
    }

    /// Registers a factory for some declared names.
    ///
    /// # Errors
    /// If its number or a name is taken, or a name is not declared.
    pub fn register_factory(
        &mut self,
        factory: u32,
        names: &[String],
        exposure: Exposure,
    ) -> Result<(), RegistrationError> {
        if self.factories.iter().any(|known| known.factory == factory) {
            return Err(self.duplicate("factory", factory.to_string()));
        }
        let mut claimed = Vec::new();
        for name in names {
            let name = self.declared_name(name)?;
            if claimed.contains(&name) {
                return Err(self.duplicate("tool", name.to_string()));
            }
            claimed.push(name);
        }
        self.factories.push(RegisteredFactory { factory, names: claimed, exposure });
        Ok(())
    }

    /// Registers a handler for a declared hook.
    ///
    /// # Errors
    /// If the hook is not declared, the number is taken, or the options break a rule.
    pub fn on(
        &mut self,
        handler: u32,
        hook: HookName,
        options: HookOptions,
    ) -> Result<(), RegistrationError> {
        if !self.contracts.hooks.iter().any(|contract| contract.hook == hook) {
            self.refused_guard |= hook.is_fail_closed();
            let message = format!("the hook `{hook}` is registered and not declared in the manifest");
            self.refuse(
                Code::HookUndeclared,
                self.plugin.clone().as_str(),
                message,
                "declare it in `contracts.hooks`",
            );
            return Err(RegistrationError::Undeclared(hook.to_string()));
        }
        if self.handlers.iter().any(|known| known.handler == handler) {
            return Err(self.duplicate("handler", handler.to_string()));
        }
        if let Some(problem) = options.tools.iter().find_map(|tool| ToolName::parse(tool).err()) {
            let message =
                format!("the handler {handler} of `{hook}` names a tool that cannot exist: {problem}");
            self.refuse(Code::HookInvalid, self.plugin.clone().as_str(), message, "use canonical tool names");
            return Err(RegistrationError::Invalid(problem.to_string()));
        }
        self.handlers.push(RegisteredHandler { handler, hook, options });
        Ok(())
    }

    /// Whether the plugin as a whole must be refused: it wanted to guard something that its manifest does not declare.
    pub(crate) fn refused_a_guard(&self) -> bool {
        self.refused_guard
    }

    /// Closes the registrar: whatever was declared and not registered is an unfulfilled contract.
    pub(crate) fn close(mut self) -> Registration {
        let registered: BTreeSet<ToolName> = self
            .tools
            .iter()
            .map(|registered| registered.tool.name.clone())
            .chain(self.factories.iter().flat_map(|factory| factory.names.iter().cloned()))
            .collect();
        for name in self.contracts.tools.clone() {
            if !registered.contains(&name) {
                let message =
                    format!("the manifest declares `{name}`, and the plugin's code did not register it");
                self.refuse(
                    Code::ContractUnfulfilled,
                    name.as_str(),
                    message,
                    "register the tool, or remove it from `contracts.tools`",
                );
            }
        }
        Registration {
            tools: self.tools,
            factories: self.factories,
            handlers: self.handlers,
            diagnostics: self.diagnostics,
        }
    }

    /// The name as one that this plugin declared and has not used yet.
    fn declared_name(&mut self, written: &str) -> Result<ToolName, RegistrationError> {
        let shown = text::single_line(&text::shorten(written, 80)).into_owned();
        let declared = self.contracts.tools.iter().find(|name| name.as_str() == written).cloned();
        let Some(name) = declared else {
            let meant = text::suggest(written, self.contracts.tools.iter().map(ToolName::as_str));
            let hint = meant.map_or_else(
                || "declare it in `contracts.tools` of the manifest".to_owned(),
                |name| format!("did you mean `{name}`, which is declared?"),
            );
            let message =
                format!("the plugin's code registers `{shown}`, which its manifest does not declare");
            self.refuse(Code::ToolUndeclared, &shown, message, hint);
            return Err(RegistrationError::Undeclared(shown));
        };
        let is_taken = self.tools.iter().any(|registered| registered.tool.name == name)
            || self.factories.iter().any(|factory| factory.names.contains(&name));
        if is_taken {
            return Err(self.duplicate("tool", shown));
        }
        Ok(name)
    }

    fn duplicate(&mut self, what: &str, which: String) -> RegistrationError {
        let message = format!("the {what} `{which}` is registered twice");
        self.refuse(Code::RegistrationDuplicate, self.plugin.clone().as_str(), message, "register it once");
        RegistrationError::Duplicate(which)
    }

    fn refuse(&mut self, code: Code, subject: &str, message: String, hint: impl Into<String>) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(Diagnostic::new(code, subject, message, hint));
        }
    }
}
