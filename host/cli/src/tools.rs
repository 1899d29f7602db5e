//! `airlock tools`: the surface of one run, and why other tools are missing from it.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::ExitCode;

use airlock_core::{Diagnostic, Origin, Removal, Surface, ToolName};
use serde::Serialize;

use crate::arguments::{Format, ToolsCommand};
use crate::failure::Failure;
use crate::page::{self, FAINT};
use crate::setup::Setup;

#[derive(Debug, Serialize)]
struct Document<'surface> {
    tools: Vec<Tool<'surface>>,
    removed: &'surface [Removal],
    diagnostics: &'surface [Diagnostic],
}

#[derive(Debug, Serialize)]
struct Tool<'surface> {
    name: &'surface str,
    plugin: String,
    /// Null for a native tool.
    origin: Option<Origin>,
    optional: bool,
    /// Whether a model is not shown it at once, and finds it with `tool_search`.
    deferred: bool,
    description: &'surface str,
}

pub(crate) async fn run(command: &ToolsCommand, setup: &Setup) -> Result<ExitCode, Failure> {
    let surface = setup.with_progress(setup.host.assemble(command.run.context()?)).await;
    let document = document(&surface);
    match setup.format {
        Format::Json => page::json(&document)?,
        Format::Human => show(&document)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn document(surface: &Surface) -> Document<'_> {
    let deferred: BTreeSet<&ToolName> = surface.deferred().map(|exposed| &exposed.tool.name).collect();
    // What a model is shown has the host's own tools that find the others.
    let mut all: Vec<_> = surface.deferred().chain(surface.offered()).collect();
    all.sort_by_key(|exposed| &exposed.tool.name);
    let tools = all.into_iter().map(|exposed| Tool {
        name: exposed.tool.name.as_str(),
        plugin: exposed.owner.to_string(),
        origin: exposed.origin,
        optional: exposed.optional,
        deferred: deferred.contains(&exposed.tool.name),
        description: &exposed.tool.description,
    });
    Document { tools: tools.collect(), removed: surface.removed(), diagnostics: surface.diagnostics() }
}

fn show(document: &Document<'_>) -> std::io::Result<()> {
    let mut output = page::standard_output();
    let deferred = document.tools.iter().filter(|tool| tool.deferred).count();
    if document.tools.is_empty() {
        writeln!(output, "no tools on this surface")?;
    } else if deferred > 0 {
        let shown = |tool: &Tool<'_>| {
            let when = if tool.deferred { "deferred" } else { "at once" };
            [tool.name.to_owned(), tool.plugin.clone(), when.to_owned(), page::summary(tool.description)]
        };
        let rows: Vec<_> = document.tools.iter().map(shown).collect();
        page::table(&mut output, ["TOOL", "PLUGIN", "SHOWN", "DESCRIPTION"], &rows)?;
    } else {
        let rows: Vec<_> = document
            .tools
            .iter()
            .map(|tool| [tool.name.to_owned(), tool.plugin.clone(), page::summary(tool.description)])
            .collect();
        page::table(&mut output, ["TOOL", "PLUGIN", "DESCRIPTION"], &rows)?;
    }
    if !document.removed.is_empty() {
        writeln!(output)?;
        let rows: Vec<_> = document
            .removed
            .iter()
            .map(|removal| {
                let more = removal.rules.len().saturating_sub(1);
                let more = match more {
                    0 => String::new(),
                    1 => " (and 1 more rule)".to_owned(),
                    more => format!(" (and {more} more rules)"),
                };
                let reason = format!("{}{more}", removal.reason);
                [removal.name.to_string(), removal.plugin.to_string(), removal.stage.to_string(), reason]
            })
            .collect();
        page::table(&mut output, ["REMOVED", "PLUGIN", "STAGE", "REASON"], &rows)?;
    }
    for diagnostic in document.diagnostics {
        writeln!(output)?;
        page::diagnostic(&mut output, diagnostic)?;
    }
    let (exposed, removed) = (document.tools.len(), document.removed.len());
    let tools = if exposed == 1 { "tool" } else { "tools" };
    let found = match deferred {
        0 => String::new(),
        deferred => format!(", {deferred} deferred: found by tool_search"),
    };
    writeln!(output, "\n{FAINT}{exposed} {tools}{found}, {removed} removed{FAINT:#}")
}
