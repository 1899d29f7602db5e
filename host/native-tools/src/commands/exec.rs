//! `exec`: a command line enters; what it printed and how it ended leave, or the id under which it runs in the background.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use airlock_core::{
    Binding, Content, NativeCall, NativeTool, RunContext, ToolDescriptor, ToolError, ToolMetadata, ToolResult,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::child::{Cause, End, Running, Spec};
use super::output::Shown;
use super::table::{Bound, Table};
use super::{Network, metadata};
use crate::problem::{io_problem, shown};
use crate::tool::arguments;

/// `exec`, bound to a run or not yet.
#[derive(Debug)]
pub(super) struct Exec {
    table: Arc<Table>,
    bound: Option<Bound>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    command: String,
    #[serde(default)]
    cwd: Option<String>,
    #[serde(default)]
    timeout_ms: Option<u64>,
    #[serde(default)]
    background: bool,
}

impl Exec {
    pub(super) fn unbound(table: Arc<Table>) -> Self {
        Self { table, bound: None }
    }

    async fn run(&self, call: NativeCall) -> Result<ToolResult, ToolError> {
        let Some(bound) = &self.bound else {
            return Err(ToolError::Unavailable(
                "`exec` works only in a run that names a workspace".to_owned(),
            ));
        };
        let skill_environment = call.run.skill_environment();
        let skill_environment =
            skill_environment.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let call: Arguments = arguments(call.arguments)?;
        if call.command.contains('\0') {
            return Err(ToolError::InvalidParams("the command has a NUL character; leave it out".to_owned()));
        }
        let place = if call.background {
            self.table.background_place(&bound.owner)?
        } else {
            self.table.foreground_place().await?
        };
        let written = call.cwd.as_deref().unwrap_or(".");
        let path = bound.workspace.relative(written)?;
        let workspace = Arc::clone(&bound.workspace.workspace);
        let folder = workspace.folder.open_dir(&path);
        let folder = folder.map_err(|error| io_problem("start in", &shown(&path), &error))?;
        let (is_background, timeout) = (call.background, self.timeout(&call));
        let started = self.table.start(Spec {
            policy: Arc::clone(&self.table.policy),
            command: call.command.clone(),
            skill_environment,
            folder,
            folder_path: bound.workspace.path().join(&path),
            workspace,
            scratch: self.table.scratch(bound)?,
            is_confined: bound.is_confined,
            takes_input: is_background,
            timeout,
            place,
        });
        let started = started.await?;
        if is_background {
            let id = self.table.keep(&bound.owner, &call.command, started.running.keep());
            let text = format!("started in the background as `{id}`; `process` gives its output and ends it");
            let details = json!({ "id": id, "status": "running", "confinement": confinement(bound) });
            return Ok(ToolResult { content: vec![Content::text(text)], details: Some(details) });
        }
        // It is over too if its thread is gone without a word.
        let _ = started.over.await;
        let mut result = report(&started.running.running, None);
        if let Some(Value::Object(details)) = &mut result.details {
            details.insert("confinement".to_owned(), confinement(bound).into());
        }
        Ok(result)
    }

    fn timeout(&self, call: &Arguments) -> Duration {
        let policy = &self.table.policy;
        let asked = call.timeout_ms.map(Duration::from_millis);
        if call.background {
            asked.unwrap_or(policy.max_background_time).min(policy.max_background_time)
        } else {
            asked.unwrap_or(policy.default_timeout).min(policy.max_timeout)
        }
    }
}

fn confinement(bound: &Bound) -> &'static str {
    if bound.is_confined { "landlock" } else { "none" }
}

/// What a command printed since the last report, and where it stands.
pub(super) fn report(running: &Running, id: Option<&str>) -> ToolResult {
    // Asked first: what is printed between this and the next is reported with the next.
    let end = running.end();
    let Shown { mut text, total_bytes, omitted_bytes } = running.take_output();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let _ = write!(text, "[{}]", standing(end, running));
    let details = json!({
        "id": id,
        "status": if end.is_some() { "ended" } else { "running" },
        "exit_code": end.and_then(|end| end.code),
        "signal": end.and_then(|end| end.signal),
        "timed_out": end.is_some_and(|end| end.cause == Some(Cause::TimedOut)),
        "duration_ms": u64::try_from(end.map_or(running.age(), |end| end.ran).as_millis()).unwrap_or(u64::MAX),
        "output_bytes": total_bytes,
        "omitted_bytes": omitted_bytes,
    });
    ToolResult { content: vec![Content::text(text)], details: Some(details) }
}

/// Where a command stands, in a few words.
pub(super) fn standing(end: Option<End>, running: &Running) -> String {
    let Some(end) = end else { return format!("running for {} s", running.age().as_secs()) };
    let ran = end.ran.as_millis();
    match (end.cause, end.code, end.signal) {
        (Some(Cause::TimedOut), ..) => {
            format!("timed out after {ran} ms and was killed with all that it started")
        }
        (Some(Cause::Killed), ..) => "killed with all that it started".to_owned(),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None, None) => "ended, and nobody knows how".to_owned(),
    }
}

impl NativeTool for Exec {
    fn descriptor(&self) -> ToolDescriptor {
        let policy = &self.table.policy;
        let network = match policy.network {
            Network::Refused => " The network is refused where the system can do that.",
            Network::Allowed => "",
        };
        let (default, max) = (policy.default_timeout.as_millis(), policy.max_timeout.as_millis());
        let max_background = policy.max_background_time.as_millis();
        let description = format!(
            "Runs a command line with `{}` in the workspace and gives what it printed, standard output and error \
             together, and its exit code. It can change the workspace and its temporary folder `$TMPDIR`, and read \
             the system's programs.{network} Standard input is empty. After its time it is killed with everything \
             that it started; whatever it leaves running when it ends is killed too. Long output is cut in the \
             middle. For a server, a watcher or a long build set `background` and use `process`.",
            policy.shell.display()
        );
        let parameters = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["command"],
            "properties": {
                "command": { "type": "string", "minLength": 1, "description": "The command line." },
                "cwd": {
                    "type": "string", "minLength": 1, "default": ".",
                    "description": "The folder to start in, relative to the workspace."
                },
                "timeout_ms": {
                    "type": "integer", "minimum": 1,
                    "description": format!(
                        "After how many milliseconds it is killed: {default} by default, {max} at most; \
                         {max_background} by default and at most in the background."
                    )
                },
                "background": {
                    "type": "boolean", "default": false,
                    "description": "Do not wait for the end; gives an id for `process`."
                }
            }
        });
        ToolDescriptor {
            name: "exec".to_owned(),
            title: Some("Run a command".to_owned()),
            description,
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
        self.run(call).boxed()
    }
}
