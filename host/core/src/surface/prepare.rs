//! One turn: a prompt enters; context to add and the surface with fewer tools leave. A handler of `before-prompt-build` that
//! fails adds nothing and leaves the turn without tools, since nobody knows what it would have taken away.

use std::sync::Arc;

use super::Surface;
use crate::config::{OnFailure, PolicyEntry};
use crate::diagnostic::{Code, Diagnostic};
use crate::hooks::{Guards, Handler, HookEvent, HookName, HookOutcome, PromptBuild, PromptChanges};

/// Longest context that one handler adds, in characters: a page or two; a model's context is shared.
const MAX_CONTEXT_CHARS: usize = 16_000;

/// What one turn of a run has.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Turn {
    /// The tools of this turn.
    pub surface: Surface,
    /// Context to put before the prompt, in the order in which handlers gave it.
    pub prepend_context: Vec<String>,
    /// Context to put after it.
    pub append_context: Vec<String>,
}

impl Surface {
    /// Asks the handlers of `before-prompt-build` what this turn needs and what it does without.
    pub async fn prepare(&self, prompt: &str) -> Turn {
        let current = self.host().current();
        let guards = current.guards().await;
        let mut turn =
            Turn { surface: self.clone(), prepend_context: Vec::new(), append_context: Vec::new() };
        let hook = HookName::BeforePromptBuild;
        if let Some(guard) = guards.missing(hook, None) {
            turn.surface = self.without_tools(guard.plugin.as_str(), &guard.reason);
        }
        for handler in guards.handlers.of(hook) {
            turn.ask(self, &guards, handler, prompt).await;
        }
        turn
    }

    /// The surface of a turn whose handler failed.
    fn without_tools(&self, by: &str, reason: &str) -> Self {
        let message =
            format!("the `before-prompt-build` handler of `{by}` {reason}, so this turn has no tools");
        let hint = "mend the plugin, or set `on-hook-failure = \"ignore\"` in its entry";
        self.narrow(by, &[]).with_finding(Diagnostic::new(Code::HookFailed, by, message, hint))
    }
}

impl Turn {
    async fn ask(&mut self, whole: &Surface, guards: &Guards, handler: &Arc<Handler>, prompt: &str) {
        let tools = self.surface.tools().map(|exposed| exposed.tool.name.clone()).collect();
        let event = HookEvent::BeforePromptBuild(PromptBuild { prompt: prompt.to_owned(), tools });
        let run = Some(Arc::clone(whole.seen_run()));
        let owner = handler.owner.to_string();
        let failed = match whole.host().ask_aside(handler, event, run).await {
            Ok(HookOutcome::Prompt(changes)) => match self.apply(&owner, changes) {
                Ok(()) => return,
                Err(problem) => {
                    whole.host().note_failure(handler, &problem);
                    problem
                }
            },
            Ok(_) => return,
            Err(failed) => failed.0,
        };
        if guards.on_failure(&whole.host().current(), handler) == OnFailure::Refuse {
            self.surface = self.surface.without_tools(&owner, &failed);
        }
    }

    fn apply(&mut self, owner: &str, changes: PromptChanges) -> Result<(), String> {
        let context = [&changes.prepend_context, &changes.append_context];
        if context.into_iter().flatten().any(|text| text.chars().count() > MAX_CONTEXT_CHARS) {
            return Err(format!("adds more than {MAX_CONTEXT_CHARS} characters of context"));
        }
        if let Some(written) = changes.tools_allow {
            let entries: Result<Vec<PolicyEntry>, String> =
                written.iter().map(|entry| PolicyEntry::parse(entry)).collect();
            let entries =
                entries.map_err(|problem| format!("narrows by an entry that is none: {problem}"))?;
            self.surface = self.surface.narrow(&format!("`{owner}`"), &entries);
        }
        self.prepend_context.extend(changes.prepend_context);
        self.append_context.extend(changes.append_context);
        Ok(())
    }
}
