//! One call as its tool sees it: what the host says about it enters, progress leaves. It never holds the arguments.

use crate::bindings::airlock::plugin::types::RunContext;
use crate::host;

/// The call that a tool is answering. A tool that takes `&Call` as its last parameter gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    id: String,
    tool: String,
    run: RunContext,
}

impl Call {
    pub(crate) fn new(id: String, tool: String, run: RunContext) -> Self {
        Self { id, tool, run }
    }

    /// The call's id, unique within its run.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The canonical name under which the tool was called.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// Where and for whom the call happens: agent, session, trigger, workspace. The host attests every field.
    pub fn run(&self) -> &RunContext {
        &self.run
    }

    /// Reports that `done` of `total` units are done. The host passes on at most 20 reports a second.
    pub fn progress(&self, done: f64, total: Option<f64>, message: Option<&str>) {
        host::progress(done, total, message);
    }
}
