//! Finding tools: the right one is among the first, what is not on the surface is never found, and it takes no time.

use std::time::{Duration, Instant};

use airlock_core::{
    Config, DEFAULT_HITS, Host, HostBuilder, MAX_HITS, NativeCall, NativeTool, RunContext, Surface,
    ToolDescriptor, ToolError, ToolResult,
};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::scripted::{Scripted, descriptor};

/// 300 tools of the kind that people install, one a line: name, description, parameters.
const CATALOGUE: &str = include_str!("search/catalogue.txt");

/// What people ask for, and the tool that they mean.
const QUERIES: &str = include_str!("search/queries.txt");

/// A tool that exists to be found.
#[derive(Debug, Clone)]
struct Listed {
    name: String,
    description: String,
    parameters: Vec<String>,
}

impl NativeTool for Listed {
    fn descriptor(&self) -> ToolDescriptor {
        let properties: Map<String, Value> =
            self.parameters.iter().map(|name| (name.clone(), json!({ "type": "string" }))).collect();
        let required = self.parameters.first();
        let schema = json!({ "type": "object", "properties": properties, "required": required.into_iter().collect::<Vec<_>>() });
        ToolDescriptor {
            description: self.description.clone(),
            parameters: schema.to_string(),
            ..descriptor(&self.name)
        }
    }

    fn execute(&self, _: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async { Ok(ToolResult::text("found")) })
    }
}

fn fields(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}

fn catalogue() -> Vec<Listed> {
    let lines = CATALOGUE.lines().map(fields);
    lines
        .map(|line| Listed {
            name: line[0].to_owned(),
            description: line[1].to_owned(),
            parameters: line[2].split(',').map(str::to_owned).collect(),
        })
        .collect()
}

async fn surface(tools: Vec<Listed>, config: &str) -> Surface {
    let config = Config::from_toml(config.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let builder = tools.into_iter().fold(Host::builder(), HostBuilder::native_tool);
    builder.sandbox(Scripted).config(config).build().await.unwrap().assemble(RunContext::new("writer")).await
}

fn names(surface: &Surface, query: &str, limit: usize) -> Vec<String> {
    surface.search(query, limit).into_iter().map(|hit| hit.name.to_string()).collect()
}

#[tokio::test]
async fn the_tool_that_is_meant_is_among_the_first_five() {
    let surface = surface(catalogue(), "").await;
    assert_eq!((surface.tools().count(), QUERIES.lines().count()), (300, 40));
    let missed: Vec<_> = QUERIES
        .lines()
        .map(fields)
        .filter(|line| !names(&surface, line[0], 5).iter().any(|name| name == line[1]))
        .map(|line| format!("{} -> {:?}", line.join(" | "), names(&surface, line[0], 5)))
        .collect();
    assert!(missed.len() <= 2, "{missed:#?}");
}

#[tokio::test]
async fn an_exact_name_is_first_and_what_is_denied_is_nowhere() {
    let whole = surface(catalogue(), "").await;
    for name in ["mail_send", "notes_search", "files_read"] {
        assert_eq!(names(&whole, name, 8)[0], name);
        assert_eq!(names(&whole, &format!(" {} ", name.to_uppercase()), 8)[0], name);
    }
    assert_eq!(names(&whole, "mail_send", 100).len(), MAX_HITS);
    assert_eq!(whole.search("mail_send", DEFAULT_HITS).len(), DEFAULT_HITS);
    assert!(names(&whole, "", 8).is_empty() && names(&whole, "the of", 8).is_empty());
    let hit = &whole.search("calendar_create_event", 1)[0];
    assert_eq!(
        hit.signature,
        "calendar_create_event(title: string, start?: string, end?: string, attendees?: string)"
    );

    let denied = surface(catalogue(), "[tools]\ndeny = [\"mail_*\"]").await;
    let narrowed = whole.narrow("a turn", &[airlock_core::PolicyEntry::parse("slack_*").unwrap()]);
    for query in ["mail_send", "send an email to anna", "email mailbox inbox attachment recipients"] {
        assert!(names(&denied, query, 20).iter().all(|name| !name.starts_with("mail_")), "{query}");
        assert!(names(&narrowed, query, 20).iter().all(|name| name.starts_with("slack_")), "{query}");
    }
}

#[tokio::test]
async fn ten_thousand_tools_are_searched_in_no_time_and_always_alike() {
    let copies = (0..34).flat_map(|copy| {
        catalogue().into_iter().map(move |tool| Listed { name: format!("{}_{copy}", tool.name), ..tool })
    });
    let surface = surface(copies.take(10_000).collect(), "").await;
    let first = names(&surface, "email the report to anna", 20);
    let mut fastest = Duration::MAX;
    for line in QUERIES.lines().map(fields) {
        let began = Instant::now();
        surface.search(line[0], 20);
        fastest = fastest.min(began.elapsed());
        assert_eq!(names(&surface, "email the report to anna", 20), first);
    }
    // The bar is 5 ms for a release build; the fastest of many, since other tests run beside this one.
    let bar = if cfg!(debug_assertions) { 50 } else { 5 };
    assert!(fastest < Duration::from_millis(bar), "{fastest:?}");
}
