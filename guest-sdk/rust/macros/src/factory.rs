//! A function under `#[factory]` enters; the function and a type of the same name that implements `Factory` leave.

use proc_macro2::Span;
use proc_macro2::TokenStream;
use quote::quote;
use syn::Error;
use syn::FnArg;
use syn::ItemFn;
use syn::Path;
use syn::Result;
use syn::ReturnType;
use syn::Signature;
use syn::Token;
use syn::Type;
use syn::bracketed;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;

#[derive(Default)]
struct Options {
    tools: Vec<Path>,
    optional: bool,
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)?;
    let options = parse_options(options)?;
    check_signature(&function.sig)?;
    let (ident, visibility) = (&function.sig.ident, &function.vis);
    if options.tools.is_empty() {
        return Err(Error::new(
            ident.span(),
            "a factory lists every tool that it may return: `#[factory(tools = [send, …])]`",
        ));
    }
    let passed = passed(&function.sig)?;
    let answer = answer(&function.sig)?;
    let name = ident.to_string();
    let tools = &options.tools;
    let exposure = if options.optional { quote!(Optional) } else { quote!(Required) };
    Ok(quote! {
        #function

        // As for a tool: whoever imports the function imports the factory.
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations, reason = "stands for the function")]
        #visibility enum #ident {}

        impl ::airlock_plugin::Factory for #ident {
            const NAME: &'static str = #name;
            const TOOLS: &'static [::airlock_plugin::ToolEntry] = &[#(::airlock_plugin::ToolEntry::of::<#tools>()),*];
            const EXPOSURE: ::airlock_plugin::Exposure = ::airlock_plugin::Exposure::#exposure;
            type Answer = #answer;

            #[allow(unused_variables, reason = "a factory takes what it needs")]
            fn run(run: &::airlock_plugin::RunContext) -> Self::Answer {
                #ident(#passed)
            }
        }
    })
}

fn parse_options(tokens: TokenStream) -> Result<Options> {
    let mut options = Options::default();
    let parser = syn::meta::parser(|meta| {
        if meta.path.is_ident("tools") {
            let value = meta.value()?;
            let list;
            bracketed!(list in value);
            options.tools = Punctuated::<Path, Token![,]>::parse_terminated(&list)?.into_iter().collect();
        } else if meta.path.is_ident("optional") {
            options.optional = true;
        } else {
            return Err(meta.error("`#[factory]` knows `tools = [ … ]` and `optional`"));
        }
        Ok(())
    });
    parser.parse2(tokens)?;
    Ok(options)
}

fn check_signature(signature: &Signature) -> Result<()> {
    let refuse = |span: Span, message: &str| Err(Error::new(span, message));
    if let Some(asyncness) = signature.asyncness {
        return refuse(
            asyncness.span(),
            "a factory is an ordinary function: each run asks an instance of its own",
        );
    }
    if let Some(unsafety) = signature.unsafety {
        return refuse(unsafety.span(), "a factory is called for every run, so it cannot be unsafe");
    }
    if !signature.generics.params.is_empty() {
        return refuse(signature.generics.span(), "a factory has no generic parameters");
    }
    Ok(())
}

/// What the function is called with.
fn passed(signature: &Signature) -> Result<TokenStream> {
    let mut inputs = signature.inputs.iter();
    match (inputs.next(), inputs.next()) {
        (None, _) => Ok(quote!()),
        (Some(FnArg::Typed(typed)), None) if matches!(*typed.ty, Type::Reference(_)) => Ok(quote!(run)),
        _ => Err(Error::new(
            signature.inputs.span(),
            "a factory takes the run, `&RunContext`, or nothing: a tool gets its arguments when it is called",
        )),
    }
}

fn answer(signature: &Signature) -> Result<&Type> {
    match &signature.output {
        ReturnType::Type(_, answer) => Ok(answer),
        ReturnType::Default => Err(Error::new(
            signature.ident.span(),
            "a factory returns the tools that the run gets, for example an `Option<BoundTool>`",
        )),
    }
}
