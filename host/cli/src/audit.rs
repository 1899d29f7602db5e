//! `airlock audit`: rows of the log as a page or as JSON, new ones as they come, and whether anybody changed them.
//!
//! It needs no plugin and no sandbox, and writes nothing to the store.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use airlock_core::text;
use airlock_store::{ErrorKind, Finding, Log, Order, Query, StoredRow};
use serde::Serialize;
use serde_json::Value;

use crate::arguments::{AuditCommand, Format, Global};
use crate::failure::Failure;
use crate::page::{self, ERROR, FAINT, GOOD};
use crate::{setup, store, time};

/// How often new rows are looked for: often enough for a person who watches.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

/// Longest part of a body on a page, in characters; JSON has all of it.
const MAX_BODY_CHARS: usize = 120;

#[derive(Debug, Serialize)]
struct Document {
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    row: u64,
    unix_ms: u64,
    kind: String,
    /// Of a started call without an end: `running` or `interrupted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
    instance: String,
    serial: Option<u64>,
    call_id: Option<String>,
    tool: Option<String>,
    /// A text if it is no JSON, which only somebody who changed the file can have written.
    body: Value,
    hash: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Verified {
    ok: bool,
    rows: u64,
    head_rows: Option<u64>,
    findings: Vec<Found>,
}

#[derive(Debug, Serialize)]
struct Found {
    #[serde(flatten)]
    finding: Finding,
    message: String,
}

pub(crate) async fn run(command: &AuditCommand, global: &Global) -> Result<ExitCode, Failure> {
    let path = store::path(global, &setup::config(global)?)?;
    if command.verify {
        return verify(&Log::open(&path)?, global.format);
    }
    let log = store::open_log(&path)?;
    let rows = match &log {
        Some(log) => newest(log, command)?,
        None => Vec::new(),
    };
    let last = rows.last().map_or(0, |row| row.row);
    match global.format {
        Format::Json if command.follow => lines(&rows)?,
        Format::Json => page::json(&Document { rows })?,
        Format::Human => show(&rows)?,
    }
    if command.follow {
        match follow(command, &path, log, last, global.format).await? {}
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows rows as they come, until the program is ended.
async fn follow(
    command: &AuditCommand,
    path: &Path,
    mut log: Option<Log>,
    mut last: u64,
    format: Format,
) -> Result<Infallible, Failure> {
    loop {
        tokio::time::sleep(FOLLOW_INTERVAL).await;
        if log.is_none() {
            // The first host may make the store after somebody began to watch.
            log = match Log::open(path) {
                Ok(log) => Some(log),
                Err(error) if error.kind() == ErrorKind::Missing => None,
                Err(error) => return Err(error.into()),
            };
        }
        let Some(log) = &log else { continue };
        let rows = after(log, command, last)?;
        last = rows.last().map_or(last, |row| row.row);
        match format {
            Format::Json => lines(&rows)?,
            Format::Human => show_rows(&mut page::standard_output(), &rows)?,
        }
    }
}

/// The newest rows that the command asks for, oldest first, as a log is read.
fn newest(log: &Log, command: &AuditCommand) -> Result<Vec<Row>, Failure> {
    let query = Query { limit: command.limit, order: Order::NewestFirst, ..query(command) };
    let mut rows = log.page(&query)?;
    rows.reverse();
    with_states(log, rows)
}

fn after(log: &Log, command: &AuditCommand, last: u64) -> Result<Vec<Row>, Failure> {
    let rows = log.page(&Query { after: Some(last), limit: 1_000, ..query(command) })?;
    if rows.is_empty() { Ok(Vec::new()) } else { with_states(log, rows) }
}

fn query(command: &AuditCommand) -> Query {
    Query { call_id: command.call.clone(), tool: command.tool.clone(), ..Query::default() }
}

fn with_states(log: &Log, rows: Vec<StoredRow>) -> Result<Vec<Row>, Failure> {
    let unfinished: HashMap<u64, bool> =
        log.unfinished()?.into_iter().map(|call| (call.row, call.is_running)).collect();
    let row = |row: StoredRow| Row {
        row: row.number,
        unix_ms: row.unix_ms,
        state: unfinished.get(&row.number).map(|running| if *running { "running" } else { "interrupted" }),
        kind: row.kind,
        instance: row.instance,
        serial: row.serial,
        call_id: row.call_id,
        tool: row.tool,
        body: serde_json::from_str(&row.body).unwrap_or(Value::String(row.body)),
        hash: row.hash.to_string(),
    };
    Ok(rows.into_iter().map(row).collect())
}

/// One document a line: what follows has no end, so it cannot be one document.
fn lines(rows: &[Row]) -> io::Result<()> {
    rows.iter().try_for_each(page::json_line)
}

fn show(rows: &[Row]) -> io::Result<()> {
    let mut output = page::standard_output();
    if rows.is_empty() {
        return writeln!(output, "no rows");
    }
    show_rows(&mut output, rows)
}

/// Rows in columns that are as wide in the next page, so that what follows stays aligned.
fn show_rows(output: &mut impl io::Write, rows: &[Row]) -> io::Result<()> {
    for row in rows {
        let kind = match row.state {
            Some(state) => format!("{} ({state})", row.kind),
            None => row.kind.clone(),
        };
        let (kind, call) = (text::single_line(&kind), row.call_id.as_deref().unwrap_or("-"));
        let (tool, call) = (text::single_line(row.tool.as_deref().unwrap_or("-")), text::single_line(call));
        let body = row.body.to_string();
        let body = text::shorten(&body, MAX_BODY_CHARS);
        writeln!(
            output,
            "{FAINT}{:>6}  {}{FAINT:#}  {kind:<21}  {tool:<20}  {call:<12}  {FAINT}{}{FAINT:#}",
            row.row,
            time::utc(row.unix_ms),
            text::single_line(&body)
        )?;
    }
    output.flush()
}

fn verify(log: &Log, format: Format) -> Result<ExitCode, Failure> {
    let verification = log.verify()?;
    let ok = verification.findings.is_empty();
    let found = |finding: Finding| Found { message: finding.to_string(), finding };
    let document = Verified {
        ok,
        rows: verification.rows,
        head_rows: verification.head_rows,
        findings: verification.findings.into_iter().map(found).collect(),
    };
    match format {
        Format::Json => page::json(&document)?,
        Format::Human => show_verified(&document)?,
    }
    Ok(ExitCode::from(u8::from(!ok)))
}

fn show_verified(document: &Verified) -> io::Result<()> {
    let mut output = page::standard_output();
    for found in &document.findings {
        writeln!(output, "{ERROR}error{ERROR:#}: {}", text::single_line(&found.message))?;
    }
    let rows = page::grouped(document.rows);
    if document.ok {
        let counted = page::grouped(document.head_rows.unwrap_or_default());
        writeln!(
            output,
            "{GOOD}ok{GOOD:#}: {rows} rows, each as it was written; the head file counts {counted}"
        )
    } else {
        writeln!(output, "  {rows} rows up to there are as they were written")?;
        writeln!(
            output,
            "  hint: keep a copy of the store and the files beside it; a backup shows what was changed"
        )
    }
}
