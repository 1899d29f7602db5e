//! Skills: folders with instructions enter; for each turn, what an agent has of them leaves. A skill never changes what exists,
//! only what is explained: it adds no tool, and what it allows is a ceiling under the run's own.
//!
//! Rules: ARCHITECTURE.md, "Skills".

mod allowed_tools;
mod asks;
mod catalogue;
mod command;
mod content;
mod copy;
mod eligibility;
mod environment;
mod folder;
mod front_matter;
mod library;
mod mention;
mod name;
mod node;
mod read;
mod requirements;
mod root;
mod seen;
mod skill;
mod snapshot;
mod walk;
mod yaml;

pub use allowed_tools::AllowedTools;
pub(crate) use asks::tools_named;
pub use command::{Beginning, SkillCommand, SkillTurn};
pub use content::Shadowed;
pub use eligibility::{Surroundings, UnknownSurroundings};
pub(crate) use folder::Now;
pub(crate) use library::SkillLibrary;
pub use name::SkillName;
pub use node::{Node, NodeConnection, NodeName};
pub(crate) use read::SkillRead;
pub use requirements::Requirements;
pub(crate) use root::Place;
pub use root::{SkillRoot, SkillSource};
pub use skill::Skill;
pub use snapshot::{ListedSkill, Mentions, SkillSnapshot};
