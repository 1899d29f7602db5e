//! Who answers when a call needs an approval: a decision that was given with the command, or a person at the terminal. What
//! is shown is exactly what would run.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use airlock_core::{ApprovalAnswer, ApprovalDecision, ApprovalQuestion, ApprovalSeverity, Approver, text};
use clap::ValueEnum;
use futures_util::future::BoxFuture;

use crate::page::{self, ERROR, FAINT, STRONG};

/// A decision, as a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DecisionFlag {
    /// This call.
    AllowOnce,
    /// This call and those like it, until it is revoked.
    AllowAlways,
    /// Not this call.
    Deny,
}

impl DecisionFlag {
    fn decision(self) -> ApprovalDecision {
        match self {
            Self::AllowOnce => ApprovalDecision::AllowOnce,
            Self::AllowAlways => ApprovalDecision::AllowAlways,
            Self::Deny => ApprovalDecision::Deny,
        }
    }
}

/// Answers questions of one command.
#[derive(Debug)]
pub(crate) struct CommandApprover {
    /// Given with the command; without one the terminal is asked.
    pub(crate) decision: Option<DecisionFlag>,
}

/// Whether somebody is there to answer.
pub(crate) fn is_interactive(decision: Option<DecisionFlag>) -> bool {
    decision.is_some() || std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

impl Approver for CommandApprover {
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<ApprovalAnswer, String>> {
        let decision = self.decision;
        Box::pin(async move {
            if let Some(decision) = decision {
                return Ok(ApprovalAnswer { decision: decision.decision(), by: "--approve".to_owned() });
            }
            // Reading a terminal blocks: on a thread of its own, which ends with the program if nobody answers.
            let (send, receive) = tokio::sync::oneshot::channel();
            std::thread::spawn(move || {
                let _ = send.send(ask_terminal(&question));
            });
            let decision = receive.await.map_err(|_| "the terminal is gone".to_owned())?;
            Ok(ApprovalAnswer { decision: decision?, by: "the terminal".to_owned() })
        })
    }
}

fn ask_terminal(question: &ApprovalQuestion) -> Result<ApprovalDecision, String> {
    show(question).map_err(|error| error.to_string())?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let decision = match line.trim() {
            "y" | "once" => ApprovalDecision::AllowOnce,
            "always" => ApprovalDecision::AllowAlways,
            "n" | "no" => ApprovalDecision::Deny,
            _ => {
                page::note(format_args!("answer with one of the words above"));
                continue;
            }
        };
        if question.offered.contains(&decision) {
            return Ok(decision);
        }
        page::note(format_args!("that is not offered"));
    }
    Err("standard input ended".to_owned())
}

fn show(question: &ApprovalQuestion) -> std::io::Result<()> {
    let mut output = anstream::stderr().lock();
    let style = if question.severity == ApprovalSeverity::Critical { ERROR } else { STRONG };
    writeln!(output, "{style}approval needed{style:#} for `{}` of {}", question.tool, question.owner)?;
    for reason in &question.reasons {
        writeln!(output, "  {STRONG}{}{STRONG:#} ({})", text::single_line(&reason.title), reason.asker)?;
        for line in reason.description.lines() {
            writeln!(output, "    {}", text::single_line(line))?;
        }
    }
    let pretty = |value| text::escape(&serde_json::to_string_pretty(value).unwrap_or_default()).into_owned();
    match &question.written {
        None => writeln!(output, "{}", pretty(&question.arguments))?,
        Some(written) => {
            writeln!(output, "{FAINT}the model's arguments were changed:{FAINT:#}")?;
            let (before, after) = (pretty(written), pretty(&question.arguments));
            for line in before.lines().filter(|line| !after.lines().any(|other| other == *line)) {
                writeln!(output, "{ERROR}- {line}{ERROR:#}")?;
            }
            for line in after.lines() {
                let mark = if before.lines().any(|other| other == line) { ' ' } else { '+' };
                writeln!(output, "{mark} {line}")?;
            }
        }
    }
    let words: Vec<_> = question
        .offered
        .iter()
        .map(|decision| match decision {
            ApprovalDecision::AllowOnce => "`once`",
            ApprovalDecision::AllowAlways => "`always`",
            ApprovalDecision::Deny => "`no`",
        })
        .collect();
    write!(output, "{} within {} s: ", words.join(", "), question.timeout.as_secs())?;
    output.flush()
}
