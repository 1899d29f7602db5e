//! Registered → exposed, for a model: a surface enters; tools as one provider takes them leave, with a row for everything that
//! was dropped, rewritten or moved into a text, and the way back for the calls that the model makes of them.
//!
//! A tool that cannot be said to a provider is left out with a finding, and the others are still sent. What a call must
//! satisfy stays the contract schema, whatever the provider was told.

mod decode;
mod keyword;
mod lower;
mod merge;
mod provider;
mod references;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};

use crate::diagnostic::{Code, Diagnostic};
use crate::id::ToolName;
use crate::surface::Surface;
use crate::tool::Tool;
use decode::Decoder;
use lower::Lowered;

pub use provider::Provider;
pub use report::{Change, ReportRow};

/// A surface as one provider takes it.
#[derive(Debug, Clone)]
pub struct Projection {
    provider: Provider,
    tools: Vec<WireTool>,
    left_out: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    report: Vec<ReportRow>,
    decoders: BTreeMap<ToolName, Decoder>,
    /// Tools that the surface withholds: a model knows their contract schemas, so that there is nothing to undo.
    deferred: BTreeSet<ToolName>,
}

/// One tool as a provider takes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WireTool {
    /// Its name; every provider takes canonical names as they are.
    pub name: ToolName,
    /// A short name for people, where the provider has a place for one.
    pub title: Option<String>,
    /// What it does.
    pub description: String,
    /// The wire schema of its arguments.
    pub parameters: Value,
    /// What its details satisfy, where the provider has a place for that.
    pub output_schema: Option<Value>,
    /// Whether the provider is to hold arguments to the schema.
    pub is_strict: bool,
}

impl Surface {
    /// The surface as a provider takes it: what is [offered](Surface::offered), without what is withheld until it is searched
    /// for.
    pub fn project(&self, provider: Provider) -> Projection {
        let deferred = self.deferred().map(|exposed| exposed.tool.name.clone()).collect();
        let mut projection = Projection { deferred, ..Projection::new(provider) };
        for exposed in self.offered() {
            projection.add(&exposed.tool);
        }
        projection.warn();
        projection
    }

    /// One of its tools as a provider takes it; `None` if it is not on this surface.
    pub fn project_tool(&self, name: &ToolName, provider: Provider) -> Option<Projection> {
        let mut projection = Projection::new(provider);
        projection.add(&self.tool(name)?.tool);
        projection.warn();
        Some(projection)
    }
}

impl Projection {
    fn new(provider: Provider) -> Self {
        Self {
            provider,
            tools: Vec::new(),
            left_out: Vec::new(),
            warnings: Vec::new(),
            report: Vec::new(),
            decoders: BTreeMap::new(),
            deferred: BTreeSet::new(),
        }
    }

    /// Says what a provider may refuse although each schema is as it wants it.
    fn warn(&mut self) {
        let provider = self.provider.as_str();
        if let Some(most) = provider::max_tools(self.provider).filter(|most| self.tools.len() > *most) {
            let message =
                format!("{} tools are more than {provider} takes in one request, {most}", self.tools.len());
            let hint = "lower `[tool-search] threshold-tools`, so that some are found by a search, or narrow the run";
            self.warnings.push(Diagnostic::new(Code::WireTooLarge, provider, message, hint));
        }
        let Some(most) = provider::max_description_chars(self.provider) else { return };
        for tool in &self.tools {
            let chars = tool.description.chars().count();
            if chars > most {
                let message = format!(
                    "the description of `{}` has {chars} characters, and {provider} has refused more than {most}",
                    tool.name
                );
                let hint = "the plugin's author shortens it; more belongs into a skill";
                self.warnings.push(Diagnostic::new(Code::WireTooLarge, &tool.name, message, hint));
            }
        }
    }

