//! A function under `#[hook]` enters; the function and a type of the same name that implements `Handler` leave.

mod catalogue;

use proc_macro2::Span;
use proc_macro2::TokenStream;
use quote::quote;
use quote::quote_spanned;
use syn::Error;
use syn::FnArg;
use syn::Ident;
use syn::ItemFn;
use syn::LitInt;
use syn::LitStr;
use syn::Result;
use syn::ReturnType;
use syn::Signature;
use syn::Token;
use syn::Type;
use syn::UnOp;
use syn::bracketed;
use syn::parse::Parse;
use syn::parse::ParseStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;

use self::catalogue::Hook;
use crate::tool;

/// Spellings that mean a native tool, so that no tool has them as its name.
const ALIASES: [(&str, &str); 2] = [("bash", "exec"), ("apply-patch", "apply_patch")];

struct Options {
    hook: Hook,
    priority: i32,
    timeout_ms: Option<u32>,
    tools: Vec<LitStr>,
}

pub(crate) fn expand(options: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let function: ItemFn = syn::parse2(item)?;
    if options.is_empty() {
        let message = "name the hook that the function handles: `#[hook(before_tool_call)]`";
        return Err(Error::new(function.sig.ident.span(), message));
    }
    let Options { hook, priority, timeout_ms, tools } = syn::parse2(options)?;
    check_signature(&function.sig)?;
    let passed = passed(&hook, &function.sig)?;
    let answer = answer(&hook, &function.sig)?;

    let (ident, visibility) = (&function.sig.ident, &function.vis);
    let name = ident.to_string();
    let kind = Ident::new(hook.kind, Span::call_site());
    let timeout_ms = match timeout_ms {
        Some(timeout_ms) => quote!(::core::option::Option::Some(#timeout_ms)),
        None => quote!(::core::option::Option::None),
    };
    Ok(quote! {
        #function

        // As for a tool: whoever imports the function imports the handler.
        #[doc(hidden)]
        #[allow(non_camel_case_types, missing_debug_implementations, reason = "stands for the function")]
        #visibility enum #ident {}

        impl ::airlock_plugin::Handler for #ident {
            const NAME: &'static str = #name;
            const PRIORITY: i32 = #priority;
            const TIMEOUT_MS: ::core::option::Option<u32> = #timeout_ms;
            const TOOLS: &'static [&'static str] = &[#(#tools),*];
            type Hook = ::airlock_plugin::hooks::#kind;
            type Answer = #answer;

            #[allow(unused_variables, reason = "a handler takes what it needs")]
            #[allow(clippy::unit_arg, reason = "an observer returns nothing")]
            fn run(
                event: &<Self::Hook as ::airlock_plugin::hooks::Hook>::Event,
                run: ::core::option::Option<&::airlock_plugin::RunContext>,
            ) -> ::core::result::Result<Self::Answer, ::std::string::String> {
                ::core::result::Result::Ok(#ident(#(#passed),*))
            }
        }
    })
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let hook = if input.peek(LitStr) {
            let literal: LitStr = input.parse()?;
            let name = syn::parse_str::<Ident>(&literal.value().replace('-', "_")).ok();
            return Err(match name.and_then(|name| catalogue::find(&name).ok()) {
                Some(Hook { name, .. }) => {
                    Error::new(literal.span(), format!("write the hook's name as a word: `#[hook({name})]`"))
                }
                None => catalogue::unknown(&literal.value(), literal.span()),
            });
        } else {
            catalogue::find(&input.parse()?)?
        };
        let mut options = Self { hook, priority: 0, timeout_ms: None, tools: Vec::new() };
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
        options.read(input.parse()?)?;
        Ok(options)
    }
}

impl Options {
    fn read(&mut self, tokens: TokenStream) -> Result<()> {
        let parser = syn::meta::parser(|meta| {
            let hook = self.hook;
            if meta.path.is_ident("priority") {
                self.priority = integer(meta.value()?)?;
                if hook.answer.is_none() {
                    let message = "the handlers of this hook run side by side: remove `priority`";
                    return Err(meta.error(message));
                }
            } else if meta.path.is_ident("timeout_ms") {
                let literal: LitInt = meta.value()?.parse()?;
                self.timeout_ms = Some(timeout(&hook, &literal)?);
            } else if meta.path.is_ident("tools") {
                let value = meta.value()?;
                let list;
                bracketed!(list in value);
                if !hook.is_about_a_tool {
                    return Err(meta.error(format!("`{}` is about no tool: remove `tools`", hook.name)));
                }
                self.tools = Punctuated::<LitStr, Token![,]>::parse_terminated(&list)?.into_iter().collect();
                if self.tools.is_empty() {
                    let message = "an empty list would mean every tool: name some, or remove `tools`";
                    return Err(meta.error(message));
                }
                self.tools.iter().try_for_each(check_tool)?;
            } else {
                return Err(meta.error(
                    "after the hook's name, `#[hook]` knows `priority = …`, `tools = [\"…\"]` and `timeout_ms = …`",
                ));
            }
            Ok(())
        });
        parser.parse2(tokens)
    }
}

/// A number that may have a sign.
fn integer(input: ParseStream<'_>) -> Result<i32> {
    let expression: syn::Expr = input.parse()?;
    let refuse = || Error::new(expression.span(), "a priority is a whole number of 32 bits");
    let (sign, literal) = match &expression {
        syn::Expr::Unary(syn::ExprUnary { op: UnOp::Neg(_), expr, .. }) => ("-", &**expr),
        other => ("", other),
    };
    match literal {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => {
            format!("{sign}{}", number.base10_digits()).parse().map_err(|_| refuse())
        }
        _ => Err(refuse()),
    }
}

fn timeout(hook: &Hook, literal: &LitInt) -> Result<u32> {
    let most = hook.default_timeout_ms;
    let milliseconds: u32 = literal.base10_parse()?;
    if (1..=most).contains(&milliseconds) {
        return Ok(milliseconds);
    }
    let message = format!(
        "`{}` has {most} ms, and a handler may ask for less: from 1 to {most}. Only an operator can give it more",
        hook.name
    );
    Err(Error::new(literal.span(), message))
}

fn check_tool(literal: &LitStr) -> Result<()> {
    let name = literal.value();
    if let Some((_, canonical)) = ALIASES.iter().find(|(alias, _)| *alias == name) {
        return Err(Error::new(literal.span(), format!("`{name}` is another spelling: write `{canonical}`")));
    }
    if tool::is_canonical(&name) {
        return Ok(());
    }
    let message = format!(
        "`{name}` is not a canonical tool name: a lower-case letter, then at most 63 of a-z, 0-9, `_` and `-`"
    );
    Err(Error::new(literal.span(), message))
}

fn check_signature(signature: &Signature) -> Result<()> {
    let refuse = |span: Span, message: &str| Err(Error::new(span, message));
    if let Some(asyncness) = signature.asyncness {
        return refuse(
            asyncness.span(),
            "a handler is an ordinary function: each event has its own instance and may block",
        );
    }
    if let Some(unsafety) = signature.unsafety {
        return refuse(unsafety.span(), "a handler is called for every event, so it cannot be unsafe");
    }
    if !signature.generics.params.is_empty() {
        return refuse(signature.generics.span(), "a handler has no generic parameters");
    }
    Ok(())
}

/// What the function is called with: the event, where there is one, and the run, if it wants it.
fn passed(hook: &Hook, signature: &Signature) -> Result<Vec<TokenStream>> {
    let mut types = Vec::new();
    for input in &signature.inputs {
        match input {
            FnArg::Typed(typed) => types.push(&*typed.ty),
            FnArg::Receiver(receiver) => {
                return Err(Error::new(receiver.span(), "a handler is a free function: it has no `self`"));
            }
        }
    }
    match (hook.event, types.as_slice()) {
        (_, []) => Ok(Vec::new()),
        (Some(_), [event @ Type::Reference(_)]) if !is_run(event) => Ok(vec![event_passed(event)]),
        (Some(_), [event @ Type::Reference(_), run]) if !is_run(event) => {
            Ok(vec![event_passed(event), run_passed(hook, run)?])
        }
        (Some(event), _) => Err(Error::new(
            signature.inputs.span(),
            format!(
                "a handler of `{}` takes at most its event, `&{event}`, and then the run, {}",
                hook.name,
                spelling_of_run(hook)
            ),
        )),
        (None, _) => Err(Error::new(
            signature.inputs.span(),
            format!("`{}` has nothing to tell and belongs to no run: its handler takes nothing", hook.name),
        )),
    }
}

/// An event of the wrong type is refused where the author wrote it.
fn event_passed(written: &Type) -> TokenStream {
    quote_spanned!(written.span()=> event)
}

fn run_passed(hook: &Hook, written: &Type) -> Result<TokenStream> {
    match written {
        Type::Reference(_) if hook.has_run => {
            Ok(quote_spanned!(written.span()=> ::airlock_plugin::hooks::needed(run)?))
        }
        Type::Reference(_) => Err(Error::new(
            written.span(),
            format!("an event of `{}` may belong to no run: take {}", hook.name, spelling_of_run(hook)),
        )),
        _ => Ok(quote_spanned!(written.span()=> run)),
    }
}

fn spelling_of_run(hook: &Hook) -> &'static str {
    if hook.has_run { "`&RunContext`" } else { "`Option<&RunContext>`" }
}

