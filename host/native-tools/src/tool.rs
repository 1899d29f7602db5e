//! What the file tools have in common: a definition and a run enter, a tool that is bound to the run's workspace leaves.

use std::sync::Arc;

use airlock_core::{
    Binding, NativeCall, NativeTool, RunContext, ToolDescriptor, ToolError, ToolMetadata, ToolResult,
};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::blocking::Threads;
use crate::workspace::{NamedWorkspace, Workspaces};

/// How many characters of content a tool gives: a model whose context is not known to be large gets 16,000 from the core,
/// which cuts the rest, so notes at the end must fit too.
pub(crate) const MAX_CONTENT_CHARS: usize = 15_000;

/// `read`, `write`, `edit`, `ls` and `apply_patch`, for [`airlock_core::HostBuilder::native_tools`].
///
/// They are in the group `fs`. A run that names no workspace gets none of them.
pub fn files() -> Vec<Arc<dyn NativeTool>> {
    let shared = Arc::new(Shared::default());
    [
        &crate::read::READ,
        &crate::write::WRITE,
        &crate::edit::EDIT,
        &crate::ls::LS,
        &crate::apply_patch::APPLY_PATCH,
    ]
    .into_iter()
    .map(|definition| {
        let shared = Arc::clone(&shared);
        Arc::new(FileTool { definition, shared, workspace: None }) as Arc<dyn NativeTool>
    })
    .collect()
}

/// One file tool: what a model reads about it, and what it does.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    /// JSON Schema 2020-12.
    pub(crate) parameters: &'static str,
    pub(crate) side_effecting: bool,
    /// May block, for a bounded time.
    pub(crate) work: fn(&NamedWorkspace, Value) -> Result<ToolResult, ToolError>,
}

impl Definition {
    pub(crate) fn descriptor(&self) -> ToolDescriptor {
        ToolDescriptor {
            name: self.name.to_owned(),
            title: Some(self.title.to_owned()),
            description: self.description.to_owned(),
            parameters: self.parameters.to_owned(),
            output_schema: None,
        }
    }
}

/// What the tools of one set share.
#[derive(Debug, Default)]
struct Shared {
    workspaces: Workspaces,
    threads: Threads,
}

/// A file tool, bound to a workspace or not yet.
#[derive(Debug)]
struct FileTool {
    definition: &'static Definition,
    shared: Arc<Shared>,
    workspace: Option<NamedWorkspace>,
}

impl NativeTool for FileTool {
    fn descriptor(&self) -> ToolDescriptor {
        self.definition.descriptor()
    }

    // Calls of every kind may run at once: the workspace's own lock orders changes, whichever tool makes them, which a
    // limit on one tool could not.
    fn metadata(&self) -> ToolMetadata {
        ToolMetadata { side_effecting: self.definition.side_effecting, ..ToolMetadata::default() }
    }

    fn groups(&self) -> Vec<&'static str> {
        vec!["fs"]
    }

    fn bind(&self, run: &RunContext) -> Result<Binding, String> {
        Ok(match self.shared.workspaces.open(run) {
            Ok(workspace) => Binding::Made(Arc::new(Self {
                definition: self.definition,
                shared: Arc::clone(&self.shared),
                workspace: Some(workspace),
            })),
            Err(reason) => Binding::Unavailable(reason),
        })
    }

    fn execute(&self, call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        let Some(workspace) = self.workspace.clone() else {
            let message = format!("`{}` works only in a run that names a workspace", self.definition.name);
            return async { Err(ToolError::Unavailable(message)) }.boxed();
        };
        let work = self.definition.work;
        self.shared.threads.run(move || work(&workspace, call.arguments)).boxed()
    }
}

/// A call's arguments. They fit the schema already; what is left are numbers such as `1e2`, which JSON Schema calls whole.
pub(crate) fn arguments<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::InvalidParams(format!("the arguments cannot be used: {error}")))
}

#[cfg(test)]
pub(crate) mod testing {
    //! What the tests of all tools use.

    use std::path::Path;
    use std::pin::pin;
    use std::task::{Context, Poll, Wake, Waker};
    use std::thread::{self, Thread};

    use airlock_core::{CallId, Content, ProgressSink};

