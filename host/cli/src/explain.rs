//! `airlock explain`: the six states of a tool or plugin, where it stopped, and what would change that.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::ExitCode;

use airlock_core::{Explanation, text};

use crate::arguments::{ExplainCommand, Format};
use crate::failure::Failure;
use crate::page::{self, ERROR, FAINT, GOOD, STRONG};
use crate::setup::Setup;

pub(crate) async fn run(command: &ExplainCommand, setup: &Setup) -> Result<ExitCode, Failure> {
    let explanation = setup.with_progress(setup.host.explain(&command.name, command.run.context()?)).await;
    match setup.format {
        Format::Json => page::json(&explanation)?,
        Format::Human => show(&explanation)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show(explanation: &Explanation) -> std::io::Result<()> {
    let mut output = page::standard_output();
    writeln!(output, "{STRONG}{}{STRONG:#}", explanation.subject)?;
    for explained in &explanation.states {
        let state = format!("{:?}", explained.state).to_lowercase();
        let (style, mark) = if explained.reached {
            (GOOD, "✓")
        } else if explanation.stopped_at == Some(explained.state) {
            (ERROR, "✗")
        } else {
            (FAINT, "·")
        };
        writeln!(output, "  {style}{mark} {state:10}{style:#}  {}", text::single_line(&explained.evidence))?;
    }
    for rule in &explanation.rules {
        let place = rule.location.as_ref().map(|location| format!(" at {location}")).unwrap_or_default();
        writeln!(
            output,
            "\n{FAINT}rule: {} ({}){}{FAINT:#}",
            rule.rule,
            rule.layer,
            text::single_line(&place)
        )?;
    }
    if !explanation.projected.is_empty() {
        writeln!(output, "\n{STRONG}projected{STRONG:#}")?;
    }
    for projected in &explanation.projected {
        let provider = projected.provider.as_str();
        match (&projected.left_out, projected.changes.as_slice()) {
            (Some(why), _) => {
                writeln!(output, "  {ERROR}✗{ERROR:#} {provider:13}  {}", text::single_line(why))?;
            }
            (None, []) => writeln!(output, "  {GOOD}✓{GOOD:#} {provider:13}  as it is")?,
            (None, changes) => {
                let words: BTreeSet<_> = changes.iter().map(|row| row.change.as_str()).collect();
                let words = words.into_iter().collect::<Vec<_>>().join(", ");
                let (number, noun) = (changes.len(), if changes.len() == 1 { "change" } else { "changes" });
                writeln!(output, "  {GOOD}✓{GOOD:#} {provider:13}  {number} {noun}: {words}")?;
            }
        }
    }
    if let Some(fix) = &explanation.fix {
        writeln!(output, "hint: {}", text::single_line(fix))?;
    }
    Ok(())
}