fn is_run(written: &Type) -> bool {
    match written {
        Type::Reference(reference) => is_run(&reference.elem),
        Type::Path(path) => path.path.segments.last().is_some_and(|last| last.ident == "RunContext"),
        _ => false,
    }
}

fn answer(hook: &Hook, signature: &Signature) -> Result<TokenStream> {
    match (&signature.output, hook.answer) {
        (ReturnType::Type(_, answer), _) => Ok(quote!(#answer)),
        (ReturnType::Default, None) => Ok(quote!(())),
        (ReturnType::Default, Some(answer)) => Err(Error::new(
            signature.ident.span(),
            format!(
                "`{}` waits for an answer: return `{answer}`, or an `Option` or a `Result` of it",
                hook.name
            ),
        )),
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn options(tokens: TokenStream) -> std::result::Result<(i32, Option<u32>, usize), String> {
        let options = syn::parse2::<Options>(tokens).map_err(|error| error.to_string())?;
        Ok((options.priority, options.timeout_ms, options.tools.len()))
    }

    #[test]
    fn options_follow_the_name() {
        assert_eq!(options(quote!(before_tool_call)), Ok((0, None, 0)));
        let everything = quote!(before_tool_call, priority = -5, tools = ["a", "b"], timeout_ms = 15_000);
        assert_eq!(options(everything), Ok((-5, Some(15_000), 2)));
        assert_eq!(options(quote!(session_end, timeout_ms = 2_000,)), Ok((0, Some(2_000), 0)));
        for (refused, part) in [
            (quote!(session_end, timeout_ms = 2_001), "from 1 to 2000"),
            (quote!(session_end, priority = 1), "side by side"),
            (quote!(session_end, tools = ["a"]), "about no tool"),
            (quote!(before_tool_call, tools = []), "every tool"),
            (quote!(before_tool_call, tools = ["bash"]), "write `exec`"),
            (quote!(before_tool_call, tools = ["Read"]), "canonical"),
            (quote!(before_tool_call, priority = 2_147_483_648), "32 bits"),
            (quote!("before-tool-call"), "#[hook(before_tool_call)]"),
        ] {
            let problem = options(refused).unwrap_err();
            assert!(problem.contains(part), "{problem}");
        }
    }

    #[test]
    fn parameters_have_an_order() {
        let check = |hook: &str, signature: Signature, expected: Option<usize>| {
            let hook = catalogue::find(&Ident::new(hook, Span::call_site())).unwrap();
            assert_eq!(passed(&hook, &signature).ok().map(|passed| passed.len()), expected);
        };
        check("before_tool_call", parse_quote!(fn f()), Some(0));
        check("before_tool_call", parse_quote!(fn f(a: &ToolAttempt)), Some(1));
        check("before_tool_call", parse_quote!(fn f(a: &ToolAttempt, r: &RunContext)), Some(2));
        check("before_tool_call", parse_quote!(fn f(a: &ToolAttempt, r: Option<&RunContext>)), Some(2));
        check("before_tool_call", parse_quote!(fn f(r: &RunContext, a: &ToolAttempt)), None);
        check("before_tool_call", parse_quote!(fn f(r: &RunContext)), None);
        check("before_tool_call", parse_quote!(fn f(a: ToolAttempt)), None);
        check("session_start", parse_quote!(fn f(e: &SessionEvent, r: &RunContext)), None);
        check("session_start", parse_quote!(fn f(e: &SessionEvent, r: Option<&RunContext>)), Some(2));
        check("host_stop", parse_quote!(fn f(r: Option<&RunContext>)), None);
        check("host_stop", parse_quote!(fn f()), Some(0));
    }
}
