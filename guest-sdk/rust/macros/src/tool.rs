//! A function under `#[tool]` enters; the function and a type of the same name that implements `Tool` leave.

use proc_macro2::Span;
use proc_macro2::TokenStream;
use quote::quote;
use syn::Attribute;
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
#[derive(Default)]
struct Parameters {
    arguments: Option<Type>,
    binding: Option<Type>,
    call: bool,
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let mut function: ItemFn = syn::parse2(item)?;
    let options = parse_options(options)?;
    check_signature(&function.sig)?;
    let name = canonical_name(&options, &function.sig.ident)?;
    let Some(description) = description::of(&function.attrs) else {
        let ident = &function.sig.ident;
        let message = format!(
            "a tool needs a description for the model: write a doc comment, `/// …`, above `fn {ident}`"
        );
        return Err(Error::new(ident.span(), message));
    };
    let parameters = take_parameters(&mut function.sig)?;
    let answer = answer(&function.sig)?;

    let title = match &options.title {
        Some(title) => quote!(::core::option::Option::Some(#title)),
        None => quote!(::core::option::Option::None),
    };
    let exposure = if options.optional { quote!(Optional) } else { quote!(Required) };
    let arguments_type = match &parameters.arguments {
        Some(arguments) => quote!(#arguments),
        None => quote!(::airlock_plugin::NoArguments),
    };
    let binding_type = match &parameters.binding {
        Some(binding) => quote!(#binding),
        None => quote!(::airlock_plugin::NoBinding),
    };
    let passed = [
        parameters.arguments.as_ref().map(|_| quote!(arguments)),
        parameters.binding.as_ref().map(|_| quote!(binding)),
        parameters.call.then(|| quote!(call)),
    ];
    let passed = passed.iter().flatten();
    let bound = bound(&function, &parameters);
    let (ident, visibility) = (&function.sig.ident, &function.vis);
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
            type Binding = #binding_type;
            type Answer = #answer;

            #[allow(unused_variables, reason = "a tool takes what it needs")]
            fn run(
                arguments: Self::Arguments,
                binding: Self::Binding,
                call: &::airlock_plugin::Call,
            ) -> Self::Answer {
                #ident(#(#passed),*)
            }
        }

        #bound
    })
}

/// The function by which a factory makes the tool. It takes what the tool needs, so that the compiler refuses a factory
/// that binds something else, or nothing.
fn bound(function: &ItemFn, parameters: &Parameters) -> TokenStream {
    let (ident, visibility) = (&function.sig.ident, &function.vis);
    let (parameter, passed) = match &parameters.binding {
        Some(binding) => (quote!(binding: &#binding), quote!(binding)),
        None => (quote!(), quote!(&::airlock_plugin::NoBinding)),
    };
    quote! {
        impl #ident {
            /// The tool for one run.
            #[allow(dead_code, reason = "only a factory needs it")]
            #visibility fn bound(#parameter) -> ::airlock_plugin::BoundTool {
                ::airlock_plugin::BoundTool::of::<Self>(#passed)
            }
        }
    }
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
pub(crate) fn is_canonical(name: &str) -> bool {
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

/// Reads the parameters in their order, and takes `#[bound]` away, which is no attribute for the compiler.
fn take_parameters(signature: &mut Signature) -> Result<Parameters> {
    let everything = signature.inputs.span();
    let mut parameters = Parameters::default();
    for input in &mut signature.inputs {
        let typed = match input {
            FnArg::Typed(typed) => typed,
            FnArg::Receiver(receiver) => {
                return Err(Error::new(receiver.span(), "a tool is a free function: it has no `self`"));
            }
        };
        let is_reference = matches!(*typed.ty, Type::Reference(_));
        let has_mark = typed.attrs.iter().any(is_bound);
        typed.attrs.retain(|attribute| !is_bound(attribute));
        let Parameters { arguments, binding, call } = &mut parameters;
        match (has_mark, is_reference) {
            (true, true) => {
                return Err(Error::new(
                    typed.ty.span(),
                    "what a factory bound comes by value: take away the `&`",
                ));
            }
            (true, false) if binding.is_none() && !*call => *binding = Some((*typed.ty).clone()),
            (false, true) if !*call => *call = true,
            (false, false) if arguments.is_none() && binding.is_none() && !*call => {
                *arguments = Some((*typed.ty).clone());
            }
            _ => {
                return Err(Error::new(
                    everything,
                    "a tool takes at most its arguments, as one struct by value, what a factory binds, as \
                     `#[bound] …`, and `&Call`, in this order",
                ));
            }
        }
    }
    Ok(parameters)
}

fn is_bound(attribute: &Attribute) -> bool {
    attribute.path().is_ident("bound")
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
    use syn::parse_quote;

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

    #[test]
    fn parameters_have_an_order() {
        let check = |mut signature: Signature, expected: Option<(bool, bool, bool)>| {
            let parameters = take_parameters(&mut signature).ok();
            let found =
                parameters.map(|found| (found.arguments.is_some(), found.binding.is_some(), found.call));
            assert_eq!(found, expected);
        };
        check(parse_quote!(fn f()), Some((false, false, false)));
        check(parse_quote!(fn f(a: A, #[bound] b: B, c: &Call)), Some((true, true, true)));
        check(parse_quote!(fn f(#[bound] b: B)), Some((false, true, false)));
        check(parse_quote!(fn f(c: &Call)), Some((false, false, true)));
        check(parse_quote!(fn f(#[bound] b: B, a: A)), None);
        check(parse_quote!(fn f(c: &Call, #[bound] b: B)), None);
        check(parse_quote!(fn f(a: A, b: B)), None);
        check(parse_quote!(fn f(#[bound] b: &B)), None);
        check(parse_quote!(fn f(c: &Call, d: &Call)), None);
    }
}
