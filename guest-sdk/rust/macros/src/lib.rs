//! Annotated items of a plugin author enter, the same items with what `airlock-plugin` needs leave. Functions and types
//! stay what the author wrote; nothing here runs at run time.
//!
//! Use these through the `airlock-plugin` crate, which re-exports them.

use proc_macro::TokenStream;

mod container;
mod description;
mod tool;

/// Makes a function a tool.
///
/// The function stays an ordinary function. It takes at most two parameters: an argument struct under `#[arguments]`,
/// then `&Call`; both may be absent. It returns anything that implements `IntoToolResult`. Its doc comment is the
/// description that the model reads.
///
/// Options, separated by commas:
/// - `name = "…"`: the canonical name, `^[a-z][a-z0-9_-]{0,63}$`; by default the function's name;
/// - `title = "…"`: a short name for people;
/// - `optional`: the tool is on a surface only where an operator's allow entry names it.
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    finish(tool::expand(options.into(), item.into()))
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
