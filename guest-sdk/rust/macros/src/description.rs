//! An item's attributes enter, the text of its doc comment leaves.

use syn::Attribute;
use syn::Expr;
use syn::Lit;
use syn::Meta;

/// The doc comment without the space that follows `///`, or `None` if there is no text.
pub(crate) fn of(attributes: &[Attribute]) -> Option<String> {
    let lines: Vec<String> = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })
        .collect();
    let text = lines
        .iter()
        .flat_map(|block| block.split('\n'))
        .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
        .collect::<Vec<_>>()
        .join("\n");
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use syn::parse_quote;

    #[test]
    fn lines_are_joined_and_unindented() {
        let item: syn::ItemFn = parse_quote! {
            /// First line.
            ///
            ///  - indented
            #[inline]
            /// Last line.
            fn item() {}
        };
        assert_eq!(of(&item.attrs).as_deref(), Some("First line.\n\n - indented\nLast line."));
    }

    #[test]
    fn blank_comments_are_none() {
        let item: syn::ItemFn = parse_quote! {
            ///
            fn item() {}
        };
        assert_eq!(of(&item.attrs), None);
    }
}
