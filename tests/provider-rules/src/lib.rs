//! What providers take as tools: a provider's word and a list of tools in its own wire shape enter, every violation of its
//! rules leaves, each with the tool, the place, the rule and where the rule is written.
//!
//! It is made from what providers publish and from the texts of errors that their services gave, and knows nothing of how
//! Airlock lowers a schema: its worth is that the two can disagree. What a provider leaves open, or says for some of its
//! models only, is no rule here.

mod budgets;
mod keywords;
mod objects;
mod references;
mod roots;
mod rule;
mod values;
mod walk;
mod wire;

#[cfg(test)]
mod examples;

use serde_json::Value;

pub use rule::{PROVIDERS, Violation};

use rule::{RULES, Subject};

/// Every violation in `tools`, a list as the API of `provider` takes it.
///
/// A provider is one of [`PROVIDERS`]; another word is a violation itself.
pub fn check(provider: &str, tools: &Value) -> Vec<Violation> {
    let mut violations = Vec::new();
    let Some(provider) = PROVIDERS.iter().copied().find(|known| *known == provider) else {
        let pointer = String::new();
        let (rule, source) = ("provider", "the list of providers");
        let detail = format!("`{provider}` is not known");
        violations.push(Violation { tool: String::new(), pointer, rule, source, detail });
        return violations;
    };
    let subjects = wire::read(provider, tools, &mut violations);
    for subject in &subjects {
        check_one(subject, &mut violations);
    }
    violations
}

/// Every keyword of a schema with the pointer of the schema that it stands in; names and data are no keywords.
pub fn keywords(schema: &Value) -> Vec<(String, &str)> {
    let nodes = walk::nodes(schema);
    let each = nodes.iter().flat_map(|node| {
        let members = node.members().into_iter().flatten();
        members.map(|(keyword, _)| (node.pointer.clone(), keyword.as_str()))
    });
    each.collect()
}

fn check_one(subject: &Subject<'_>, violations: &mut Vec<Violation>) {
    for rule in RULES.iter().filter(|rule| rule.providers.contains(&subject.rules)) {
        (rule.check)(subject, &mut |pointer: &str, detail: String| {
            violations.push(Violation {
                tool: subject.name.to_owned(),
                pointer: pointer.to_owned(),
                rule: rule.word,
                source: rule.source,
                detail,
            });
        });
    }
}
