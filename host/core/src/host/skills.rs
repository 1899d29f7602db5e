//! The skills of a host: a run enters; what its agent has of them leaves. Nodes bring theirs while they are connected.

use std::sync::Arc;

use super::{Host, Shared, Snapshot};
use crate::error::Error;
use crate::run::{Pinned, RunContext};
use crate::skills::{Node, NodeConnection, Now, SkillSnapshot};

impl Shared {
    /// The run with the skills of its turn, where the host has skills.
    pub(crate) fn with_skills(&self, mut run: RunContext, snapshot: &Snapshot) -> RunContext {
        run.skills = Pinned(self.skills_of(&run, snapshot));
        run
    }

    fn skills_of(&self, run: &RunContext, snapshot: &Snapshot) -> Option<Arc<SkillSnapshot>> {
        let library = self.skills.as_ref()?;
        let carried = snapshot.catalogue.carried_skills();
        let now = Now { monotonic: self.clock().monotonic(), wall: self.clock().wall() };
        Some(library.snapshot(run, (snapshot.generation, &snapshot.config), carried, now))
    }
}

impl Host {
    /// The skills that a turn of this run would have if it began now, for whoever lists commands between turns. `None` in a
    /// host that was built without skills.
    pub fn skills(&self, run: &RunContext) -> Option<Arc<SkillSnapshot>> {
        self.0.skills_of(run, &self.0.current())
    }

    /// Has a node's skills be there, from the next turn on, until what is returned is dropped. On a clash the node's have its
    /// name in front. Files that cannot be used are diagnostics and not errors.
    ///
    /// # Errors
    /// If the host was built without skills, or a node of that name is connected.
    pub fn connect(&self, node: &Node) -> Result<NodeConnection, Error> {
        let message = "this host was built without skills, so no node can bring any: `HostBuilder::skills`";
        let library = self.0.skills.as_ref().ok_or_else(|| Error::configuration(message))?;
        library.connect(node)
    }
}
