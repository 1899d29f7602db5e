//! A function under `#[tool]` enters; the function and a type of the same name that implements `Tool` leave.

use proc_macro2::Span;
use proc_macro2::TokenStream;
use quote::quote;
use syn::Error;
use syn::FnArg;
use syn::Ident;
use syn::ItemFn;
use syn::LitStr;
use syn::Result;
use syn::ReturnType;
use syn::Signature;
use syn::Type;
use syn::parse::Parser;
use syn::spanned::Spanned;

use crate::description;

#[derive(Default)]
struct Options {
    name: Option<LitStr>,
    title: Option<LitStr>,
    optional: bool,
}

/// What the function takes.
struct Parameters<'a> {
    arguments: Option<&'a Type>,
    call: bool,
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)?;
    let options = parse_options(options)?;
    check_signature(&function.sig)?;
    let ident = &function.sig.ident;
    let name = canonical_name(&options, ident)?;
    let Some(description) = description::of(&function.attrs) else {
        let message = format!(
            "a tool needs a description for the model: write a doc comment, `/// …`, above `fn {ident}`"
        );
        return Err(Error::new(ident.span(), message));
    };
    let parameters = parameters(&function.sig)?;
    let answer = answer(&function.sig)?;

    let title = match &options.title {
        Some(title) => quote!(::core::option::Option::Some(#title)),
        None => quote!(::core::option::Option::None),
    };
    let exposure = if options.optional { quote!(Optional) } else { quote!(Required) };
    let arguments_type = match parameters.arguments {
        Some(arguments) => quote!(#arguments),
        None => quote!(::airlock_plugin::NoArguments),
    };
    let passed = match (parameters.arguments, parameters.call) {
        (Some(_), true) => quote!(arguments, call),
        (Some(_), false) => quote!(arguments),
        (None, true) => quote!(call),
        (None, false) => quote!(),
    };
    let visibility = &function.vis;
    Ok(quote! {
        #[allow(clippy::needless_pass_by_value, reason = "a tool owns its arguments")]
        #function

        // A function and an enum may share a name; whoever imports the one imports the other.
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations, reason = "stands for the function")]
        #visibility enum #ident {}

        impl ::airlock_plugin::Tool for #ident {
            const NAME: &'static str = #name;
            const TITLE: ::core::option::Option<&'static str> = #title;
            const DESCRIPTION: &'static str = #description;
            const EXPOSURE: ::airlock_plugin::Exposure = ::airlock_plugin::Exposure::#exposure;
            type Arguments = #arguments_type;
            type Answer = #answer;

            #[allow(unused_variables, reason = "a tool takes what it needs")]
            fn run(arguments: Self::Arguments, call: &::airlock_plugin::Call) -> Self::Answer {
                #ident(#passed)
            }
        }
    })
}

fn parse_options(tokens: TokenStream) -> Result<Options> {
    let mut options = Options::default();
    let parser = syn::meta::parser(|meta| {
        if meta.path.is_ident("name") {
            options.name = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("title") {
            options.title = Some(meta.value()?.parse()?);
        } else if meta.path.is_ident("optional") {
            options.optional = true;
        } else {
            return Err(meta.error("`#[tool]` knows `name = \"…\"`, `title = \"…\"` and `optional`"));
        }
        Ok(())
    });
    parser.parse2(tokens)?;
    Ok(options)
}

fn canonical_name(options: &Options, function: &Ident) -> Result<String> {
    let (name, span) = match &options.name {
        Some(name) => (name.value(), name.span()),
        None => (function.to_string(), function.span()),
    };
    if is_canonical(&name) {
        return Ok(name);
    }
    let remedy =
        if options.name.is_some() { "choose another" } else { "set one with `#[tool(name = \"…\")]`" };
    let message = format!(
        "`{name}` is not a canonical tool name: a lower-case letter, then at most 63 of a-z, 0-9, `_` and `-`; {remedy}"
    );
    Err(Error::new(span, message))
}

/// `^[a-z][a-z0-9_-]{0,63}$`
fn is_canonical(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.len() <= 64
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

fn check_signature(signature: &Signature) -> Result<()> {
    let refuse = |span: Span, message: &str| Err(Error::new(span, message));
    if let Some(asyncness) = signature.asyncness {
        return refuse(
            asyncness.span(),
            "a tool is an ordinary function: a call has its own instance and may block",
        );
    }
    if let Some(unsafety) = signature.unsafety {
        return refuse(
            unsafety.span(),
            "a tool is called with whatever a model writes, so it cannot be unsafe",
        );
    }
    if !signature.generics.params.is_empty() {
        return refuse(
            signature.generics.span(),
            "a tool has no generic parameters: its schema must be known",
        );
    }
    Ok(())
}

fn parameters(signature: &Signature) -> Result<Parameters<'_>> {
    let mut types = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Typed(typed) => types.push(typed.ty.as_ref()),
            FnArg::Receiver(receiver) => {
                return Err(Error::new(receiver.span(), "a tool is a free function: it has no `self`"));
            }
        }
    }
    match types.as_slice() {
        [] => Ok(Parameters { arguments: None, call: false }),
        [Type::Reference(_)] => Ok(Parameters { arguments: None, call: true }),
        [arguments] => Ok(Parameters { arguments: Some(arguments), call: false }),
        [arguments, Type::Reference(_)] if !matches!(arguments, Type::Reference(_)) => {
            Ok(Parameters { arguments: Some(arguments), call: true })
        }
        _ => Err(Error::new(
            signature.inputs.span(),
            "a tool takes at most its arguments, as one struct by value, and then `&Call`",
        )),
    }
}

fn answer(signature: &Signature) -> Result<&Type> {
    match &signature.output {
        ReturnType::Type(_, answer) => Ok(answer),
        ReturnType::Default => Err(Error::new(
            signature.ident.span(),
            "a tool returns what the model reads next, for example a `String`",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_names() {
        for name in ["a", "read_file", "x-1", &"a".repeat(64)] {
            assert!(is_canonical(name), "{name}");
        }
        for name in ["", "Read", "1a", "_a", "a.b", "é", &"a".repeat(65)] {
            assert!(!is_canonical(name), "{name}");
        }
    }
}