    use super::*;

    /// Waits for a future on this thread, without a runtime: the tools must not need one.
    pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
        struct Unpark(Thread);
        impl Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(value) => return value,
                Poll::Pending => thread::park(),
            }
        }
    }

    pub(crate) fn run_in(workspace: &Path) -> RunContext {
        let mut run = RunContext::new("coder");
        run.workspace = Some(workspace.to_str().unwrap().to_owned());
        run
    }

    pub(crate) fn workspace_in(folder: &Path) -> NamedWorkspace {
        Workspaces::default().open(&run_in(folder)).unwrap()
    }

    /// Binds a tool of `tools` to a run, as an assembly does.
    pub(crate) fn bound(tools: &[Arc<dyn NativeTool>], name: &str, run: &RunContext) -> Arc<dyn NativeTool> {
        let template = tools.iter().find(|tool| tool.descriptor().name == name).unwrap();
        match template.bind(run).unwrap() {
            Binding::Made(tool) => tool,
            other => panic!("{other:?}"),
        }
    }

    /// One call of a bound tool, after the check of its arguments that the core makes.
    pub(crate) fn call(
        tool: &dyn NativeTool,
        run: &RunContext,
        arguments: Value,
    ) -> Result<ToolResult, ToolError> {
        let schema = airlock_core::ContractSchema::for_arguments(&tool.descriptor().parameters).unwrap();
        assert_eq!(schema.violations(&arguments), [], "the test's own arguments");
        block_on(tool.execute(native_call(run, arguments)))
    }

    pub(crate) fn native_call(run: &RunContext, arguments: Value) -> NativeCall {
        NativeCall {
            call_id: CallId::parse("call-1").unwrap(),
            arguments,
            run: Arc::new(run.clone()),
            progress: ProgressSink::default(),
        }
    }

    /// A call of one file tool in `folder`.
    pub(crate) fn call_in(folder: &Path, name: &str, arguments: Value) -> Result<ToolResult, ToolError> {
        let run = run_in(folder);
        call(&*bound(&files(), name, &run), &run, arguments)
    }

    /// What the model reads of a result.
    pub(crate) fn text_of(result: &ToolResult) -> &str {
        match result.content.as_slice() {
            [Content::Text { text }] => text,
            other => panic!("{other:?}"),
        }
    }

    /// What a failed call says.
    #[track_caller]
    pub(crate) fn message_of(result: Result<ToolResult, ToolError>) -> String {
        match result {
            Err(
                ToolError::InvalidParams(message)
                | ToolError::Unavailable(message)
                | ToolError::Failed { message, .. },
            ) => message,
            Ok(result) => panic!("{result:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::testing::{block_on, message_of, native_call, run_in};
    use super::*;

    #[test]
    fn every_tool_has_a_strict_schema_and_says_truly_what_it_does() {
        for tool in files() {
            let descriptor = tool.descriptor();
            let schema: Value = serde_json::from_str(&descriptor.parameters).unwrap();
            assert_eq!(schema["additionalProperties"], json!(false), "{}", descriptor.name);
            airlock_core::ContractSchema::for_arguments(&descriptor.parameters).unwrap();
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{} {name}", descriptor.name);
            }
            assert_eq!(tool.groups(), ["fs"]);
            let reads = ["read", "ls"].contains(&descriptor.name.as_str());
            assert_eq!(tool.metadata().side_effecting, !reads, "{}", descriptor.name);
            assert!(!tool.metadata().optional);
        }
        let names: BTreeSet<String> = files().iter().map(|tool| tool.descriptor().name).collect();
        assert_eq!(names.len(), files().len());
    }

    #[test]
    fn without_a_workspace_there_is_no_tool() {
        for tool in files() {
            let binding = tool.bind(&RunContext::new("coder")).unwrap();
            assert!(matches!(binding, Binding::Unavailable(reason) if reason.contains("names none")));
            let run = run_in(std::path::Path::new("/"));
            let answer = block_on(tool.execute(native_call(&run, json!({ "path": "." }))));
            assert!(matches!(answer, Err(ToolError::Unavailable(_))));
            assert!(message_of(answer).contains("names a workspace"));
        }
    }
}
