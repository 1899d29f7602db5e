//! Questions about the issues of one project enter, answers leave; a new issue enters, the record that a tracker would be
//! handed leaves. It never creates anything: plugins reach no network yet, and the issues are in its configuration.
//!
//! Two tools read and one writes. The writing one, `tracker_create`, is side-effecting in the manifest and not optional:
//! what stands between a model and it is policy and approval. Two hook handlers watch the plugin's own tools.

use airlock_plugin::prelude::*;

mod handlers;
mod issue;

use crate::handlers::after;
use crate::handlers::before;
use crate::issue::Project;
use crate::issue::State;

/// How many issues a search returns: what fits a screen.
const MAX_HITS: usize = 20;

#[arguments]
struct Search {
    /// Words that must all occur in title, body or labels; empty for every issue.
    query: String,
    /// Only issues in this state.
    state: Option<State>,
}

#[details]
struct Hits {
    /// The project that was searched.
    project: String,
    /// Numbers of the issues that are listed, in the project's order.
    numbers: Vec<u64>,
    /// How many fit, listed or not.
    total: usize,
}

#[arguments]
struct Number {
    /// The issue's number.
    number: u64,
}

#[arguments]
struct NewIssue {
    /// What is wrong or wanted, in one line.
    title: String,
    /// Everything else.
    #[serde(default)]
    body: String,
    /// Labels to sort it by.
    #[serde(default)]
    labels: Vec<String>,
}

#[details]
struct Draft {
    /// The project that the issue is for.
    project: String,
    /// Its title.
    title: String,
    /// Its text.
    body: String,
    /// Its labels.
    labels: Vec<String>,
    /// The state that it would have.
    state: String,
    /// Always false: nothing was created.
    created: bool,
}

/// Searches the project's issues and lists those that fit, one a line.
#[tool(title = "Search issues")]
fn tracker_search(search: Search) -> Result<Output<Hits>, ToolError> {
    let project: Project = config()?;
    let found = project.search(&search.query, search.state);
    let listed: Vec<_> = found.iter().take(MAX_HITS).collect();
    let mut lines: Vec<String> = listed.iter().map(ToString::to_string).collect();
    if found.is_empty() {
        lines.push(format!("no issue of {} fits", project.project));
    } else if found.len() > listed.len() {
        lines.push(format!("… and {} more; use more words", found.len() - listed.len()));
    }
    let numbers = listed.iter().map(|issue| issue.number).collect();
    let total = found.len();
    Ok(Output::new(lines.join("\n"), Hits { project: project.project, numbers, total }))
}

/// Reads one issue of the project.
#[tool(title = "Read an issue")]
fn tracker_read(arguments: Number) -> Result<String, ToolError> {
    let project: Project = config()?;
    let number = arguments.number;
    let issue = project.issue(number).ok_or_else(|| {
        ToolError::invalid_params(format_args!("{} has no issue #{number}; search first", project.project))
    })?;
    Ok(format!("{issue}\n\n{}", issue.body).trim_end().to_owned())
}

/// Prepares a new issue for the project and returns its record. It does not file it.
#[tool(title = "Prepare an issue")]
fn tracker_create(issue: NewIssue) -> Result<Output<Draft>, ToolError> {
    let project: Project = config()?;
    if issue.title.trim().is_empty() {
        return Err(ToolError::invalid_params("`title` is empty; say what is wrong or wanted"));
    }
    let draft = Draft {
        project: project.project,
        title: issue.title.trim().to_owned(),
        body: issue.body,
        labels: issue.labels,
        state: State::Open.name().to_owned(),
        created: false,
    };
    let mut text = format!("Prepared for {}, not filed.\nTitle: {}", draft.project, draft.title);
    if !draft.labels.is_empty() {
        text += &format!("\nLabels: {}", draft.labels.join(", "));
    }
    if !draft.body.is_empty() {
        text += &format!("\n\n{}", draft.body);
    }
    Ok(Output::new(text, draft))
}

plugin!(tools: [tracker_search, tracker_read, tracker_create], hooks: [before, after]);

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json::Value;
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    fn configure() {
        testing::set_config(json!({ "project": "boats", "issues": [
            { "number": 1, "title": "Mast leans", "body": "To port.", "labels": ["rigging"] },
            { "number": 2, "title": "Hull leaks", "state": "closed" },
        ] }));
    }

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn the_schemas_defaults_are_a_configuration() {
        let manifest: Value =
            airlock_plugin::serde_json::from_str(include_str!("../airlock.plugin.json")).unwrap();
        let properties = &manifest["configSchema"]["properties"];
        testing::set_config(
            json!({ "project": properties["project"]["default"], "issues": properties["issues"]["default"] }),
        );
        let result = testing::call::<tracker_search>(json!({ "query": "" })).unwrap();
        assert_eq!(result.text(), "no issue of demo fits");
    }

    #[test]
    fn searching_and_reading() {
        configure();
        let result = testing::call::<tracker_search>(json!({ "query": "mast", "state": "open" })).unwrap();
        assert_eq!(result.text(), "#1 open: Mast leans [rigging]");
        assert_eq!(result.json_details().unwrap(), json!({ "project": "boats", "numbers": [1], "total": 1 }));

        let result = testing::call::<tracker_read>(json!({ "number": 1 })).unwrap();
        assert_eq!(result.text(), "#1 open: Mast leans [rigging]\n\nTo port.");
        let error = testing::call::<tracker_read>(json!({ "number": 3 })).unwrap_err();
        assert_eq!(error, ToolError::invalid_params("boats has no issue #3; search first"));
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        let issues: Vec<Value> =
            (1..=25).map(|number| json!({ "number": number, "title": "Again" })).collect();
        testing::set_config(json!({ "project": "boats", "issues": issues }));
        let result = testing::call::<tracker_search>(json!({ "query": "again" })).unwrap();
        assert!(result.text().ends_with("\n… and 5 more; use more words"), "{}", result.text());
        assert_eq!(result.json_details().unwrap()["total"], json!(25));
    }

    #[test]
    fn a_new_issue_is_prepared_and_not_filed() {
        configure();
        let arguments = json!({ "title": " Sail torn ", "body": "Since Tuesday.", "labels": ["rigging"] });
        let result = testing::call::<tracker_create>(arguments).unwrap();
        let expected = "Prepared for boats, not filed.\nTitle: Sail torn\nLabels: rigging\n\nSince Tuesday.";
        assert_eq!(result.text(), expected);
        assert_eq!(
            result.json_details().unwrap(),
            json!({
                "project": "boats", "title": "Sail torn", "body": "Since Tuesday.", "labels": ["rigging"],
                "state": "open", "created": false,
            })
        );
        assert!(testing::call::<tracker_create>(json!({ "title": " " })).is_err());
    }
}
