//! Finding a tool by what it does: a surface and a query enter; its best tools leave, each with what a call of it looks like.
//! Only what is on the surface can be found, so that a removed tool has no hit.
//!
//! Ranking is BM25 (k1 1.2, b 0.75) over name, title, description and parameter names; a tool that is called exactly as the
//! query is first. Equal queries on equal surfaces give equal hits.
//!
//! Where a surface withholds tools, a model finds them with the host's own three: `control.rs` makes them, `answer.rs` is what
//! they say, and `directory.rs` a list of what is withheld.

mod answer;
mod control;
mod directory;
mod index;
mod signature;
mod terms;

use serde::Serialize;

use crate::id::ToolName;
use crate::surface::{ExposedTool, Surface};
use crate::text;

pub(crate) use answer::answer;
pub(crate) use control::{Control, controls};
pub(crate) use index::Index;
pub use signature::signature;

/// Hits where nobody says how many: what a model reads at a glance.
pub const DEFAULT_HITS: usize = 8;

/// Most hits of one query.
pub const MAX_HITS: usize = 20;

/// Longest query, in characters; what comes after is not looked at.
const MAX_QUERY_CHARS: usize = 512;

/// Longest description in a hit, in characters: one line.
const MAX_DESCRIPTION_CHARS: usize = 180;

/// One tool that fits a query.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hit {
    /// The tool.
    pub name: ToolName,
    /// Who has it.
    pub owner: String,
    /// The beginning of its description.
    pub description: String,
    /// What a call looks like, such as `notes_list(folder: string, limit?: integer)`.
    pub signature: String,
    /// How well it fits; means something beside the other hits only.
    pub score: f64,
}

impl Surface {
    /// The tools that fit a query best, best first; at most `limit`, and never more than [`MAX_HITS`]. What the
    /// configuration in force no longer allows is not found.
    pub fn search(&self, query: &str, limit: usize) -> Vec<Hit> {
        let query = text::shorten(query, MAX_QUERY_CHARS);
        let found = self.with_current(|is_current| {
            let is_current = |name: &ToolName| self.tool(name).is_some_and(is_current);
            self.index().search(&query, limit.min(MAX_HITS), is_current)
        });
        found.into_iter().filter_map(|(name, score)| Some(hit(self.tool(&name)?, score))).collect()
    }
}

impl Surface {
    /// The tool that was probably meant by a name that no tool here has, among those that the configuration in force still
    /// allows.
    pub(crate) fn meant(&self, written: &str) -> Option<&ExposedTool> {
        let here = self.tools().chain(self.controls());
        let name = text::suggest(written, here.map(|exposed| exposed.tool.name.as_str()))?;
        self.tool(&ToolName::parse(name).ok()?).filter(|exposed| self.still_has(exposed))
    }
}

/// The beginning of a description on one line.
fn one_line(description: &str, max_chars: usize) -> String {
    text::single_line(&text::shorten(description, max_chars)).into_owned()
}

fn hit(exposed: &ExposedTool, score: f64) -> Hit {
    let tool = &exposed.tool;
    let description = one_line(&tool.description, MAX_DESCRIPTION_CHARS);
    Hit {
        name: tool.name.clone(),
        owner: exposed.owner.to_string(),
        description,
        signature: signature(tool),
        score,
    }
}
