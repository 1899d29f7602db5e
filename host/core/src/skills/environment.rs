//! Variables of skills: what an agent's skills have in the configuration enters; what a program that the host starts is given
//! leaves. It reaches no guest, and no run that is sandboxed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::Arc;

use super::root::SkillSource;
use super::skill::Skill;
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic};

/// Variables by name. Shown without their values, which may be nobody else's business.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct SkillEnvironment(BTreeMap<String, String>);

impl SkillEnvironment {
    /// What `[skills.entries.NAME] env` has for these skills, which are sorted by name. Of two that want different values the
    /// first has it, and the finding says so.
    pub(super) fn new<'a>(
        skills: impl Iterator<Item = &'a Arc<Skill>>,
        config: &Config,
        findings: &mut Vec<Diagnostic>,
    ) -> Self {
        let (mut variables, mut owners) = (BTreeMap::new(), BTreeMap::new());
        for name in
            skills.filter(|skill| !matches!(skill.source(), SkillSource::Node(_))).map(|skill| skill.name())
        {
            let written = config.file().skills.entries.get(name).map(|entry| &entry.env);
            for (variable, value) in written.into_iter().flatten() {
                match variables.entry(variable.clone()) {
                    Entry::Vacant(free) => {
                        free.insert(value.clone());
                        owners.insert(variable, name);
                    }
                    Entry::Occupied(taken) if taken.get() != value => {
                        let other = owners.get(variable).copied().unwrap_or(name);
                        let message = format!(
                            "`{variable}` has another value for the skill `{other}`, and that one is in force"
                        );
                        let hint = "give both skills one value, or an agent only one of them: `[agents.NAME] skills`";
                        let place = config.location(&["skills", "entries", name.as_str(), "env", variable]);
                        findings.push(Diagnostic::new(Code::SkillEnvDiffers, name, message, hint).at(place));
                    }
                    Entry::Occupied(_) => {}
                }
            }
        }
        Self(variables)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl fmt::Debug for SkillEnvironment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}
