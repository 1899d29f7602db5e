//! What tests about handlers share: handlers and approvers that do what they are told, and a tool that keeps what it was
//! called with.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use airlock_core::{
    ApprovalAnswer, ApprovalAsk, ApprovalDecision, ApprovalQuestion, ApprovalRequest, ApprovalSeverity,
    Approver, Call, GrantScope, HookEvent, HookName, HookOptions, HookOutcome, Host, HostBuilder, NativeCall,
    NativeHook, NativeTool, Outcome, RunContext, Surface, ToolAttempt, ToolDescriptor, ToolError,
    ToolMetadata, ToolResult, ToolVerdict,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::scripted::{Scripted, descriptor};

/// A handler that does what its function says.
pub(crate) struct Does<F> {
    pub(crate) name: &'static str,
    pub(crate) hook: HookName,
    pub(crate) options: HookOptions,
    pub(crate) act: F,
}

impl<F> std::fmt::Debug for Does<F> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name)
    }
}

impl<F: Fn(HookEvent) -> Result<HookOutcome, String> + Send + Sync> NativeHook for Does<F> {
    fn name(&self) -> &str {
        self.name
    }

    fn hook(&self) -> HookName {
        self.hook
    }

    fn options(&self) -> HookOptions {
        self.options.clone()
    }

    fn handle(
        &self,
        event: HookEvent,
        _: Option<Arc<RunContext>>,
    ) -> BoxFuture<'_, Result<HookOutcome, String>> {
        Box::pin(async { (self.act)(event) })
    }
}

pub(crate) fn before<F: Fn(ToolAttempt) -> ToolVerdict + Send + Sync>(
    name: &'static str,
    priority: i32,
    verdict: F,
) -> Does<impl Fn(HookEvent) -> Result<HookOutcome, String> + Send + Sync> {
    let act = move |event| match event {
        HookEvent::BeforeToolCall(attempt) => Ok(HookOutcome::Tool(verdict(attempt))),
        other => Err(format!("{other:?}")),
    };
    Does {
        name,
        hook: HookName::BeforeToolCall,
        options: HookOptions { priority, ..HookOptions::default() },
        act,
    }
}

pub(crate) fn ask(offered: &[ApprovalDecision], scope: GrantScope, timeout: Option<Duration>) -> ToolVerdict {
    let request = ApprovalRequest {
        title: "May it?".to_owned(),
        description: "It wants to.".to_owned(),
        severity: ApprovalSeverity::Warning,
        timeout,
        offered: offered.to_vec(),
        scope,
    };
    ToolVerdict::RequireApproval(ApprovalAsk { request, rewrite: None })
}

/// Says what it was called with, and keeps it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Note {
    pub(crate) calls: Arc<Mutex<Vec<Value>>>,
}

impl NativeTool for Note {
    fn descriptor(&self) -> ToolDescriptor {
        let parameters = json!({
            "properties": { "text": { "type": "string" }, "n": { "type": "integer" }, "end": { "type": "string" } },
            "additionalProperties": false,
        });
        ToolDescriptor { parameters: parameters.to_string(), ..descriptor("note") }
    }

    fn metadata(&self) -> ToolMetadata {
        ToolMetadata { side_effecting: true, ..ToolMetadata::default() }
    }

    fn execute(&self, call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            self.calls.lock().unwrap().push(call.arguments.clone());
            match call.arguments["end"].as_str() {
                Some("panic") => panic!("it broke"),
                Some("fail") => Err(ToolError::Unavailable("no".to_owned())),
                Some("wait") => std::future::pending().await,
                _ => Ok(ToolResult {
                    content: ToolResult::text(call.arguments.to_string()).content,
                    details: Some(call.arguments),
                }),
            }
        })
    }
}

pub(crate) fn host(note: &Note) -> HostBuilder {
    Host::builder().sandbox(Scripted).native_tool(note.clone())
}

pub(crate) async fn surface(builder: HostBuilder) -> Surface {
    let mut run = RunContext::new("writer");
    run.interactive = true;
    builder.build().await.unwrap().assemble(run).await
}

pub(crate) async fn call(surface: &Surface, arguments: Value) -> Outcome {
    surface.call(Call::new("note", arguments)).await
}

/// The trail as words.
pub(crate) fn trail(outcome: &Outcome) -> Vec<String> {
    outcome.trail.iter().map(|entry| format!("{} {}", entry.by, entry.decision)).collect()
}

/// Answers at once, and keeps the questions.
#[derive(Debug, Clone)]
pub(crate) struct Answers {
    pub(crate) decision: Option<ApprovalDecision>,
    pub(crate) questions: Arc<Mutex<Vec<ApprovalQuestion>>>,
}

impl Answers {
    pub(crate) fn with(decision: Option<ApprovalDecision>) -> Self {
        Self { decision, questions: Arc::default() }
    }
}

impl Approver for Answers {
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<ApprovalAnswer, String>> {
        self.questions.lock().unwrap().push(question);
        match self.decision {
            Some(decision) => Box::pin(async move { Ok(ApprovalAnswer { decision, by: "ada".to_owned() }) }),
            None => Box::pin(std::future::pending()),
        }
    }
}