    fn add(&mut self, tool: &Tool) {
        let contract = tool.parameters.source();
        let mut is_strict = self.provider == Provider::OpenAiStrict;
        let mut lowered = lower::lower(&tool.name, contract, self.provider.rules());
        if let (true, Err(unfit)) = (is_strict, &lowered) {
            let row = ReportRow {
                tool: tool.name.clone(),
                pointer: unfit.at.clone(),
                change: Change::NotStrict,
                detail: unfit.reason.clone(),
            };
            self.report.push(row);
            is_strict = false;
            lowered = lower::lower(&tool.name, contract, Provider::OpenAi.rules());
        }
        match lowered {
            Ok(Lowered { schema, decoder, rows }) => {
                self.report.extend(rows);
                self.decoders.insert(tool.name.clone(), decoder);
                self.tools.push(WireTool {
                    name: tool.name.clone(),
                    title: tool.title.clone(),
                    description: tool.description.clone(),
                    parameters: schema,
                    output_schema: tool.output_schema.as_ref().map(|schema| schema.source().clone()),
                    is_strict,
                });
            }
            Err(unfit) => {
                let provider = self.provider.as_str();
                let message = format!(
                    "`{}` is not sent to {provider}: at `{}` of its parameters {}",
                    tool.name, unfit.at, unfit.reason
                );
                let hint = "simplify the schema of its parameters there";
                self.left_out.push(Diagnostic::new(Code::ToolUnprojectable, &tool.name, message, hint));
            }
        }
    }

    /// For whom it is.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// The tools, in order of their names.
    pub fn tools(&self) -> &[WireTool] {
        &self.tools
    }

    /// Tools that could not be lowered, with the place and the reason.
    pub fn left_out(&self) -> &[Diagnostic] {
        &self.left_out
    }

    /// What the provider may refuse, although each schema is as it wants it: too many tools, or texts that are too long.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// Everything that lowering changed.
    pub fn report(&self) -> &[ReportRow] {
        &self.report
    }

    /// The tools as the list that the provider's API takes.
    pub fn to_json(&self) -> Value {
        Value::Array(self.tools.iter().map(|tool| self.one(tool)).collect())
    }

    fn one(&self, tool: &WireTool) -> Value {
        let WireTool { name, title, description, parameters, output_schema, is_strict } = tool;
        let name = name.as_str();
        match self.provider {
            Provider::OpenAi | Provider::OpenAiStrict => json!({
                "type": "function", "name": name, "description": description, "parameters": parameters,
                "strict": is_strict,
            }),
            Provider::Anthropic => {
                json!({ "name": name, "description": description, "input_schema": parameters })
            }
            Provider::Gemini => {
                json!({ "name": name, "description": description, "parametersJsonSchema": parameters })
            }
            Provider::Mcp => {
                let mut one = json!({ "name": name, "description": description, "inputSchema": parameters });
                if let (Value::Object(members), Some(title)) = (&mut one, title) {
                    members.insert("title".to_owned(), json!(title));
                }
                if let (Value::Object(members), Some(schema)) = (&mut one, output_schema) {
                    members.insert("outputSchema".to_owned(), schema.clone());
                }
                one
            }
            Provider::XAi | Provider::Mistral => json!({
                "type": "function",
                "function": { "name": name, "description": description, "parameters": parameters },
            }),
            Provider::Bedrock => json!({
                "toolSpec": { "name": name, "description": description, "inputSchema": { "json": parameters } },
            }),
        }
    }

    /// A model's arguments as the contract has them: renamed members have their names back, and what stands for "absent" is
    /// gone. Whether they fit is for the call to say. `None` if no tool of that name was sent or withheld.
    pub fn decode(&self, name: &str, arguments: Value) -> Option<(ToolName, Value)> {
        let name = ToolName::canonicalise(name).ok()?;
        match self.decoders.get(&name) {
            Some(decoder) => Some((name, decoder.decode(arguments))),
            None => self.deferred.contains(&name).then_some((name, arguments)),
        }
    }
}
