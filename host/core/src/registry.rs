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
    /// The declared names; a plugin may have a thousand, and a guest waits while it is asked about each.
    declared: BTreeSet<ToolName>,
    /// Those of them that were registered.
    taken: BTreeSet<ToolName>,
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
            declared: entry.manifest.contracts.tools.iter().cloned().collect(),
            taken: BTreeSet::new(),
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
        self.taken.insert(name);
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
        let (mut claimed, mut seen) = (Vec::new(), BTreeSet::new());
        for name in names {
            let name = self.declared_name(name)?;
            if !seen.insert(name.clone()) {
                return Err(self.duplicate("tool", name.to_string()));
            }
            claimed.push(name);
        }
        self.taken.append(&mut seen);
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
        if let Some(beyond) = options.tools.iter().find(|tool| !self.declares_hook_over(hook, tool)) {
            let message = format!(
                "a `{hook}` handler of `{}` is about `{beyond}`, and its manifest declares the hook for other tools only",
                self.plugin
            );
            self.refuse(Code::HookInvalid, None, message, "add the tool to that entry of `contracts.hooks`");
            return Err(RegistrationError::Invalid(format!("`{beyond}` is not declared for `{hook}`")));
        }
        self.handlers.push(RegisteredHandler { handler, hook, options });
        Ok(())
    }

    fn declares_hook_over(&self, hook: HookName, tool: &str) -> bool {
        self.contracts.hooks.iter().any(|contract| {
            let names_it = contract.tools.iter().any(|declared| declared.as_str() == tool);
            contract.hook == hook && (contract.tools.is_empty() || names_it)
        })
    }

    /// Why the plugin as a whole must be refused, if it wanted to guard something that its manifest does not declare.
    pub(crate) fn refused_guard(&self) -> Option<&Diagnostic> {
        self.refused_guard.as_ref()
    }

    /// Closes the registrar: whatever was declared and not registered is an unfulfilled contract.
    pub(crate) fn close(mut self) -> Registration {
        for name in self.contracts.tools.clone() {
            if !self.taken.contains(&name) && !self.refused_tools.contains(&name) {
                let message = format!(
                    "the manifest of `{}` declares `{name}`, and its code did not register it",
                    self.plugin
                );
                let hint = "register the tool, or remove it from `contracts.tools`";
                self.refuse(Code::ContractUnfulfilled, Some(name.as_str()), message, hint);
            }
        }
        for contract in self.contracts.hooks.clone() {
            let hook = contract.hook;
            let is_handled = self.handlers.iter().any(|handler| handler.hook == hook);
            if !is_handled {
                let message = format!(
                    "the manifest of `{}` declares `{hook}`, and its code did not register it",
                    self.plugin
                );
                let hint = "register a handler, or remove the hook from `contracts.hooks`";
                self.refuse(Code::HookUnfulfilled, None, message, hint);
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
        let declared = self.declared.get(written).cloned();
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
        if self.taken.contains(&name) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::HookOptions;

    fn registrar(hooks: &str) -> Registrar {
        let manifest = format!(
            r#"{{"id": "p", "version": "1.0.0", "component": "p.wasm", "world": "airlock:plugin@0.1.0",
                "contracts": {{"tools": ["a", "b"], "hooks": {hooks}}}}}"#
        );
        Registrar::new(&CatalogEntry::of_manifest(&manifest))
    }

    fn options(tools: &[&str]) -> HookOptions {
        HookOptions { priority: 0, timeout_ms: None, tools: tools.iter().map(ToString::to_string).collect() }
    }

    fn tool(name: &str) -> ToolDescriptor {
        ToolDescriptor {
            name: name.to_owned(),
            title: None,
            description: "Does it.".to_owned(),
            parameters: "{}".to_owned(),
            output_schema: None,
        }
    }

    fn codes(registration: &Registration) -> Vec<&'static str> {
        registration.diagnostics.iter().map(|finding| finding.code.as_str()).collect()
    }

    #[test]
    fn hooks_agree_with_the_manifest_both_ways() {
        let mut registrar =
            registrar(r#"["after-tool-call", {"hook": "before-tool-call", "tools": ["a"]}, "host-start"]"#);
        assert_eq!(registrar.on(1, HookName::BeforeToolCall, options(&["a"])), Ok(()));
        assert!(matches!(
            registrar.on(1, HookName::AfterToolCall, options(&[])),
            Err(RegistrationError::Duplicate(_))
        ));
        assert!(matches!(
            registrar.on(2, HookName::BeforeToolCall, options(&["b"])),
            Err(RegistrationError::Invalid(_))
        ));
        assert!(matches!(
            registrar.on(3, HookName::AfterToolCall, options(&["Bash"])),
            Err(RegistrationError::Invalid(_))
        ));
        assert!(matches!(
            registrar.on(4, HookName::SessionEnd, options(&[])),
            Err(RegistrationError::Undeclared(_))
        ));
        assert!(registrar.refused_guard().is_none(), "an undeclared observer costs only itself");
        assert!(matches!(
            registrar.on(5, HookName::BeforeAgentRun, options(&[])),
            Err(RegistrationError::Undeclared(_))
        ));
        assert!(registrar.refused_guard().unwrap().message.contains("`before-agent-run`"));
        registrar.register_tool(&tool("a"), Exposure::Required).unwrap();
        registrar.register_factory(1, &["b".to_owned()], Exposure::Optional).unwrap();
        let registration = registrar.close();
        assert_eq!(
            codes(&registration),
            [
                "registration-duplicate",
                "hook-invalid",
                "hook-invalid",
                "hook-undeclared",
                "hook-undeclared",
                "hook-unfulfilled",
                "hook-unfulfilled",
            ]
        );
    }

    #[test]
    fn tools_and_factories_share_the_declared_names() {
        let mut registrar = registrar("[]");
        registrar.register_factory(7, &["a".to_owned()], Exposure::Required).unwrap();
        assert!(matches!(
            registrar.register_tool(&tool("a"), Exposure::Required),
            Err(RegistrationError::Duplicate(_))
        ));
        assert!(matches!(
            registrar.register_factory(7, &["b".to_owned()], Exposure::Required),
            Err(RegistrationError::Duplicate(_))
        ));
        assert!(matches!(
            registrar.register_tool(&tool("c"), Exposure::Required),
            Err(RegistrationError::Undeclared(_))
        ));
        let external = ToolDescriptor { parameters: r#"{"$ref": "http://a.b"}"#.to_owned(), ..tool("b") };
        assert!(matches!(
            registrar.register_tool(&external, Exposure::Required),
            Err(RegistrationError::Invalid(_))
        ));
        let registration = registrar.close();
        let expected =
            ["registration-duplicate", "registration-duplicate", "tool-undeclared", "tool-invalid"];
        assert_eq!(codes(&registration), expected, "a refused tool is not also unfulfilled");
    }

    #[test]
    fn a_guest_that_registers_in_a_loop_is_bounded() {
        let mut registrar = registrar(r#"["after-tool-call"]"#);
        for handler in 0..10_000 {
            let _ = registrar.on(handler, HookName::AfterToolCall, options(&[]));
            let _ = registrar.register_tool(&tool("nowhere"), Exposure::Required);
        }
        let registration = registrar.close();
        assert_eq!(
            (registration.handlers.len(), registration.diagnostics.len()),
            (MAX_REGISTRATIONS, MAX_DIAGNOSTICS)
        );
    }
}
