//! What skills cost a turn: a root with as many as a prompt lists, and a clock that says whether it is time to look again.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use airlock_core::{Clock, Host, RunContext, SkillRoot, SkillSource};
use tokio::runtime::Runtime;

use crate::scripted::Scripted;

/// As many as a prompt lists.
const SKILLS: usize = 150;
const ROUNDS: usize = 101;

pub(crate) struct Skills {
    /// Nobody looks again.
    pub(crate) known: Duration,
    /// The folders are looked at again, and nothing changed.
    pub(crate) looked: Duration,
    /// One file changed.
    pub(crate) changed: Duration,
}

/// A clock that stands still until it is set.
#[derive(Debug, Clone, Default)]
struct Set(Arc<AtomicU64>);

impl Clock for Set {
    fn monotonic(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }

    fn wall(&self) -> SystemTime {
        SystemTime::now() + Duration::from_secs(10)
    }
}

impl Skills {
    pub(crate) fn measure(runtime: &Runtime) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let write = |number: usize, text: &str| {
            let path = folder.path().join(format!("skill-{number}"));
            fs::create_dir_all(&path).unwrap();
            let description = "What it is for and when it is to be used, in a sentence or two. ".repeat(2);
            let head = format!("---\nname: skill-{number}\ndescription: {description}\n---\n");
            fs::write(path.join("SKILL.md"), format!("{head}{text}\n{}", "A line of it.\n".repeat(200)))
                .unwrap();
            fs::write(path.join("more.md"), "More.\n").unwrap();
        };
        (0..SKILLS).for_each(|number| write(number, "first"));
        let (clock, root) = (Set::default(), folder.path().to_owned());
        let roots = [SkillRoot { source: SkillSource::Managed, path: root }];
        let builder = Host::builder().sandbox(Scripted).skills(roots).clock(clock.clone());
        let host = runtime.block_on(builder.build()).unwrap();
        let run = RunContext::new("writer");
        let take = || {
            let start = Instant::now();
            let skills = host.skills(&run).unwrap();
            let took = start.elapsed();
            assert_eq!(skills.listed().len(), SKILLS);
            took
        };
        take();
        let rounds = |before: &dyn Fn(usize)| {
            let mut times: Vec<Duration> = (0..ROUNDS)
                .map(|round| {
                    before(round);
                    take()
                })
                .collect();
            times.sort();
            times[times.len() / 2]
        };
        let look = || clock.0.fetch_add(1, Ordering::Relaxed);
        let known = rounds(&|_| {});
        let looked = rounds(&|_| {
            look();
        });
        let changed = rounds(&|round| {
            write(round % SKILLS, &format!("edit {round}"));
            look();
        });
        Self { known, looked, changed }
    }
}
