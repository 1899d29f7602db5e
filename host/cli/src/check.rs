//! `airlock check`: what a plugin's author wants to know before anybody installs it. Exits 1 on findings.

use std::io::Write as _;
use std::process::ExitCode;

use airlock_core::{Diagnostic, RunContext};
use serde::Serialize;

use crate::arguments::Format;
use crate::failure::Failure;
use crate::page::{self, GOOD};
use crate::setup::Setup;

#[derive(Debug, Serialize)]
struct Document {
    ok: bool,
    diagnostics: Vec<Diagnostic>,
}

pub(crate) async fn run(setup: &Setup) -> Result<ExitCode, Failure> {
    let statuses = setup.with_progress(setup.host.inspect()).await;
    let mut diagnostics = setup.host.diagnostics();
    for status in statuses {
        match status.loaded {
            Ok(Some(loaded)) => diagnostics.extend(loaded.registration.diagnostics.iter().cloned()),
            Ok(None) => {}
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    let skills = setup.host.skills(&RunContext::new("check"));
    diagnostics.extend(skills.iter().flat_map(|skills| skills.diagnostics().iter().cloned()));
    diagnostics.sort();
    diagnostics.dedup();
    let document = Document { ok: diagnostics.is_empty(), diagnostics };
    match setup.format {
        Format::Json => page::json(&document)?,
        Format::Human => show(&document)?,
    }
    Ok(if document.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(document: &Document) -> std::io::Result<()> {
    let mut output = page::standard_output();
    for diagnostic in &document.diagnostics {
        page::diagnostic(&mut output, diagnostic)?;
    }
    if document.ok {
        writeln!(output, "{GOOD}ok{GOOD:#}: manifest, imports and registration agree")?;
    }
    Ok(())
}
