//! Whether a report says everything: the keywords of a contract and of its wire schema are counted, and for each that is
//! gone there must be a row.

use std::collections::BTreeMap;

use airlock_core::{Change, Projection, ReportRow};
use airlock_provider_rules::keywords;
use serde_json::Value;

/// Keywords of the contract that are not on the wire as often as there, without as many places whose rows say why.
pub(crate) fn unreported(contract: &Value, projection: &Projection) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (pointer, keyword) in keywords(contract) {
        places.entry(keyword).or_default().push(pointer);
    }
    let mut kept: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, keyword) in keywords(&projection.tools()[0].parameters) {
        *kept.entry(keyword).or_default() += 1;
    }
    let mut unreported = Vec::new();
    for (keyword, pointers) in places {
        // A definition says nothing until it is referred to, and an empty list requires nothing.
        if matches!(keyword, "$defs" | "definitions" | "required") {
            continue;
        }
        let gone = pointers.len().saturating_sub(kept.get(keyword).copied().unwrap_or_default());
        let said = |pointer: &&String| projection.report().iter().any(|row| says(row, pointer, keyword));
        // What only an unused definition says is not missed.
        let is_unused = |pointer: &&String| {
            pointer.contains("/$defs/") || pointer.starts_with("/$defs/") || pointer.contains("/definitions/")
        };
        if pointers.iter().filter(|pointer| said(pointer) || is_unused(pointer)).count() < gone {
            unreported.push(format!("`{keyword}` at {pointers:?}"));
        }
    }
    unreported
}

/// Whether a row is about a keyword at a place, or about something above that is gone with all that is in it.
fn says(row: &ReportRow, pointer: &str, keyword: &str) -> bool {
    let Some(below) = pointer.strip_prefix(row.pointer.as_str()) else { return false };
    let named = |word: &str| row.detail.split([' ', ':']).next() == Some(word);
    match row.change {
        Change::Described | Change::Dropped | Change::BoundMoved => {
            // The keyword itself, or the one under which it stands.
            let above = below.split('/').nth(1);
            below.is_empty() && named(keyword) || above.is_some_and(named) || named(keyword)
        }
        Change::ReferenceInlined | Change::ReferenceUnresolved => keyword == "$ref",
        Change::AllOfMerged | Change::UnionFlattened | Change::RecursionCut | Change::DepthCut => true,
        Change::OneOfAsAnyOf => keyword == "oneOf",
        Change::ConstAsEnum => keyword == "const",
        Change::NullApart => keyword == "type",
        Change::PropertyRemoved => keyword == "properties",
        _ => false,
    }
}
