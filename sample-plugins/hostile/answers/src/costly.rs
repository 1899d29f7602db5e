//! An output schema of a few lines and details that fit it, which take very many evaluations to check: each level of
//! the schema asks the one below it twice, about every item of a list.

/// Levels that double.
const LEVELS: usize = 8;

/// Items of the list: with `LEVELS` a little below the million evaluations that a host allows.
const ITEMS: usize = 900;

pub(crate) fn schema() -> String {
    let levels: Vec<String> = (1..=LEVELS)
        .map(|level| {
            let below = level - 1;
            format!(r##""l{level}": {{ "allOf": [{{ "$ref": "#/$defs/l{below}" }}, {{ "$ref": "#/$defs/l{below}" }}] }}"##)
        })
        .collect();
    format!(
        r##"{{
            "type": "object",
            "properties": {{ "list": {{ "type": "array", "items": {{ "$ref": "#/$defs/l{LEVELS}" }} }} }},
            "$defs": {{ "l0": {{ "type": "integer", "minimum": 0 }}, {} }}
        }}"##,
        levels.join(", ")
    )
}

pub(crate) fn details() -> String {
    format!(r#"{{"list": [{}]}}"#, vec!["7"; ITEMS].join(","))
}
