//! A sandbox for rules that need no WebAssembly: a plugin's "component" is a script that says what its code would do. It
//! stands behind the same traits as the real one, so that thousands of surfaces can be assembled in a second.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use airlock_core::{
    Answer, BoundDescriptor, Content, Diagnostic, Digest, Exposure, Handled, Handling, HookOutcome,
    Invocation, Invoked, Limits, LoadRequest, Materialisation, Materialised, NativeCall, NativeTool, Plugin,
    Registered, Registrar, Sandbox, ToolDescriptor, ToolError, ToolMetadata, ToolResult, Usage,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

/// Reads a script where the real one compiles a component.
#[derive(Debug)]
pub(crate) struct Scripted;

#[derive(Debug)]
struct Script(Value);

/// What a tool of these tests looks like.
pub(crate) fn descriptor(name: &str) -> ToolDescriptor {
    ToolDescriptor {
        name: name.to_owned(),
        title: None,
        description: format!("The tool {name}."),
        parameters: "{}".to_owned(),
        output_schema: None,
    }
}

impl Sandbox for Scripted {
    fn load(&self, request: LoadRequest) -> BoxFuture<'_, Result<Arc<dyn Plugin>, Diagnostic>> {
        Box::pin(async move {
            let script = serde_json::from_slice(&std::fs::read(request.component).unwrap()).unwrap();
            Ok(Arc::new(Script(script)) as Arc<dyn Plugin>)
        })
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(task)),
            // A reload outside of a runtime: what it leaves to do here never waits.
            Err(_) => drop(futures_util::FutureExt::now_or_never(task)),
        }
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

impl Script {
    fn names(&self, key: &str) -> Vec<String> {
        let names = self.0[key].as_array().into_iter().flatten();
        names.map(|name| name.as_str().unwrap().to_owned()).collect()
    }
}

impl Plugin for Script {
    fn digest(&self) -> Digest {
        Digest::of(self.0.to_string().as_bytes())
    }

    fn register(&self, mut registrar: Registrar, _limits: Limits) -> BoxFuture<'_, Registered> {
        Box::pin(async move {
            for name in self.names("tools") {
                registrar.register_tool(&descriptor(&name), Exposure::Required).unwrap();
            }
            for name in self.names("optional") {
                registrar.register_tool(&descriptor(&name), Exposure::Optional).unwrap();
            }
            let made = self.names("factory");
            if !made.is_empty() {
                registrar.register_factory(1, &made, Exposure::Required).unwrap();
            }
            Registered { registrar, end: Ok(Ok(())), usage: Usage::default() }
        })
    }

    fn materialise(&self, _request: Materialisation) -> BoxFuture<'_, Materialised> {
        Box::pin(async move {
            let made = self
                .names("makes")
                .into_iter()
                .map(|name| BoundDescriptor { descriptor: descriptor(&name), binding: Some("1".to_owned()) });
            Materialised { end: Ok(Ok(made.collect())), usage: Usage::default() }
        })
    }

    fn handle(&self, _request: Handling) -> BoxFuture<'_, Handled> {
        Box::pin(async { Handled { end: Ok(Ok(HookOutcome::None)), usage: Usage::default() } })
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Invoked> {
        Box::pin(async move {
            let content = vec![Content::text(invocation.tool.to_string())];
            Invoked { end: Ok(Answer::Result { content, details: None }), usage: Usage::default() }
        })
    }
}

/// A native tool that gives its name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Native {
    pub(crate) name: &'static str,
    pub(crate) groups: Vec<&'static str>,
    pub(crate) metadata: ToolMetadata,
}

impl NativeTool for Native {
    fn descriptor(&self) -> ToolDescriptor {
        descriptor(self.name)
    }

    fn metadata(&self) -> ToolMetadata {
        self.metadata.clone()
    }

    fn groups(&self) -> Vec<&'static str> {
        self.groups.clone()
    }

    fn execute(&self, _call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async { Ok(ToolResult::text(self.name)) })
    }
}

/// Installs a scripted plugin. `tools` maps each declared name to its metadata; `script` says what the code does, by
/// default that it registers all of them.
pub(crate) fn install(root: &Path, id: &str, tools: &Value, script: Option<Value>) {
    let folder = root.join(id);
    std::fs::create_dir_all(&folder).unwrap();
    let tools = tools.as_object().unwrap();
    let names: Vec<&String> = tools.keys().collect();
    let metadata: serde_json::Map<String, Value> = tools
        .iter()
        .filter(|(_, metadata)| **metadata != json!({}))
        .map(|(name, it)| (name.clone(), it.clone()))
        .collect();
    let manifest = json!({
        "id": id, "version": "1.0.0", "component": "plugin.json", "world": "airlock:plugin@0.1.0",
        "contracts": { "tools": names }, "toolMetadata": metadata,
    });
    std::fs::write(folder.join("airlock.plugin.json"), serde_json::to_string_pretty(&manifest).unwrap())
        .unwrap();
    let script = script.unwrap_or_else(|| json!({ "tools": names }));
    std::fs::write(folder.join("plugin.json"), script.to_string()).unwrap();
}
