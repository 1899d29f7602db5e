//! `airlock approvals`: the standing approvals, and taking one back. It needs no plugin and no sandbox.

use std::io::{self, Write as _};
use std::process::ExitCode;

use airlock_core::{Decided, Grant, GrantId, Store as _};
use serde::Serialize;

use crate::arguments::{ApprovalsAction, ApprovalsCommand, Format, Global};
use crate::failure::Failure;
use crate::page::{self, GOOD};
use crate::{setup, store, time};

/// Who revokes, in the audit row.
const BY: &str = "the command line";

#[derive(Debug, Serialize)]
struct Document {
    approvals: Vec<Grant>,
}

#[derive(Debug, Serialize)]
struct Revoked {
    revoked: Grant,
}

pub(crate) async fn run(command: &ApprovalsCommand, global: &Global) -> Result<ExitCode, Failure> {
    let path = store::path(global, &setup::config(global)?)?;
    let log = store::open_log(&path)?;
    match &command.action {
        ApprovalsAction::List => {
            let approvals = log.map_or_else(|| Ok(Vec::new()), |log| log.grants())?;
            match global.format {
                Format::Json => page::json(&Document { approvals })?,
                Format::Human => show(&approvals)?,
            }
        }
        ApprovalsAction::Revoke { id } => {
            let id = GrantId::parse(id).map_err(|problem| Failure::usage(problem.to_string()))?;
            let unknown = || {
                Failure::usage(format!(
                    "no standing approval has the id `{id}`: see `airlock approvals list`"
                ))
            };
            // A store that is not there is not made for this.
            drop(log.ok_or_else(unknown)?);
            let store = store::open(&path)?;
            let decided = Decided { by: BY.to_owned(), unix_ms: time::now_unix_ms() };
            let revoked = store.revoke_grant(id.clone(), decided).await?.ok_or_else(unknown)?;
            store.close(store::CLOSE_PATIENCE).await?;
            match global.format {
                Format::Json => page::json(&Revoked { revoked })?,
                Format::Human => writeln!(
                    page::standard_output(),
                    "{GOOD}revoked{GOOD:#} {id}: `{}` is asked about again",
                    revoked.key.tool
                )?,
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(approvals: &[Grant]) -> io::Result<()> {
    let mut output = page::standard_output();
    if approvals.is_empty() {
        return writeln!(output, "no standing approvals");
    }
    let rows: Vec<_> = approvals
        .iter()
        .map(|grant| {
            let key = &grant.key;
            let askers: Vec<_> = key.askers.iter().map(|asker| asker.id.as_str()).collect();
            let scope = if key.arguments.is_some() { "these arguments" } else { "all arguments" };
            [
                grant.id.to_string(),
                key.tool.to_string(),
                scope.to_owned(),
                key.owner.id.clone(),
                key.agent.clone(),
                key.session_owner.clone(),
                askers.join(", "),
                grant.decided.by.clone(),
                time::utc(grant.decided.unix_ms),
            ]
        })
        .collect();
    let headings = ["ID", "TOOL", "SCOPE", "OWNER", "AGENT", "SESSION OF", "ASKED BY", "GIVEN BY", "WHEN"];
    page::table(&mut output, headings, &rows)
}
