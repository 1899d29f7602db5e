//! A compiled component as core's [`Plugin`]: each method is one invocation in a fresh instance.

use std::fmt;
use std::sync::Arc;

use airlock_core::{
    Digest, Handled, Handling, Invocation, Invoked, Limits, Materialisation, Materialised, Plugin,
    ProgressSink, Registered, Registrar,
};
use futures_util::future::BoxFuture;

use crate::bindings::PluginPre;
use crate::convert;
use crate::invoke::{Reach, Request, invoke};
use crate::queue::Queue;
use crate::sandbox::Runtime;
use crate::state::State;

/// One plugin, ready to be invoked.
pub(crate) struct SandboxedPlugin {
    runtime: Arc<Runtime>,
    component: PluginPre<State>,
    queue: Queue,
    digest: Digest,
    configuration: Arc<str>,
}

impl SandboxedPlugin {
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        component: PluginPre<State>,
        digest: Digest,
        configuration: Arc<str>,
    ) -> Self {
        let queue = runtime.slots.for_plugin();
        Self { runtime, component, queue, digest, configuration }
    }
}

impl fmt::Debug for SandboxedPlugin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SandboxedPlugin").field("digest", &self.digest).finish_non_exhaustive()
    }
}

impl Plugin for SandboxedPlugin {
    fn digest(&self) -> Digest {
        self.digest
    }

    fn register(&self, registrar: Registrar, limits: Limits) -> BoxFuture<'_, Registered> {
        Box::pin(async move {
            // A guest that is cut off loses its registrar; an untouched one stands for "nothing registered".
            let untouched = registrar.clone();
            let ended = invoke(
                &self.runtime,
                &self.component,
                &self.queue,
                Request {
                    limits,
                    configuration: Arc::clone(&self.configuration),
                    registrar: Some(registrar),
                    progress: ProgressSink::default(),
                    reach: None,
                    export: Box::new(|store, plugin| {
                        Box::pin(plugin.airlock_plugin_guest().call_register(store))
                    }),
                },
            )
            .await;
            Registered { registrar: ended.registrar.unwrap_or(untouched), end: ended.end, usage: ended.usage }
        })
    }

    fn materialise(&self, request: Materialisation) -> BoxFuture<'_, Materialised> {
        Box::pin(async move {
            let ended = invoke(
                &self.runtime,
                &self.component,
                &self.queue,
                Request {
                    limits: request.limits,
                    configuration: Arc::clone(&self.configuration),
                    registrar: None,
                    progress: ProgressSink::default(),
                    reach: None,
                    export: Box::new(move |store, plugin| {
                        Box::pin(async move {
                            let run = convert::run_context(&request.run);
                            plugin.airlock_plugin_guest().call_materialize(store, request.factory, &run).await
                        })
                    }),
                },
            )
            .await;
            let made = |tools: Vec<_>| tools.into_iter().map(convert::bound_descriptor).collect();
            Materialised { end: ended.end.map(|answer| answer.map(made)), usage: ended.usage }
        })
    }

    fn handle(&self, request: Handling) -> BoxFuture<'_, Handled> {
        Box::pin(async move {
            let ended = invoke(
                &self.runtime,
                &self.component,
                &self.queue,
                Request {
                    limits: request.limits,
                    configuration: Arc::clone(&self.configuration),
                    registrar: None,
                    progress: ProgressSink::default(),
                    reach: Some(Reach {
                        access: request.access,
                        run: request.run.clone(),
                        traces: request.traces,
                    }),
                    export: Box::new(move |store, plugin| {
                        Box::pin(async move {
                            let event = convert::hook::event(&request.event);
                            let run = request.run.as_deref().map(convert::run_context);
                            let guest = plugin.airlock_plugin_guest();
                            guest.call_on_hook(store, request.handler, &event, run.as_ref()).await
                        })
                    }),
                },
            )
            .await;
            // An outcome whose JSON cannot be read is the guest's failure, like any other answer that makes no sense.
            let end = ended.end.map(|answer| answer.and_then(convert::hook::outcome));
            Handled { end, usage: ended.usage }
        })
    }

    fn execute(&self, invocation: Invocation) -> BoxFuture<'_, Invoked> {
        Box::pin(async move {
            let ended = invoke(
                &self.runtime,
                &self.component,
                &self.queue,
                Request {
                    limits: invocation.limits,
                    configuration: Arc::clone(&self.configuration),
                    registrar: None,
                    progress: invocation.progress.clone(),
                    reach: Some(Reach {
                        access: invocation.access.clone(),
                        run: Some(Arc::clone(&invocation.run)),
                        traces: invocation.traces.clone(),
                    }),
                    export: Box::new(move |store, plugin| {
                        Box::pin(async move {
                            let call = convert::tool_call(&invocation);
                            let run = convert::run_context(&invocation.run);
                            plugin.airlock_plugin_guest().call_execute(store, &call, &run).await
                        })
                    }),
                },
            )
            .await;
            Invoked { end: ended.end.map(convert::answer), usage: ended.usage }
        })
    }
}
