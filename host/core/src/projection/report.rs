//! What a projection did to tools, row by row: nothing is dropped, rewritten or moved into a text without one.

use serde::Serialize;

use crate::id::ToolName;

macro_rules! changes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal;)+) => {
        /// What was done at one place of a schema.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum Change { $($(#[doc = $doc])+ $variant,)+ }

        impl Change {
            /// The word in a report.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)+ }
            }
        }
    };
}

changes! {
    /// A keyword is gone, and the description says what it said.
    Described = "described";
    /// A keyword is gone; it said nothing about which values are valid, or cannot be said in a few words.
    Dropped = "dropped";
    /// `oneOf` became `anyOf`.
    OneOfAsAnyOf = "one-of-as-any-of";
    /// The members of an `allOf` became one schema.
    AllOfMerged = "all-of-merged";
    /// Alternatives at the root became one object with the properties of all of them.
    UnionFlattened = "union-flattened";
    /// `const` became an `enum` with one value.
    ConstAsEnum = "const-as-enum";
    /// A reference was replaced by what it names.
    ReferenceInlined = "reference-inlined";
    /// A reference was given another definition's name.
    ReferenceMoved = "reference-moved";
    /// A reference could not be followed; any value passes there.
    ReferenceUnresolved = "reference-unresolved";
    /// A schema that repeats itself ends here; any value passes there.
    RecursionCut = "recursion-cut";
    /// A schema is deeper than the provider takes; any value passes there.
    DepthCut = "depth-cut";
    /// A property has another name on the wire.
    KeyRenamed = "key-renamed";
    /// A property that is required and was not described is there, for any value.
    PropertyAdded = "property-added";
    /// A property that can never be there is gone.
    PropertyRemoved = "property-removed";
    /// An optional property is required and may be null, which means that it is absent.
    MadeRequired = "made-required";
    /// An object takes no members but those that are described.
    Closed = "closed";
    /// An object says that it takes more members than those that are described.
    Opened = "opened";
    /// `true` or `false` stands for a schema no more.
    BooleanReplaced = "boolean-replaced";
    /// An exclusive bound of integers became the next integer.
    BoundMoved = "bound-moved";
    /// A list says that its items may be anything.
    ItemsAdded = "items-added";
    /// The type of the values of an `enum` or `const` is written.
    TypeAdded = "type-added";
    /// A null among the values of an `enum` became an alternative of its own.
    NullApart = "null-apart";
    /// The tool cannot be strict, and is sent as one that is not.
    NotStrict = "not-strict";
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ReportRow {
    /// Of which tool.
    pub tool: ToolName,
    /// Where in its contract schema; a JSON pointer.
    pub pointer: String,
    /// What.
    pub change: Change,
    /// More about it: the keyword, the new name, the reason.
    pub detail: String,
}
