//! One entry of the audit log, as core makes it: the kind, the moment and a JSON body. Its place in the log is the store's.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::CallId;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal;)+) => {
        /// What a row is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        #[non_exhaustive]
        pub enum AuditKind { $($(#[doc = $doc])+ $variant,)+ }

        impl AuditKind {
            /// Every kind.
            pub const ALL: &'static [AuditKind] = &[$(AuditKind::$variant,)+];

            /// The word in the log.
            pub fn as_str(self) -> &'static str {
                match self { $(AuditKind::$variant => $text,)+ }
            }
        }
    };
}

kinds! {
    /// A call that may have effects is about to run.
    Started = "started";
    /// A call ended, whichever way; the body has its whole trail.
    Finished = "finished";
    /// A package was installed.
    Install = "install";
    /// A standing approval was given or taken back.
    Grant = "grant";
    /// The configuration was read again.
    Reload = "reload";
    /// Somebody, or silence, answered the question whether a call may run.
    Approval = "approval";
    /// A call had started, and its process was gone before it said how the call ended. Written by stores only.
    Interrupted = "interrupted";
}

impl fmt::Display for AuditKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One row before it is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// What it is about.
    pub kind: AuditKind,
    /// When, in milliseconds since 1970.
    pub unix_ms: u64,
    /// The call, by the id that it has within its host; the same id may come again in another process.
    pub call_id: Option<CallId>,
    /// The tool, so that a reader need not open every body to find it.
    pub tool: Option<String>,
    /// Everything else: one JSON document, which a store neither reads nor changes.
    pub body: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_word_in_the_log_and_in_json() {
        for kind in AuditKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }
}
