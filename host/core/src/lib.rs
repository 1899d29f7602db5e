//! The rules of Airlock, a plugin host for AI agents.
//!
//! A tool is *installed* as part of a plugin's package, *discovered* through the manifest, *registered* by the
//! plugin's code, *exposed* on the [`Surface`] of one run, *called* by name with JSON arguments, and *executed*
//! within limits. The modules below follow that way; each stage takes one type and gives the next.
//!
//! ```no_run
//! # async fn example(sandbox: impl airlock_core::Sandbox + 'static) -> Result<(), airlock_core::Error> {
//! use airlock_core::{Call, Host, Origin, PluginRoot, RunContext};
//!
//! let root = PluginRoot { path: "plugins".into(), origin: Origin::Config };
//! let host = Host::builder().sandbox(sandbox).plugin_root(root).build().await?;
//! let surface = host.assemble(RunContext::new("writer")).await;
//! let outcome = surface.call(Call::from_json("workflow_tool", r#"{"pipeline": "tidy", "text": " a "}"#)).await;
//! println!("{:?}: {:?}", outcome.kind, outcome.content);
//! # Ok(())
//! # }
//! ```
//!
//! This crate has no engine: WebAssembly runs behind [`Sandbox`] and [`Plugin`], which `airlock-sandbox` implements.

// Words that everything uses.
mod clock;
mod config;
mod diagnostic;
mod document;
mod error;
mod id;
mod limits;
mod run;
mod schema;
mod schemas;
pub mod text;
mod tool;

// Installed → discovered.
mod catalog;
mod discover;
mod manifest;

// What a plugin may reach.
mod capability;

// Discovered → registered.
mod hooks;
mod load;
mod native;
mod plugin;
mod registry;

// Registered → exposed.
mod explain;
mod host;
mod policy;
mod projection;
mod search;
mod skills;
mod surface;

// Exposed → called → executed → on record.
mod approvals;
mod audit;
mod call;
mod result;

pub use approvals::{AnswerError, ApprovalDesk, PendingApproval};
pub use audit::{
    AuditKind, AuditRow, Decided, Grant, GrantId, GrantKey, MemoryStore, Party, Reservation, Store,
    StoreError, StoreErrorKind,
};
pub use call::{
    ApprovalAnswer, ApprovalQuestion, ApprovalReason, Approver, Arguments, Call, CallError, CallKind,
    CallStatus, Checkpoint, GuestReceipt, NearestLimit, Outcome, Receipt, TrailEntry, TrustedPolicy,
};
pub use capability::{
    Access, Capabilities, Effective, FilesystemCapability, KeyValue, KeyValueCapability, KeyValueError,
    MAX_KEY_BYTES, MAX_KEYS, MemoryKeyValue, NetworkCapability, Reached, Refusal, Secret, SecretCapability,
    Secrets, Target, sum,
};
pub use catalog::CatalogEntry;
pub use clock::{Clock, SystemClock};
pub use config::{
    AgentConfig, AgentTools, ApprovalsConfig, AuditConfig, AuditContents, ChannelConfig, Config,
    File as ConfigFile, FilesystemGrant, Grants, GroupConfig, HooksConfig, LimitsConfig, LimitsEntry,
    LoopProtectionConfig, OnFailure, PluginEntry, PluginsConfig, PolicyEntry, ProviderTools, ProvidersConfig,
    SecretSource, SkillEntry, SkillsConfig, StoreConfig, ToolPolicy, ToolSearchConfig, ToolsConfig,
};
pub use diagnostic::{Code, Diagnostic, Location, Severity, lossily};
pub use discover::{Origin, PluginRoot};
pub use document::RawJson;
pub use error::{Error, ErrorKind};
pub use explain::{ExplainedState, Explanation, Projected, State, SubjectKind};
pub use hooks::{
    AgentSummary, ApprovalAsk, ApprovalDecision, ApprovalRequest, ApprovalSeverity, Blocked, FailureAction,
    GateVerdict, GrantScope, HookEvent, HookKind, HookName, HookOptions, HookOutcome, HookStatus,
    InstallRequest, Message, MessageChange, MessageReceipt, MessageVerdict, NativeHook, PersistChange,
    PersistRecord, PromptBuild, PromptChanges, Role, SessionEvent, SubagentEvent, ToolAttempt,
    ToolCompletion, ToolEnd, ToolVerdict, TranscriptMessage, WriteVerdict,
};
pub use host::{Host, HostBuilder, PluginStatus};
pub use id::{CallId, Digest, MAX_NAME_CHARS, NameProblem, PluginId, ToolName};
pub use limits::{AtLeast, Limits, LimitsCeiling, WaitMs};
pub use load::Loaded;
pub use manifest::{
    Activation, Code as ManifestCode, Concurrency, Contracts, Deferral, Endpoint, FileAccess,
    FilesystemRequest, HookContract, HostPattern, JsonPointer, KeyValueRequest, MANIFEST_FILE,
    MAX_MANIFEST_BYTES, Manifest, NetworkRequest, PackagePath, Permissions, Scheme, SecretRequest,
    ToolMetadata, World, is_reserved_header,
};
pub use native::{Binding, NativeCall, NativeTool};
pub use plugin::{
    Answer, Bound, BoundDescriptor, Handled, Handling, Invocation, Invoked, LoadRequest, LogLevel, LogLine,
    LogSink, Materialisation, Materialised, Micros, Plugin, Progress, ProgressSink, Registered, Sandbox,
    Stop, TraceSink, Traces, Usage,
};
pub use policy::Capture;
pub use projection::{Change, Projection, Provider, ReportRow, WireTool};
pub use registry::{
    Exposure, RegisteredFactory, RegisteredHandler, RegisteredTool, Registrar, Registration,
    RegistrationError,
};
pub use result::CallRecord;
pub use run::{ChannelReference, ChatKind, Delivery, ModelReference, Requester, RunContext, Trigger};
pub use schema::{ContractSchema, SchemaProblem, Violation, untrusted_json};
pub use schemas::{DocumentKind, document_schema};
pub use search::{DEFAULT_HITS, Hit, MAX_HITS, signature};
pub use skills::{
    AllowedTools, Beginning, ListedSkill, Mentions, Node, NodeConnection, NodeName, Requirements, Shadowed,
    Skill, SkillCommand, SkillName, SkillRoot, SkillSnapshot, SkillSource, SkillTurn, Surroundings,
    UnknownSurroundings,
};
pub use surface::{ExposedTool, LoadReason, Owner, Removal, Rule, Stage, Surface, Turn};
pub use tool::{Blob, Content, Tool, ToolDescriptor, ToolError, ToolResult};
