//! Registered → exposed: native and plugin tools side by side, native names safe from plugins.

use airlock_core::{
    Call, CallKind, NativeCall, NativeTool, RunContext, ToolDescriptor, ToolError, ToolResult,
};
use futures_util::future::BoxFuture;
use serde_json::json;

use crate::support::{builder, call, component, end, package, root, text};

/// A native tool that adds two numbers, or fails in the way it is told to.
#[derive(Debug)]
struct Add {
    name: &'static str,
}

impl NativeTool for Add {
    fn descriptor(&self) -> ToolDescriptor {
        ToolDescriptor {
            name: self.name.to_owned(),
            title: None,
            description: "Adds two numbers.".to_owned(),
            parameters: json!({
                "properties": { "a": { "type": "integer" }, "b": { "type": "integer" }, "end": { "type": "string" } },
                "required": ["a", "b"],
                "additionalProperties": false,
            })
            .to_string(),
            output_schema: None,
        }
    }

    fn execute(&self, call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            match call.arguments["end"].as_str() {
                Some("panic") => panic!("the native tool broke"),
                Some("fail") => {
                    Err(ToolError::Failed { message: "no".to_owned(), details: Some(json!({ "why": 1 })) })
                }
                Some("wait") => std::future::pending().await,
                _ => {
                    let sum = call.arguments["a"].as_i64().unwrap() + call.arguments["b"].as_i64().unwrap();
                    Ok(ToolResult::text(sum.to_string()))
                }
            }
        })
    }
}

#[tokio::test]
async fn native_and_plugin_tools_stand_side_by_side() {
    let host = builder(&["echo"]).native_tool(Add { name: "add" }).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    let owners: Vec<_> =
        surface.tools().map(|exposed| format!("{} {}", exposed.tool.name, exposed.owner)).collect();
    assert_eq!(owners, ["add core", "echo echo"]);
    assert_eq!(text(&call(&surface, "add", r#"{"a": 2, "b": 3}"#).await), "5");
    assert_eq!(text(&call(&surface, " ADD ", r#"{"a": 2, "b": 3}"#).await), "5");
    let refused = call(&surface, "add", r#"{"a": 2, "b": "3"}"#).await;
    assert_eq!(refused.error.unwrap().path.as_deref(), Some("/b"));
}

#[tokio::test]
async fn a_native_tool_that_panics_is_a_host_fault_and_the_next_call_works() {
    let host = builder(&[]).native_tool(Add { name: "add" }).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    assert_eq!(
        end(&call(&surface, "add", r#"{"a": 1, "b": 1, "end": "panic"}"#).await),
        "host-fault | the tool `add` failed inside the host | the native tool panicked: the native tool broke"
    );
    let failed = call(&surface, "add", r#"{"a": 1, "b": 1, "end": "fail"}"#).await;
    assert_eq!((failed.kind, failed.details), (CallKind::Failed, Some(json!({ "why": 1 }))));
    assert_eq!(text(&call(&surface, "add", r#"{"a": 1, "b": 1}"#).await), "2");
}

#[tokio::test]
async fn a_cancelled_call_says_so() {
    let host = builder(&[]).native_tool(Add { name: "add" }).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    let token = tokio_util::sync::CancellationToken::new();
    let waiting = surface
        .call(Call::from_json("add", r#"{"a": 1, "b": 1, "end": "wait"}"#).cancellation(token.clone()));
    let (outcome, ()) = tokio::join!(waiting, async { token.cancel() });
    assert_eq!(outcome.kind, CallKind::Cancelled);
    assert_eq!(outcome.record.kind, CallKind::Cancelled);
}

#[tokio::test]
async fn a_plugin_never_takes_a_native_name() {
    let folder = tempfile::tempdir().unwrap();
    package(folder.path(), "impostor", &["echo"], Some(&component("echo")));
    package(folder.path(), "add", &[], None);
    let host = builder(&[])
        .native_tool(Add { name: "echo" })
        .native_tool(Add { name: "add" })
        .plugin_root(root(folder.path()))
        .build()
        .await
        .unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    assert_eq!(text(&call(&surface, "echo", r#"{"a": 20, "b": 22}"#).await), "42");
    let codes: Vec<_> =
        surface.diagnostics().iter().map(|found| format!("{} {}", found.code, found.subject)).collect();
    assert!(codes.contains(&"tool-conflict echo".to_owned()), "{codes:?}");
    assert_eq!(surface.removed()[0].reason, "`impostor` declares the tool `echo`, which is a native tool");
}

#[tokio::test]
async fn an_optional_tool_needs_an_opt_in() {
    let folder = tempfile::tempdir().unwrap();
    let manifest =
        package(folder.path(), "careful", &["echo"], Some(&component("echo"))).join("airlock.plugin.json");
    let mut value: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    value["toolMetadata"] = json!({ "echo": { "optional": true } });
    std::fs::write(&manifest, value.to_string()).unwrap();
    let host = builder(&[]).plugin_root(root(folder.path())).build().await.unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    assert_eq!(surface.tools().count(), 0);
    assert_eq!(surface.removed()[0].reason, "`echo` is optional, and no allow entry names it");
}

#[tokio::test]
async fn two_native_tools_of_one_name_are_the_embedders_mistake() {
    let error = builder(&[])
        .native_tool(Add { name: "add" })
        .native_tool(Add { name: "add" })
        .build()
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "two native tools are named `add`; rename one");
    let error = builder(&[]).native_tool(Add { name: "bash" }).build().await.unwrap_err();
    assert!(error.to_string().contains("another spelling of `exec`"), "{error}");
}
