//! Annotated items of a plugin author enter, the same items with what `airlock-plugin` needs leave. Functions and types
//! stay what the author wrote; nothing here runs at run time.
//!
//! Use these through the `airlock-plugin` crate, which re-exports them.

use proc_macro::TokenStream;

mod container;
mod description;
mod factory;
mod hook;
mod tool;

/// Makes a function a tool.
///
/// The function stays an ordinary function. It takes at most three parameters: an argument struct under `#[arguments]`,
/// then what a factory binds, `#[bound] target: Target` with a type under `#[binding]`, then `&Call`; each may be absent.
/// It returns anything that implements `IntoToolResult`. Its doc comment is the description that the model reads.
///
/// A function `bound` of the same name makes the tool for one run, in a factory: `send::bound(&target)`, or `send::bound()`
/// without a `#[bound]` parameter. A tool with one cannot stand in the `tools` of `plugin!`.
///
/// Options, separated by commas:
/// - `name = "…"`: the canonical name, `^[a-z][a-z0-9_-]{0,63}$`; by default the function's name;
/// - `title = "…"`: a short name for people;
/// - `optional`: the tool is on a surface only where an operator's allow entry names it.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    finish(tool::expand(options.into(), item.into()))
}

/// Makes a function a factory of tools: it decides for each run which of them the run gets.
///
/// The function stays an ordinary function. It takes `&RunContext`, or nothing. It returns anything that implements
/// `IntoBoundTools`: a `BoundTool`, `Option`, `Vec` or an array of them, or a `Result` of one of these whose error is a
/// text for the operator. No tool means "not available in this run".
///
/// Options, separated by commas:
/// - `tools = [send, …]`: the `#[tool]` functions that it may return;
/// - `optional`: they are on a surface only where an operator's allow entry names them.
#[proc_macro_attribute]
pub fn factory(options: TokenStream, item: TokenStream) -> TokenStream {
    finish(factory::expand(options.into(), item.into()))
}

/// Makes a function a hook handler: the host calls it at a checkpoint, and what it returns counts there.
///
/// The function stays an ordinary function. It takes its event by reference, such as `&ToolAttempt`, and then the run,
/// `&RunContext`, or `Option<&RunContext>` where an event may belong to no run; each may be absent. It returns the answer of
/// its hook, such as `ToolVerdict`, an `Option` of it, or a `Result` whose error is a text for the operator. A hook that
/// only observes has no answer.
///
/// The hook's name comes first: `#[hook(before_tool_call)]`. Options follow, separated by commas:
/// - `priority = …`: higher runs earlier; 0 by default, and nothing for observers;
/// - `tools = ["…"]`: canonical names of the tools that a tool hook is limited to;
/// - `timeout_ms = …`: less than what the hook has by default.
#[proc_macro_attribute]
pub fn hook(options: TokenStream, item: TokenStream) -> TokenStream {
    finish(hook::expand(options.into(), item.into()))
}

/// Makes a struct or enum what a factory binds to a tool, or a part of it.
///
/// Derives `Serialize` and `Deserialize`. As JSON it has at most 4,096 bytes.
#[proc_macro_attribute]
pub fn binding(options: TokenStream, item: TokenStream) -> TokenStream {
    finish(container::expand(container::Kind::Binding, &options.into(), item.into()))
}

/// Makes a struct the arguments of a tool, or a struct or enum a part of them.
///
/// Derives `Deserialize` and `JsonSchema`; unknown fields are refused. Doc comments become descriptions, and `serde` and
/// `schemars` attributes work, placed below this one.
#[proc_macro_attribute]
pub fn arguments(options: TokenStream, item: TokenStream) -> TokenStream {
    finish(container::expand(container::Kind::Arguments, &options.into(), item.into()))
}

/// Makes a struct or enum the typed details of a tool's result, or a part of them.
///
/// Derives `Serialize` and `JsonSchema`; the schema that programs are told has no room for other fields.
#[proc_macro_attribute]
pub fn details(options: TokenStream, item: TokenStream) -> TokenStream {
    finish(container::expand(container::Kind::Details, &options.into(), item.into()))
}

/// Makes a struct or enum the plugin's configuration, or a part of it. Derives `Deserialize`.
#[proc_macro_attribute]
pub fn config(options: TokenStream, item: TokenStream) -> TokenStream {
    finish(container::expand(container::Kind::Config, &options.into(), item.into()))
}

fn finish(expansion: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    expansion.unwrap_or_else(syn::Error::into_compile_error).into()
}
