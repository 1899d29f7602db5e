//! The inverted index of one surface: tools enter; names with scores leave for a query. It never changes.

use std::collections::{BTreeMap, HashMap};

use super::terms::{related, terms};
use crate::id::ToolName;
use crate::tool::Tool;

/// How fast more of one word stops counting, and how much long texts are held back: the usual values.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// How often a word of a name and of a title counts, against once for the other texts.
const NAME_WEIGHT: u32 = 2;
const TITLE_WEIGHT: u32 = 2;

/// What a word that means nearly the same counts for.
const RELATED_WEIGHT: f64 = 0.35;

/// Most words of a query that are looked up.
const MAX_QUERY_TERMS: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Index {
    /// In order of their names.
    tools: Vec<ToolName>,
    /// Weighted words of each.
    lengths: Vec<f64>,
    mean_length: f64,
    /// By word: the tools that have it, and how often.
    postings: HashMap<String, Vec<(usize, u32)>>,
}

impl Index {
    pub(crate) fn new<'tool>(tools: impl Iterator<Item = &'tool Tool>) -> Self {
        let mut index = Self::default();
        for tool in tools {
            let place = index.tools.len();
            let mut counts: BTreeMap<String, u32> = BTreeMap::new();
            let mut count = |text: &str, weight: u32| {
                for term in terms(text) {
                    *counts.entry(term).or_default() += weight;
                }
            };
            count(tool.name.as_str(), NAME_WEIGHT);
            count(tool.title.as_deref().unwrap_or_default(), TITLE_WEIGHT);
            count(&tool.description, 1);
            let properties = tool.parameters.source().get("properties").and_then(|all| all.as_object());
            properties.into_iter().flat_map(|all| all.keys()).for_each(|name| count(name, 1));
            index.tools.push(tool.name.clone());
            index.lengths.push(counts.values().copied().map(f64::from).sum());
            for (term, times) in counts {
                index.postings.entry(term).or_default().push((place, times));
            }
        }
        index.mean_length = index.lengths.iter().sum::<f64>() / as_number(index.tools.len().max(1));
        index
    }

    /// The best tools that `may_be_found`, with their scores, best first; of equal ones in order of their names.
    pub(crate) fn search(
        &self,
        query: &str,
        limit: usize,
        may_be_found: impl Fn(&ToolName) -> bool,
    ) -> Vec<(ToolName, f64)> {
        let mut scores = vec![0.0; self.tools.len()];
        let mut asked = terms(query);
        asked.truncate(MAX_QUERY_TERMS);
        for term in &asked {
            self.add(term, 1.0, &mut scores);
            for other in related(term).filter(|other| !asked.contains(other)) {
                self.add(&other, RELATED_WEIGHT, &mut scores);
            }
        }
        let exact = ToolName::canonicalise(query).ok();
        let is_exact = |name: &ToolName| exact.as_ref() == Some(name);
        let scored = self.tools.iter().zip(scores);
        let mut found: Vec<(&ToolName, f64)> =
            scored.filter(|(name, score)| *score > 0.0 || is_exact(name)).collect();
        found.sort_by(|(one, score), (other, other_score)| {
            is_exact(other).cmp(&is_exact(one)).then(other_score.total_cmp(score)).then(one.cmp(other))
        });
        let found = found.into_iter().filter(|(name, _)| may_be_found(name));
        found.take(limit).map(|(name, score)| (name.clone(), score)).collect()
    }

    fn add(&self, term: &str, weight: f64, scores: &mut [f64]) {
        let Some(postings) = self.postings.get(term) else { return };
        let (having, all) = (as_number(postings.len()), as_number(self.tools.len()));
        let rarity = (1.0 + (all - having + 0.5) / (having + 0.5)).ln();
        for (place, times) in postings {
            let (Some(score), Some(length)) = (scores.get_mut(*place), self.lengths.get(*place)) else {
                continue;
            };
            let times = f64::from(*times);
            let held_back = K1 * (1.0 - B + B * length / self.mean_length);
            *score += weight * rarity * times * (K1 + 1.0) / (times + held_back);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of tools")]
fn as_number(count: usize) -> f64 {
    count as f64
}
