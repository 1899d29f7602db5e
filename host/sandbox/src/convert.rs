//! Between the contract's types and core's. Nothing is judged here: core does that with what it gets.

pub(crate) mod hook;

use airlock_core::{
    Answer, Blob, BoundDescriptor, Content, Exposure, HookName, HookOptions, Invocation, RegistrationError,
    RunContext, ToolDescriptor, Trigger,
};

use crate::bindings::airlock::plugin::{hook_types, registry, types};

pub(crate) fn descriptor(tool: types::Tool) -> ToolDescriptor {
    ToolDescriptor {
        name: tool.name,
        title: tool.title,
        description: tool.description,
        parameters: tool.parameters,
        output_schema: tool.output_schema,
    }
}

pub(crate) fn bound_descriptor(bound: types::BoundTool) -> BoundDescriptor {
    BoundDescriptor { descriptor: descriptor(bound.tool), binding: bound.binding }
}

pub(crate) fn exposure(exposure: registry::Exposure) -> Exposure {
    match exposure {
        registry::Exposure::Required => Exposure::Required,
        registry::Exposure::Optional => Exposure::Optional,
    }
}

pub(crate) fn registration_error(error: RegistrationError) -> registry::RegistrationError {
    match error {
        RegistrationError::Undeclared(what) => registry::RegistrationError::Undeclared(what),
        RegistrationError::Duplicate(what) => registry::RegistrationError::Duplicate(what),
        RegistrationError::Invalid(what) => registry::RegistrationError::Invalid(what),
        RegistrationError::Closed => registry::RegistrationError::Closed,
    }
}

pub(crate) fn hook_name(hook: hook_types::HookName) -> HookName {
    match hook {
        hook_types::HookName::BeforePromptBuild => HookName::BeforePromptBuild,
        hook_types::HookName::BeforeAgentRun => HookName::BeforeAgentRun,
        hook_types::HookName::BeforeToolCall => HookName::BeforeToolCall,
        hook_types::HookName::AfterToolCall => HookName::AfterToolCall,
        hook_types::HookName::ToolResultPersist => HookName::ToolResultPersist,
        hook_types::HookName::BeforeMessageWrite => HookName::BeforeMessageWrite,
        hook_types::HookName::MessageReceived => HookName::MessageReceived,
        hook_types::HookName::MessageSending => HookName::MessageSending,
        hook_types::HookName::MessageSent => HookName::MessageSent,
        hook_types::HookName::SessionStart => HookName::SessionStart,
        hook_types::HookName::SessionEnd => HookName::SessionEnd,
        hook_types::HookName::AgentEnd => HookName::AgentEnd,
        hook_types::HookName::BeforeInstall => HookName::BeforeInstall,
        hook_types::HookName::SubagentSpawned => HookName::SubagentSpawned,
        hook_types::HookName::SubagentEnded => HookName::SubagentEnded,
        hook_types::HookName::HostStart => HookName::HostStart,
        hook_types::HookName::HostStop => HookName::HostStop,
    }
}

pub(crate) fn hook_options(options: hook_types::HookOptions) -> HookOptions {
    HookOptions { priority: options.priority, timeout_ms: options.timeout_ms, tools: options.tools }
}

pub(crate) fn tool_call(invocation: &Invocation) -> types::ToolCall {
    types::ToolCall {
        call_id: invocation.call_id.to_string(),
        tool: invocation.tool.to_string(),
        params: invocation.arguments.clone(),
        factory: invocation.bound.as_ref().map(|bound| bound.factory),
        binding: invocation.bound.as_ref().and_then(|bound| bound.binding.clone()),
    }
}

pub(crate) fn run_context(run: &RunContext) -> types::RunContext {
    types::RunContext {
        agent_id: run.agent.clone(),
        session_key: run.session_key.clone(),
        session_id: run.session.clone(),
        run_id: run.run.clone(),
        parent_run: run.parent_run.clone(),
        trigger: match run.trigger {
            Trigger::User => types::Trigger::User,
            Trigger::Schedule => types::Trigger::Schedule,
            Trigger::Heartbeat => types::Trigger::Heartbeat,
            Trigger::Subagent => types::Trigger::Subagent,
            Trigger::Api => types::Trigger::Api,
        },
        interactive: run.interactive,
        workspace: run.workspace.clone(),
        model: run.model.as_ref().map(|model| types::ModelRef {
            provider: model.provider.clone(),
            model: model.model.clone(),
            context_tokens: model.context_tokens,
        }),
        channel: run.channel.as_ref().map(|channel| types::ChannelRef {
            name: channel.name.clone(),
            account: channel.account.clone(),
            kind: channel.kind.map(|kind| match kind {
                airlock_core::ChatKind::Direct => types::ChatKind::Direct,
                airlock_core::ChatKind::Group => types::ChatKind::Group,
                airlock_core::ChatKind::Thread => types::ChatKind::Thread,
            }),
            group: channel.group.clone(),
            thread: channel.thread.clone(),
        }),
        delivery: run.delivery.as_ref().map(|delivery| types::Delivery {
            channel: delivery.channel.clone(),
            account: delivery.account.clone(),
            recipient: delivery.recipient.clone(),
            thread: delivery.thread.clone(),
        }),
        requester: run.requester.as_ref().map(|requester| types::Requester {
            sender_id: requester.sender.clone(),
            is_owner: requester.is_owner,
        }),
        authenticated_providers: run.authenticated_providers.clone(),
        client_capabilities: run.client_capabilities.clone(),
        sandboxed: run.sandboxed,
    }
}

pub(crate) fn answer(answer: Result<types::ToolResult, types::ToolError>) -> Answer {
    match answer {
        Ok(result) => Answer::Result {
            content: result.content.into_iter().map(content).collect(),
            details: result.details,
        },
        Err(types::ToolError::InvalidParams(message)) => Answer::InvalidParams(message),
        Err(types::ToolError::Unavailable(message)) => Answer::Unavailable(message),
        Err(types::ToolError::Failed(failure)) => {
            Answer::Failed { message: failure.message, details: failure.details }
        }
    }
}

fn content(content: types::Content) -> Content {
    match content {
        types::Content::Text(text) => Content::Text { text },
        types::Content::Image(blob) => Content::Image(self::blob(blob)),
        types::Content::Audio(blob) => Content::Audio(self::blob(blob)),
    }
}

fn blob(blob: types::Blob) -> Blob {
    Blob { mime_type: blob.mime_type, data: blob.data }
}
