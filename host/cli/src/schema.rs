//! `airlock schema`: the JSON Schema of a document that people write, for editors and checks.

use std::process::ExitCode;

use airlock_core::{DocumentKind, document_schema};

use crate::arguments::{Document, SchemaCommand};
use crate::failure::Failure;
use crate::page;

pub(crate) fn run(command: &SchemaCommand) -> Result<ExitCode, Failure> {
    let kind = match command.document {
        Document::Manifest => DocumentKind::Manifest,
        Document::Config => DocumentKind::Config,
        Document::Run => DocumentKind::Run,
    };
    page::json(&document_schema(kind))?;
    Ok(ExitCode::SUCCESS)
}
