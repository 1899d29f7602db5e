//! A struct or enum under `#[arguments]`, `#[details]`, `#[binding]` or `#[config]` enters; the same item with its derives leaves.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Attribute;
use syn::Data;
use syn::DeriveInput;
use syn::Error;
use syn::Fields;
use syn::Result;
use syn::spanned::Spanned;

/// What the item is for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Arguments,
    Details,
    Binding,
    Config,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Details => "details",
            Self::Binding => "binding",
            Self::Config => "config",
        }
    }
}

pub(crate) fn expand(kind: Kind, options: &TokenStream, item: TokenStream) -> Result<TokenStream> {
    let attribute = kind.name();
    if !options.is_empty() {
        return Err(Error::new(options.span(), format!("`#[{attribute}]` has no options; remove them")));
    }
    let item: DeriveInput = syn::parse2(item)?;
    check(kind, &item)?;
    let (derives, closed) = match kind {
        Kind::Arguments => (
            quote!(::airlock_plugin::serde::Deserialize, ::airlock_plugin::schemars::JsonSchema),
            quote!(#[serde(deny_unknown_fields)]),
        ),
        // `Serialize` has no use for the attribute; the schema has.
        Kind::Details => (
            quote!(::airlock_plugin::serde::Serialize, ::airlock_plugin::schemars::JsonSchema),
            quote!(#[schemars(deny_unknown_fields)]),
        ),
        // It travels from the plugin to itself, so nothing but what it wrote can be in it.
        Kind::Binding => (
            quote!(::airlock_plugin::serde::Deserialize, ::airlock_plugin::serde::Serialize),
            quote!(#[serde(deny_unknown_fields)]),
        ),
        Kind::Config => (quote!(::airlock_plugin::serde::Deserialize), quote!()),
    };
    let schema_crate = match kind {
        Kind::Binding | Kind::Config => quote!(),
        Kind::Arguments | Kind::Details => quote!(#[schemars(crate = "::airlock_plugin::schemars")]),
    };
    let marker = match (kind, &item.data) {
        // An enum is a part of arguments, never all of them: their root is an object.
        (Kind::Arguments, Data::Struct(_)) => {
            let name = &item.ident;
            quote!(impl ::airlock_plugin::Arguments for #name {})
        }
        (Kind::Binding, _) => {
            let name = &item.ident;
            quote!(impl ::airlock_plugin::Binding for #name {})
        }
        _ => quote!(),
    };
    Ok(quote! {
        #[derive(#derives)]
        #[serde(crate = "::airlock_plugin::serde")]
        #schema_crate
        #closed
        #item
        #marker
    })
}

fn check(kind: Kind, item: &DeriveInput) -> Result<()> {
    let attribute = kind.name();
    let fields = match &item.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => Some(fields),
            Fields::Unnamed(_) | Fields::Unit => {
                let message =
                    format!("`#[{attribute}]` needs named fields: write `struct {} {{ … }}`", item.ident);
                return Err(Error::new(item.ident.span(), message));
            }
        },
        Data::Enum(_) => None,
        Data::Union(_) => {
            return Err(Error::new(
                item.ident.span(),
                format!("`#[{attribute}]` is for a struct or an enum"),
            ));
        }
    };
    if !item.generics.params.is_empty() {
        let message = format!("a type under `#[{attribute}]` owns its data and has no generic parameters");
        return Err(Error::new(item.generics.span(), message));
    }
    if kind == Kind::Config {
        return Ok(());
    }
    for field in fields.iter().flat_map(|fields| &fields.named) {
        if field.attrs.iter().any(is_flatten) {
            let message = format!(
                "`#[serde(flatten)]` and the closed object that `#[{attribute}]` makes exclude each other: name the field"
            );
            return Err(Error::new(field.span(), message));
        }
    }
    Ok(())
}

fn is_flatten(attribute: &Attribute) -> bool {
    if !attribute.path().is_ident("serde") {
        return false;
    }
    let mut found = false;
    // Whatever else is in the attribute is serde's to judge.
    let _ = attribute.parse_nested_meta(|meta| {
        found |= meta.path.is_ident("flatten");
        if meta.input.peek(syn::Token![=]) {
            meta.value()?.parse::<syn::Expr>()?;
        }
        Ok(())
    });
    found
}
