//! `airlock plugins`: what is installed, and which of the six states each plugin has reached.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use airlock_core::{Diagnostic, Effective, Grants, Origin, Permissions, PluginStatus, Severity, text};
use serde::Serialize;

use crate::arguments::{Format, PluginsCommand};
use crate::failure::Failure;
use crate::page::{self, FAINT};
use crate::reach;
use crate::setup::Setup;

#[derive(Debug, Serialize)]
struct Document {
    plugins: Vec<Plugin>,
    /// What belongs to no one plugin, such as a root that cannot be read.
    diagnostics: Vec<Diagnostic>,
}

#[derive(Debug, Serialize)]
struct Plugin {
    /// Absent if the manifest cannot be read.
    id: Option<String>,
    version: Option<String>,
    origin: Origin,
    #[serde(serialize_with = "airlock_core::lossily")]
    path: PathBuf,
    state: &'static str,
    tools: Vec<String>,
    hooks: Vec<&'static str>,
    permissions: PermissionSets,
    diagnostics: Vec<Diagnostic>,
}

/// What a plugin may reach is what it asked for and the operator granted.
#[derive(Debug, Default, Serialize)]
struct PermissionSets {
    asked: Permissions,
    granted: Grants,
    effective: Effective,
}

pub(crate) async fn run(command: &PluginsCommand, setup: &Setup) -> Result<ExitCode, Failure> {
    let statuses = setup.with_progress(setup.host.inspect()).await;
    let found = setup.host.diagnostics();
    let mut plugins: Vec<Plugin> = setup.host.broken_packages().into_iter().map(broken).collect();
    plugins.extend(statuses.iter().map(|status| plugin(status, &found)));
    plugins.sort_by(|one, other| (&one.id, &one.path).cmp(&(&other.id, &other.path)));
    let is_somebodys =
        |diagnostic: &&Diagnostic| plugins.iter().any(|plugin| plugin.diagnostics.contains(diagnostic));
    let diagnostics = found.iter().filter(|diagnostic| !is_somebodys(diagnostic)).cloned().collect();
    if let Some(id) = &command.id {
        let known: Vec<String> = plugins.iter().filter_map(|plugin| plugin.id.clone()).collect();
        plugins.retain(|plugin| plugin.id.as_ref() == Some(id));
        if plugins.is_empty() {
            let meant = text::suggest(id, known.iter().map(String::as_str));
            let hint = meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            return Err(Failure::usage(format!("no plugin `{}` is installed{hint}", text::single_line(id))));
        }
    }
    let document = Document { plugins, diagnostics };
    match setup.format {
        Format::Json => page::json(&document)?,
        Format::Human => {
            show(&document)?;
            // Of one plugin a person wants to know more.
            let one = command.id.as_ref();
            let named = statuses
                .iter()
                .filter(|status| one.is_some_and(|id| status.entry.manifest.id.as_str() == id));
            for status in named {
                let asked = &status.entry.manifest.permissions;
                reach::show(&mut page::standard_output(), asked, &status.capabilities)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn broken((folder, origin, diagnostic): (PathBuf, Origin, Diagnostic)) -> Plugin {
    Plugin {
        id: None,
        version: None,
        origin,
        path: folder,
        state: "installed",
        tools: Vec::new(),
        hooks: Vec::new(),
        permissions: PermissionSets::default(),
        diagnostics: vec![diagnostic],
    }
}

fn plugin(status: &PluginStatus, catalogue: &[Diagnostic]) -> Plugin {
    let manifest = &status.entry.manifest;
    let (state, tools, mut diagnostics) = match &status.loaded {
        Ok(Some(loaded)) => {
            let registration = &loaded.registration;
            let tools = registration.tools.iter().map(|registered| registered.tool.name.to_string());
            let made = registration.factories.iter().flat_map(|factory| &factory.names);
            let tools = tools.chain(made.map(ToString::to_string)).collect();
            ("registered", tools, loaded.registration.diagnostics.clone())
        }
        Ok(None) => ("discovered", Vec::new(), Vec::new()),
        Err(diagnostic) => ("discovered", Vec::new(), vec![diagnostic.clone()]),
    };
    // A conflict over one of its tools is the plugin's business too.
    let manifest_file = status.entry.folder.join(airlock_core::MANIFEST_FILE);
    let is_about_it =
        |diagnostic: &&Diagnostic| diagnostic.location.as_ref().is_some_and(|at| at.path == manifest_file);
    diagnostics.extend(catalogue.iter().filter(is_about_it).cloned());
    diagnostics.sort();
    diagnostics.dedup();
    Plugin {
        id: Some(manifest.id.to_string()),
        version: Some(manifest.version.to_string()),
        origin: status.entry.origin,
        path: status.entry.folder.clone(),
        state,
        tools,
        hooks: manifest.contracts.hooks.iter().map(|contract| contract.hook.as_str()).collect(),
        permissions: PermissionSets {
            asked: manifest.permissions.clone(),
            granted: status.granted.clone(),
            effective: status.capabilities.effective(),
        },
        diagnostics,
    }
}

fn show(document: &Document) -> std::io::Result<()> {
    let mut output = page::standard_output();
    if document.plugins.is_empty() && document.diagnostics.is_empty() {
        writeln!(output, "no plugins: name a folder that holds some with `--plugins DIR`")?;
    } else {
        let rows: Vec<_> = document.plugins.iter().map(row).collect();
        page::table(&mut output, ["PLUGIN", "VERSION", "ORIGIN", "STATE", "TOOLS"], &rows)?;
    }
    let mut all: Vec<_> =
        document.plugins.iter().flat_map(|plugin| &plugin.diagnostics).chain(&document.diagnostics).collect();
    all.sort();
    all.dedup();
    for diagnostic in &all {
        writeln!(output)?;
        page::diagnostic(&mut output, diagnostic)?;
    }
    let errors = all.iter().filter(|diagnostic| diagnostic.severity() == Severity::Error).count();
    if errors > 0 {
        let problems = if errors == 1 { "problem" } else { "problems" };
        writeln!(output, "\n{FAINT}{errors} {problems}; plugins without one are not affected{FAINT:#}")?;
    }
    Ok(())
}

fn row(plugin: &Plugin) -> [String; 5] {
    let folder = plugin.path.file_name().unwrap_or_default().display().to_string();
    [
        plugin.id.clone().unwrap_or_else(|| format!("({})", text::single_line(&folder))),
        plugin.version.clone().unwrap_or_else(|| "–".to_owned()),
        plugin.origin.to_string(),
        plugin.state.to_owned(),
        plugin.tools.join(", "),
    ]
}
