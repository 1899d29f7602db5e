//! The pipelines: which steps each name stands for, in order. Nothing here runs.

use crate::step;
use crate::step::Step;

/// A named sequence of steps.
pub(crate) struct Pipeline {
    pub(crate) name: &'static str,
    pub(crate) steps: &'static [Step],
}

pub(crate) const PIPELINES: &[Pipeline] = &[
    Pipeline { name: "tidy", steps: &[step::UNIX_LINES, step::TRIM_LINES, step::SINGLE_BLANK_LINES] },
    Pipeline { name: "slug", steps: &[step::FOLD_ACCENTS, step::LOWER_CASE, step::HYPHENATE] },
    Pipeline { name: "title-case", steps: &[step::SINGLE_SPACES, step::CAPITALISE] },
    Pipeline { name: "statistics", steps: &[step::UNIX_LINES, step::COUNT] },
    Pipeline {
        name: "unique-lines",
        steps: &[step::UNIX_LINES, step::TRIM_LINES, step::DROP_REPEATED_LINES],
    },
    Pipeline { name: "numbered", steps: &[step::UNIX_LINES, step::NUMBER_LINES] },
];
