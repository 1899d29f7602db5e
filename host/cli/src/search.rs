//! `airlock search`: the tools of one run that fit a few words, best first.

use std::io::Write as _;
use std::process::ExitCode;

use airlock_core::{Hit, text};
use serde::Serialize;

use crate::arguments::{Format, SearchCommand};
use crate::failure::Failure;
use crate::page::{self, FAINT, STRONG};
use crate::setup::Setup;

#[derive(Debug, Serialize)]
struct Document {
    hits: Vec<Hit>,
    /// How many tools were searched.
    tools: usize,
}

pub(crate) async fn run(command: &SearchCommand, setup: &Setup) -> Result<ExitCode, Failure> {
    let surface = setup.with_progress(setup.host.assemble(command.run.context()?)).await;
    let hits = surface.search(&command.query.join(" "), usize::from(command.limit));
    let document = Document { hits, tools: surface.tools().count() };
    match setup.format {
        Format::Json => page::json(&document)?,
        Format::Human => show(&document)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(document: &Document) -> std::io::Result<()> {
    let mut output = page::standard_output();
    for hit in &document.hits {
        writeln!(output, "{STRONG}{}{STRONG:#} {FAINT}{}{FAINT:#}", text::escape(&hit.signature), hit.owner)?;
        writeln!(output, "  {}", hit.description)?;
    }
    let found = match document.hits.len() {
        0 => "nothing fits".to_owned(),
        1 => "1 hit".to_owned(),
        hits => format!("{hits} hits"),
    };
    writeln!(output, "{FAINT}{found}; {} tools are on the surface of this run{FAINT:#}", document.tools)
}
