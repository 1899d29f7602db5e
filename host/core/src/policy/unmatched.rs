//! What is to be said about entries: one that can match nothing, one that could mean two things. Neither changes a
//! result.

use super::vocabulary::{Form, Vocabulary};
use crate::config::{Config, PolicyEntry};
use crate::diagnostic::{Code, Diagnostic, Location};

/// How many findings about entries a snapshot keeps: a person mends the first ones first, and looking for what was meant
/// costs a comparison with every name.
const MAX_FINDINGS: usize = 64;

/// Findings about the entries of a configuration, the first ones.
#[derive(Debug, Default)]
pub(super) struct Findings {
    kept: Vec<Diagnostic>,
    more: usize,
}

impl Findings {
    /// Looks at an entry that stands at `path`.
    pub(super) fn look_at(
        &mut self,
        config: &Config,
        vocabulary: &Vocabulary,
        path: &[&str],
        entry: &PolicyEntry,
        form: Form,
    ) {
        if matches!(form, Form::Explicit | Form::Group) {
            return;
        }
        if self.kept.len() >= MAX_FINDINGS {
            self.more = self.more.saturating_add(1);
            return;
        }
        self.kept.extend(finding(vocabulary, entry, form, config.location(path)));
    }

    /// All that was kept, and how many more there are.
    pub(super) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        if self.more > 0 {
            let message = format!("{} more policy entries mean nothing, or two things", self.more);
            let hint = "mend the first ones and look again";
            self.kept.push(Diagnostic::new(Code::PolicyUnmatched, "tools", message, hint));
        }
        self.kept
    }
}

/// What is to be said about one entry, if anything.
pub(super) fn finding(
    vocabulary: &Vocabulary,
    entry: &PolicyEntry,
    form: Form,
    location: Option<Location>,
) -> Option<Diagnostic> {
    let (code, message, hint) = match form {
        Form::Explicit | Form::Group => return None,
        Form::Ambiguous => (
            Code::PolicyAmbiguous,
            format!("`{entry}` is a tool's name and a plugin's id; it permits the tool, and denies both"),
            format!("write `plugin:{entry}` for the plugin's tools"),
        ),
        Form::Unmatched => (
            Code::PolicyUnmatched,
            format!("no tool and no plugin is meant by `{entry}`, so the entry does nothing"),
            vocabulary.suggestion(entry).map_or_else(
                || "remove it, or install the plugin that it is about".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            ),
        ),
    };
    Some(Diagnostic::new(code, entry, message, hint).at(location))
}
