//! The operator's configuration enters as issues, those that fit a search leave. It never changes one.

use std::fmt;

use airlock_plugin::prelude::*;

/// What the operator configures: the project and, until plugins have a network, its issues.
#[config]
pub(crate) struct Project {
    pub(crate) project: String,
    pub(crate) issues: Vec<Issue>,
}

#[config]
pub(crate) struct Issue {
    pub(crate) number: u64,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) body: String,
    #[serde(default)]
    pub(crate) state: State,
    #[serde(default)]
    pub(crate) labels: Vec<String>,
}

#[arguments]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    #[default]
    Open,
    Closed,
}

impl Project {
    pub(crate) fn issue(&self, number: u64) -> Option<&Issue> {
        self.issues.iter().find(|issue| issue.number == number)
    }

    /// The issues that hold every word of `query`, in the order of the configuration.
    pub(crate) fn search(&self, query: &str, state: Option<State>) -> Vec<&Issue> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let fits = |issue: &&Issue| {
            let text = format!("{}\n{}\n{}", issue.title, issue.body, issue.labels.join("\n")).to_lowercase();
            state.is_none_or(|state| state == issue.state) && words.iter().all(|word| text.contains(word))
        };
        self.issues.iter().filter(fits).collect()
    }
}

impl State {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

/// One line, as in a list.
impl fmt::Display for Issue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "#{} {}: {}", self.number, self.state.name(), self.title)?;
        if !self.labels.is_empty() {
            write!(formatter, " [{}]", self.labels.join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json;
    use airlock_plugin::serde_json::json;

    use super::*;

    fn project() -> Project {
        let configuration = json!({ "project": "boats", "issues": [
            { "number": 1, "title": "Mast leans", "labels": ["rigging"] },
            { "number": 2, "title": "Hull leaks", "body": "Below the mast.", "state": "closed" },
        ] });
        serde_json::from_value(configuration).unwrap()
    }

    #[track_caller]
    fn check(query: &str, state: Option<State>, expected: &[u64]) {
        let project = project();
        let found: Vec<u64> = project.search(query, state).iter().map(|issue| issue.number).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_word_must_be_there() {
        check("mast", None, &[1, 2]);
        check("MAST  leans", None, &[1]);
        check("rigging", None, &[1]);
        check("sail", None, &[]);
        check("", None, &[1, 2]);
    }

    #[test]
    fn a_state_narrows() {
        check("mast", Some(State::Open), &[1]);
        check("mast", Some(State::Closed), &[2]);
    }

    #[test]
    fn a_line_says_what_it_is() {
        let lines: Vec<String> = project().issues.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["#1 open: Mast leans [rigging]", "#2 closed: Hull leaks"]);
    }
}
