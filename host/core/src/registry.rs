//! Registered: what a plugin's code says, held against what its manifest declared. Neither side guesses the other.
//!
//! A [`Registrar`] judges each registration while `register` runs and is closed when it returned.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::catalog::CatalogEntry;
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::hooks::{HookName, HookOptions};
use crate::id::{PluginId, ToolName};
use crate::manifest::{Contracts, MANIFEST_FILE};
use crate::text;
use crate::tool::{Tool, ToolDescriptor};

/// How many factories and handlers one plugin registers at most, and how many tools a handler is limited to: well
/// above any plugin, well below what a hostile one would like to make the host keep.
const MAX_REGISTRATIONS: usize = 256;

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
    /// Declared names whose registration was refused: they have a finding of their own already.
    refused_tools: BTreeSet<ToolName>,
    diagnostics: Vec<Diagnostic>,
    refused_guard: Option<Diagnostic>,
    /// The manifest, where most of what is refused can be mended.
    location: Location,
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
            refused_tools: BTreeSet::new(),
            diagnostics: Vec::new(),
            refused_guard: None,
            location: Location::path(entry.folder.join(MANIFEST_FILE)),
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
            self.refused_tools.insert(name.clone());
            let message = format!("the tool `{name}` of `{}` is refused: {cause}", self.plugin);
            self.refuse(
                Code::ToolInvalid,
                Some(name.as_str()),
                message,
                "correct the tool in the plugin's code",
            );
            RegistrationError::Invalid(cause)
        })?;
        if tool.was_escaped {
            let message = format!(
                "the texts of `{name}` of `{}` hold invisible or direction-changing characters, shown escaped",
                self.plugin
            );
            self.refuse(
                Code::TextEscaped,
                Some(name.as_str()),
                message,
                "remove them from the plugin's code",
            );
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
        if self.factories.len() >= MAX_REGISTRATIONS {
            return Err(self.too_many("factories"));
        }
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
            let message = format!(
                "the code of `{}` registers the hook `{hook}`, which its manifest does not declare",
                self.plugin
            );
            let finding =
                self.finding(Code::HookUndeclared, None, message, "declare it in `contracts.hooks`");
            if hook.is_fail_closed() {
                self.refused_guard.get_or_insert_with(|| finding.clone());
            }
            self.keep(finding);
            return Err(RegistrationError::Undeclared(hook.to_string()));
        }
        if self.handlers.len() >= MAX_REGISTRATIONS || options.tools.len() > MAX_REGISTRATIONS {
            return Err(self.too_many("handlers, or tools of a handler"));
        }
        if self.handlers.iter().any(|known| known.handler == handler) {
            return Err(self.duplicate("handler", handler.to_string()));
        }
        if let Some(problem) = options.tools.iter().find_map(|tool| ToolName::parse(tool).err()) {
            let message =
                format!("a `{hook}` handler of `{}` names a tool that cannot exist: {problem}", self.plugin);
            self.refuse(Code::HookInvalid, None, message, "use canonical tool names");
            return Err(RegistrationError::Invalid(problem.to_string()));
        }
        self.handlers.push(RegisteredHandler { handler, hook, options });
        Ok(())
    }

    /// Why the plugin as a whole must be refused, if it wanted to guard something that its manifest does not declare.
    pub(crate) fn refused_guard(&self) -> Option<&Diagnostic> {
        self.refused_guard.as_ref()
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
            if !registered.contains(&name) && !self.refused_tools.contains(&name) {
                let message = format!(
                    "the manifest of `{}` declares `{name}`, and its code did not register it",
                    self.plugin
                );
                let hint = "register the tool, or remove it from `contracts.tools`";
                self.refuse(Code::ContractUnfulfilled, Some(name.as_str()), message, hint);
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
            let message = format!(
                "the code of `{}` registers `{shown}`, which its manifest does not declare",
                self.plugin
            );
            self.refuse(Code::ToolUndeclared, Some(&shown), message, hint);
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
        let message = format!("the code of `{}` registers the {what} `{which}` twice", self.plugin);
        self.refuse(Code::RegistrationDuplicate, None, message, "register it once");
        RegistrationError::Duplicate(which)
    }

    fn too_many(&mut self, what: &str) -> RegistrationError {
        let cause = format!("more than {MAX_REGISTRATIONS} {what}");
        let message = format!("the code of `{}` registers {cause}", self.plugin);
        self.refuse(Code::HookInvalid, None, message, "register fewer");
        RegistrationError::Invalid(cause)
    }

    fn refuse(&mut self, code: Code, tool: Option<&str>, message: String, hint: impl Into<String>) {
        let finding = self.finding(code, tool, message, hint);
        self.keep(finding);
    }

    /// A finding about one of the plugin's tools, or about the plugin.
    fn finding(
        &self,
        code: Code,
        tool: Option<&str>,
        message: String,
        hint: impl Into<String>,
    ) -> Diagnostic {
        let subject = tool.unwrap_or(self.plugin.as_str());
        Diagnostic::new(code, subject, message, hint).at(self.location.clone())
    }

    fn keep(&mut self, finding: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(finding);
        }
    }
}
