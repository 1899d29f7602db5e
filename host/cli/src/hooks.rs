//! `airlock hooks`: who is called when, in dispatch order, and who would be if it were granted.

use std::io::Write as _;
use std::process::ExitCode;

use airlock_core::HookStatus;
use serde::Serialize;

use crate::arguments::{Format, HooksCommand};
use crate::failure::Failure;
use crate::page::{self, FAINT};
use crate::setup::Setup;

#[derive(Debug, Serialize)]
struct Document {
    hooks: Vec<HookStatus>,
}

pub(crate) async fn run(command: &HooksCommand, setup: &Setup) -> Result<ExitCode, Failure> {
    let mut hooks = setup.with_progress(setup.host.hooks()).await;
    if let Some(tool) = &command.tool {
        let sees = |hook: &HookStatus| hook.tools.is_empty() || hook.tools.contains(tool);
        hooks.retain(|hook| hook.hook.is_about_a_tool() && sees(hook));
    }
    match setup.format {
        Format::Json => page::json(&Document { hooks })?,
        Format::Human => show(&hooks)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(hooks: &[HookStatus]) -> std::io::Result<()> {
    let mut output = page::standard_output();
    if hooks.is_empty() {
        return writeln!(output, "no handlers");
    }
    let rows: Vec<_> = hooks
        .iter()
        .map(|hook| {
            let tools = if hook.tools.is_empty() { "all".to_owned() } else { hook.tools.join(", ") };
            let state = match (&hook.last_failure, hook.loaded, hook.granted) {
                (Some(failure), ..) => failure.clone(),
                (None, false, _) => "not loaded".to_owned(),
                (None, true, true) => "granted".to_owned(),
                (None, true, false) if hook.hook.is_about_a_tool() => "its own tools".to_owned(),
                (None, true, false) => "not granted".to_owned(),
            };
            let priority = hook.priority.to_string();
            [
                hook.hook.to_string(),
                hook.plugin.clone(),
                priority,
                tools,
                format!("{} ms", hook.timeout_ms),
                state,
            ]
        })
        .collect();
    page::table(&mut output, ["HOOK", "PLUGIN", "PRIORITY", "TOOLS", "TIMEOUT", "STATE"], &rows)?;
    writeln!(output, "\n{FAINT}{} handlers{FAINT:#}", hooks.len())
}
