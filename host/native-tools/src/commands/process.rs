//! `process`: the id of a background command enters; its output leaves, or what was written to it is in, or it is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use airlock_core::{
    Binding, Content, NativeCall, NativeTool, RunContext, ToolDescriptor, ToolError, ToolMetadata, ToolResult,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::child::{Cause, Running};
use super::exec::{report, standing};
use super::metadata;
use super::table::{Background, Bound, Table};
use crate::problem::{MAX_QUOTED_CHARS, failed};
use crate::tool::arguments;

/// How long one call waits at most for an end, in milliseconds: a model that wants to wait longer asks again.
const MAX_WAIT_MS: u64 = 30_000;

/// How long a kill waits for the end: a group that was killed is gone in a millisecond.
const KILL_PATIENCE: Duration = Duration::from_secs(2);

/// `process`, bound to a run or not yet.
#[derive(Debug)]
pub(super) struct Process {
    table: Arc<Table>,
    bound: Option<Bound>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    action: Action,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    end_input: bool,
    #[serde(default)]
    wait_ms: u64,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Poll,
    Write,
    Kill,
}

impl Process {
    pub(super) fn unbound(table: Arc<Table>) -> Self {
        Self { table, bound: None }
    }

    async fn run(&self, call: Value) -> Result<ToolResult, ToolError> {
        let Some(bound) = &self.bound else {
            let message = "`process` works only in a run that names a workspace".to_owned();
            return Err(ToolError::Unavailable(message));
        };
        let call: Arguments = arguments(call)?;
        if matches!(call.action, Action::List) {
            return Ok(list(&self.table.of(&bound.owner)));
        }
        let Some(id) = &call.id else {
            let message = "this action needs the `id` of a background command; `list` gives them".to_owned();
            return Err(ToolError::InvalidParams(message));
        };
        let Some(background) = self.table.find(&bound.owner, id) else {
            let id = airlock_core::text::shorten(id, MAX_QUOTED_CHARS);
            let id = airlock_core::text::single_line(&id);
            return Err(failed(format!(
                "this session has no background command `{id}`; `list` gives those there are"
            )));
        };
        match call.action {
            Action::Write => return write(&background, &call),
            Action::Kill => {
                background.running.kill(Cause::Killed);
                self.wait(&background.running, KILL_PATIENCE).await?;
            }
            Action::Poll if call.wait_ms > 0 => {
                let patience = Duration::from_millis(call.wait_ms.min(MAX_WAIT_MS));
                self.wait(&background.running, patience).await?;
            }
            Action::List | Action::Poll => {}
        }
        let is_over = background.running.end().is_some();
        let result = report(&background.running, Some(&background.id));
        if is_over {
            self.table.forget(&background.id);
        }
        Ok(result)
    }

    /// Waits for the end of a command, on a thread of its own, which gives up when this future is dropped.
    async fn wait(&self, running: &Running, patience: Duration) -> Result<(), ToolError> {
        struct GiveUp(Arc<AtomicBool>, Running);
        impl Drop for GiveUp {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
                self.1.wake();
            }
        }
        let given_up = Arc::new(AtomicBool::new(false));
        let _give_up = GiveUp(Arc::clone(&given_up), running.clone());
        let running = running.clone();
        let wait = move || {
            running.wait(patience, || given_up.load(Ordering::Relaxed));
            Ok(())
        };
        self.table.threads.run(wait).await
    }
}

fn list(commands: &[Background]) -> ToolResult {
    let mut lines = Vec::new();
    let mut details = Vec::new();
    for Background { id, shown, running, .. } in commands {
        let end = running.end();
        let more = if running.has_output() { ", new output" } else { "" };
        lines.push(format!("{id}: {}{more}: {shown}", standing(end, running)));
        details.push(json!({
            "id": id,
            "command": shown,
            "status": if end.is_some() { "ended" } else { "running" },
            "has_output": running.has_output(),
        }));
    }
    if lines.is_empty() {
        lines.push("[this session has nothing in the background]".to_owned());
    }
    let content = vec![Content::text(lines.join("\n"))];
    ToolResult { content, details: Some(json!({ "commands": details })) }
}

fn write(background: &Background, call: &Arguments) -> Result<ToolResult, ToolError> {
    let id = &background.id;
    let written = background.running.write(&call.text, call.end_input);
    let written = written.map_err(|problem| failed(format!("`{id}` got nothing: {problem}")))?;
    let (of, left) = (call.text.len(), call.text.len().saturating_sub(written));
    if left > 0 {
        return Err(ToolError::Failed {
            message: format!(
                "`{id}` took {written} of {of} bytes and does not read on at the moment; write the last {left} \
                 bytes later"
            ),
            details: Some(json!({ "written_bytes": written })),
        });
    }
    let end = if call.end_input { " and closed its input" } else { "" };
    Ok(ToolResult {
        content: vec![Content::text(format!("wrote {written} bytes to `{id}`{end}"))],
        details: Some(json!({ "written_bytes": written })),
    })
}

impl NativeTool for Process {
    fn descriptor(&self) -> ToolDescriptor {
        let parameters = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["action"],
            "properties": {
                "action": {
                    "enum": ["list", "poll", "write", "kill"],
                    "description": "`list`: what this session has in the background. `poll`: what it printed since \
                        the last poll, and whether it ended. `write`: `text` to its standard input. `kill`: end it \
                        with all that it started, and give its last output. All but `list` need `id`."
                },
                "id": { "type": "string", "minLength": 1, "description": "What `exec` gave, such as `command-1`." },
                "text": {
                    "type": "string", "default": "",
                    "description": "For `write`: exactly this, so end a line with a line break."
                },
                "end_input": {
                    "type": "boolean", "default": false,
                    "description": "For `write`: close its standard input afterwards."
                },
                "wait_ms": {
                    "type": "integer", "minimum": 0, "maximum": MAX_WAIT_MS, "default": 0,
                    "description": "For `poll`: wait up to so many milliseconds for it to end."
                }
            }
        });
        ToolDescriptor {
            name: "process".to_owned(),
            title: Some("Background commands".to_owned()),
            description:
                "Works with the commands that `exec` started in the background in this session. The result \
                of one that has ended is given once, then it is forgotten."
                    .to_owned(),
            parameters: parameters.to_string(),
            output_schema: None,
        }
    }

    fn metadata(&self) -> ToolMetadata {
        metadata()
    }

    fn groups(&self) -> Vec<&'static str> {
        vec!["runtime"]
    }

    fn bind(&self, run: &RunContext) -> Result<Binding, String> {
        if let Some(problem) = self.table.policy.problem() {
            return Err(problem);
        }
        Ok(match self.table.bind(run) {
            Ok(bound) => Binding::Made(Arc::new(Self { table: Arc::clone(&self.table), bound: Some(bound) })),
            Err(reason) => Binding::Unavailable(reason),
        })
    }

    fn execute(&self, call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        self.run(call.arguments).boxed()
    }
}
