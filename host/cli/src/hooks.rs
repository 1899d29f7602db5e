//! `airlock hooks`: who is called when, in dispatch order, and who would be if it were granted.

use std::io::Write as _;
use std::process::ExitCode;

use airlock_core::{HookStatus, RunContext, SubjectKind, text};
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
    if let Some(written) = &command.tool {
        let explanation = setup.host.explain(written, RunContext::new("main")).await;
        if explanation.kind != SubjectKind::Tool {
            let shown = text::single_line(written);
            let hint = explanation.fix.map(|fix| format!("; {fix}")).unwrap_or_default();
            return Err(Failure::usage(format!("no tool is named `{shown}`{hint}")));
        }
        let tool = explanation.subject;
        // A guard that is missing refuses the calls that it should see.
        let sees = |hook: &HookStatus| {
            (hook.called || !hook.loaded) && (hook.tools.is_empty() || hook.tools.contains(&tool))
        };
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
            let state = match (&hook.last_failure, hook.called, hook.granted) {
                (Some(failure), ..) => failure.as_str(),
                (None, false, _) => "not granted",
                (None, true, true) => "granted",
                (None, true, false) => "its own tools",
            };
            let (priority, timeout) = (hook.priority.to_string(), format!("{} ms", hook.timeout_ms));
            [hook.hook.to_string(), hook.plugin.clone(), priority, timeout, state.to_owned(), tools]
        })
        .collect();
    page::table(&mut output, ["HOOK", "PLUGIN", "PRIORITY", "TIMEOUT", "STATE", "TOOLS"], &rows)?;
    writeln!(output, "\n{FAINT}{} handlers{FAINT:#}", hooks.len())
}
