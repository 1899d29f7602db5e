//! `airlock project`: the surface of one run as a model provider takes it, and everything that was changed on the way.

use std::io::Write as _;
use std::process::ExitCode;

use airlock_core::{Diagnostic, Projection, ReportRow, ToolName, text};
use serde::Serialize;
use serde_json::Value;

use crate::arguments::{Format, ProjectCommand};
use crate::failure::Failure;
use crate::page::{self, FAINT, STRONG};
use crate::setup::Setup;

/// Longest detail of a change on a page, in characters.
const MAX_DETAIL_CHARS: usize = 200;

#[derive(Debug, Serialize)]
struct Document<'a> {
    provider: &'static str,
    /// As the provider's API takes them.
    tools: Value,
    report: &'a [ReportRow],
    left_out: &'a [Diagnostic],
    warnings: &'a [Diagnostic],
}

pub(crate) async fn run(command: &ProjectCommand, setup: &Setup) -> Result<ExitCode, Failure> {
    let surface = setup.with_progress(setup.host.assemble(command.run.context()?)).await;
    let projection = match &command.tool {
        None => surface.project(command.wire),
        Some(written) => {
            let name = ToolName::canonicalise(written).ok();
            let projected = name.and_then(|name| surface.project_tool(&name, command.wire));
            projected.ok_or_else(|| {
                let shown = text::single_line(&text::shorten(written, 80)).into_owned();
                Failure::usage(format!(
                    "there is no tool `{shown}` on the surface of this run; `airlock explain {shown}` says why"
                ))
            })?
        }
    };
    match setup.format {
        Format::Json => page::json(&Document {
            provider: projection.provider().as_str(),
            tools: projection.to_json(),
            report: projection.report(),
            left_out: projection.left_out(),
            warnings: projection.warnings(),
        })?,
        Format::Human if command.tool.is_some() => show_one(&projection)?,
        Format::Human => show(&projection)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(projection: &Projection) -> std::io::Result<()> {
    let mut output = page::standard_output();
    let wire = projection.to_json();
    let sizes = wire.as_array().into_iter().flatten().map(|tool| tool.to_string().len() as u64);
    let changes = |name: &ToolName| projection.report().iter().filter(|row| row.tool == *name).count();
    let rows: Vec<[String; 3]> = projection
        .tools()
        .iter()
        .zip(sizes)
        .map(|(tool, size)| [tool.name.to_string(), page::bytes(size), changes(&tool.name).to_string()])
        .collect();
    page::table(&mut output, ["TOOL", "SIZE", "CHANGES"], &rows)?;
    show_changes(&mut output, projection)?;
    let (size, left_out) = (wire.to_string().len() as u64, projection.left_out().len());
    writeln!(
        output,
        "\n{} tools for {}, {} in all; {} changes, {left_out} left out",
        rows.len(),
        projection.provider().as_str(),
        page::bytes(size),
        projection.report().len()
    )
}

/// One tool, whole.
fn show_one(projection: &Projection) -> std::io::Result<()> {
    let mut output = page::standard_output();
    if let Some(tool) = projection.to_json().as_array().and_then(|tools| tools.first()) {
        let pretty = serde_json::to_string_pretty(tool).unwrap_or_default();
        writeln!(output, "{}", text::escape(&pretty))?;
    }
    show_changes(&mut output, projection)
}

fn show_changes(output: &mut impl std::io::Write, projection: &Projection) -> std::io::Result<()> {
    let mut last = None;
    for row in projection.report() {
        if last != Some(&row.tool) {
            writeln!(output, "\n{STRONG}{}{STRONG:#}", row.tool)?;
            last = Some(&row.tool);
        }
        let pointer = if row.pointer.is_empty() { "(root)" } else { row.pointer.as_str() };
        write!(output, "  {:20} {}", row.change.as_str(), text::single_line(pointer))?;
        if !row.detail.is_empty() {
            let detail = text::shorten(&row.detail, MAX_DETAIL_CHARS);
            write!(output, "  {FAINT}{}{FAINT:#}", text::single_line(&detail))?;
        }
        writeln!(output)?;
    }
    for finding in projection.left_out().iter().chain(projection.warnings()) {
        writeln!(output)?;
        page::diagnostic(output, finding)?;
    }
    Ok(())
}
