//! The notes of its configuration enter, a list of them leaves. It never changes them: plugins have no storage yet, so the
//! tool that forgets a note only shows what would remain.
//!
//! A required and an optional tool side by side: `notes_list` is there for every run, `notes_forget` only where an
//! operator's entry names it. The manifest says so, and so does `#[tool(optional)]`.

use airlock_plugin::prelude::*;

#[config]
struct Notebook {
    notes: Vec<String>,
}

#[arguments]
struct Note {
    /// The note's number in the list, from 1.
    #[schemars(range(min = 1))]
    number: usize,
}

/// Lists all notes with their numbers.
#[tool(title = "List notes")]
fn notes_list() -> Result<String, ToolError> {
    let notebook: Notebook = config()?;
    Ok(numbered(&notebook.notes))
}

/// Prepares to forget one note and lists those that would remain. It does not change the notebook.
#[tool(title = "Forget a note", optional)]
fn notes_forget(note: Note) -> Result<String, ToolError> {
    let mut notebook: Notebook = config()?;
    let count = notebook.notes.len();
    let index = note.number.checked_sub(1).filter(|index| *index < count).ok_or_else(|| {
        ToolError::invalid_params(format_args!("there is no note {}: there are {count}", note.number))
    })?;
    let forgotten = notebook.notes.remove(index);
    Ok(format!("Without \"{forgotten}\", these would remain:\n{}", numbered(&notebook.notes)))
}

plugin!(tools: [notes_list, notes_forget]);

fn numbered(notes: &[String]) -> String {
    if notes.is_empty() {
        return "no notes".to_owned();
    }
    let lines: Vec<String> =
        notes.iter().zip(1..).map(|(note, number)| format!("{number}. {note}")).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn notes_are_numbered() {
        testing::set_config(json!({ "notes": ["bread", "salt"] }));
        assert_eq!(testing::call::<notes_list>(json!({})).unwrap().text(), "1. bread\n2. salt");
        testing::set_config(json!({ "notes": [] }));
        assert_eq!(testing::call::<notes_list>(json!({})).unwrap().text(), "no notes");
    }

    #[test]
    fn what_would_remain_is_shown() {
        testing::set_config(json!({ "notes": ["bread", "salt"] }));
        let result = testing::call::<notes_forget>(json!({ "number": 1 })).unwrap();
        assert_eq!(result.text(), "Without \"bread\", these would remain:\n1. salt");
        for number in [0, 3] {
            let error = testing::call::<notes_forget>(json!({ "number": number })).unwrap_err();
            let expected = format!("there is no note {number}: there are 2");
            assert_eq!(error, ToolError::InvalidParams(expected));
        }
    }
}
