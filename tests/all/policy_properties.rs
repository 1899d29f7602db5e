//! What no policy, run, factory, child or narrowing can ever do, over thousands of them at random: add a tool.

mod written;

use std::collections::BTreeSet;

use airlock_core::{Config, Host, PolicyEntry, Surface, ToolMetadata};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::scripted::{Native, Scripted, install};
use crate::support::root;

use written::{NO_SUBAGENTS, OWNER_ONLY, PLACES, Run, TOOLS, Written, entries, means, parsed, run, written};

/// How many cases each property has.
const CASES: u32 = 3_000;

/// A fixed pool under a policy that changes by reloading.
struct Pool {
    runtime: tokio::runtime::Runtime,
    host: Host,
    _folder: tempfile::TempDir,
}

impl Pool {
    /// The pool; the plugin `maker` has a factory that makes whatever `makes` says, whatever it claimed.
    fn new(makes: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let of = |owner: &str| {
            let own = TOOLS.iter().filter(|tool| tool.1 == owner);
            let metadata = own.map(|tool| {
                let metadata = match tool.0 {
                    OWNER_ONLY => json!({ "ownerOnly": true }),
                    NO_SUBAGENTS => json!({ "noSubagents": true }),
                    _ => json!({}),
                };
                (tool.0.to_owned(), metadata)
            });
            serde_json::Value::Object(metadata.collect())
        };
        for id in ["github", "notes", "lone"] {
            install(folder.path(), id, &of(id), None);
        }
        let made: Vec<_> = TOOLS.iter().filter(|tool| tool.1 == "maker").map(|tool| tool.0).collect();
        install(folder.path(), "maker", &of("maker"), Some(json!({ "factory": made, "makes": makes })));
        let mut builder = Host::builder().sandbox(Scripted).plugin_root(root(folder.path()));
        for (name, _, group) in TOOLS.iter().filter(|tool| tool.1 == "core") {
            builder =
                builder.native_tool(Native { name, groups: vec![group], metadata: ToolMetadata::default() });
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let host = runtime.block_on(builder.build()).unwrap();
        Self { runtime, host, _folder: folder }
    }

    fn surface(&self, written: &Written, run: &Run) -> Surface {
        let toml = written.toml();
        let config = Config::from_toml(toml.as_bytes(), "airlock.toml".as_ref()).unwrap();
        self.host.reload(config).unwrap();
        self.runtime.block_on(self.host.assemble(run.context()))
    }
}

const MADE: [&str; 3] = ["made_one", "made_two", "made_three"];

fn names(surface: &Surface) -> BTreeSet<&str> {
    surface.tools().map(|exposed| exposed.tool.name.as_str()).collect()
}

/// Runs a property over cases at random, on one pool.
#[track_caller]
fn check<S: Strategy>(cases: u32, strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config).run(strategy, property).unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn a_second_reading_of_the_rules_agrees_in_any_order() {
    let pool = Pool::new(&MADE);
    let order = Just((0..PLACES.len()).collect::<Vec<_>>()).prop_shuffle();
    check(CASES, &(written(), run(), order), |(written, run, order)| {
        let surface = pool.surface(&written, &run);
        prop_assert_eq!(names(&surface), written.expected(&run, &order));
        // Whatever is not there is accounted for.
        let removed: BTreeSet<&str> = surface.removed().iter().map(|removal| removal.name.as_str()).collect();
        let all: BTreeSet<&str> = TOOLS.iter().map(|tool| tool.0).collect();
        prop_assert_eq!(&all - &names(&surface), removed);
        prop_assert!(surface.removed().iter().all(|removal| !removal.rules.is_empty()));
        Ok(())
    });
}

#[test]
fn a_deny_beats_every_allow() {
    let pool = Pool::new(&MADE);
    let stray = select(TOOLS.to_vec());
    check(CASES, &(written(), run(), 0..PLACES.len(), stray), |(mut written, run, place, tool)| {
        let table = written.tables[place].get_or_insert_default();
        table.deny.push(tool.0);
        let surface = pool.surface(&written, &run);
        if written.applies(place, &run) {
            prop_assert!(!names(&surface).contains(tool.0));
        }
        let denied = (0..PLACES.len()).filter(|place| written.applies(*place, &run));
        let denied = denied.filter_map(|place| written.tables[place].as_ref()).flat_map(|lists| &lists.deny);
        for entry in denied {
            let survivor = TOOLS.iter().find(|tool| means(entry, tool) && names(&surface).contains(tool.0));
            prop_assert_eq!(survivor, None, "{} is denied", entry);
        }
        Ok(())
    });
}

/// One more restriction, of whatever kind.
#[derive(Debug, Clone)]
enum More {
    Deny(usize, &'static str),
    Allow(usize, Vec<&'static str>),
    Profile(usize, &'static str),
    Cap(Vec<&'static str>),
    Sandboxed,
    Stranger,
    Child,
}

fn more() -> impl Strategy<Value = More> {
    let place = 0..PLACES.len();
    prop_oneof![
        (place.clone(), select(TOOLS.to_vec())).prop_map(|(place, tool)| More::Deny(place, tool.0)),
        (place.clone(), entries(12)).prop_map(|(place, list)| More::Allow(place, list)),
        (0..5_usize, select(vec!["coding", "messaging", "own"]))
            .prop_map(|(place, name)| More::Profile(place, name)),
        entries(12).prop_map(More::Cap),
        Just(More::Sandboxed),
        Just(More::Stranger),
        Just(More::Child),
    ]
}

#[test]
fn one_more_layer_deny_or_cap_never_adds_a_tool() {
    let pool = Pool::new(&MADE);
    check(CASES, &(written(), run(), more()), |(mut written, mut run, more)| {
        // A table that is written and empty, so that a more specific sender key cannot take another's place.
        if let More::Deny(place, _) | More::Allow(place, _) | More::Profile(place, _) = more {
            written.tables[place].get_or_insert_default();
        }
        let before = pool.surface(&written, &run);
        match more {
            More::Deny(place, entry) => written.tables[place].as_mut().unwrap().deny.push(entry),
            More::Allow(place, list) => {
                let allow = &mut written.tables[place].as_mut().unwrap().allow;
                *allow = Some(match allow.take() {
                    None => list,
                    Some(before) => before.into_iter().filter(|entry| list.contains(entry)).collect(),
                });
            }
            More::Profile(place, name) => {
                // An agent's profile takes the global one's place: that is no further layer.
                let is_replacing =
                    place == 3 && written.tables[0].as_ref().is_some_and(|global| global.profile.is_some());
                let profile = &mut written.tables[place].as_mut().unwrap().profile;
                if profile.is_none() && !is_replacing {
                    *profile = Some(name);
                }
            }
            More::Cap(list) => {
                run.caps = Some(match run.caps.take() {
                    None => list,
                    Some(before) => before.into_iter().filter(|entry| list.contains(entry)).collect(),
                });
            }
            More::Sandboxed => run.sandboxed = true,
            More::Stranger if run.sender => run.is_owner = Some(false),
            More::Stranger => {}
            More::Child => run.child = true,
        }
        let after = pool.surface(&written, &run);
        prop_assert!(names(&after).is_subset(&names(&before)), "{:?} {:?}", names(&before), names(&after));
        Ok(())
    });
}

#[test]
fn a_narrowing_of_a_turn_never_adds_a_tool() {
    let pool = Pool::new(&MADE);
    check(CASES, &(written(), run(), entries(10), entries(10)), |(written, run, first, second)| {
        let surface = pool.surface(&written, &run);
        let once = surface.narrow("a hook", &parsed(&first));
        let twice = once.narrow("another", &parsed(&second));
        let expected: BTreeSet<&str> = names(&surface)
            .into_iter()
            .filter(|name| {
                let tool = TOOLS.iter().find(|tool| tool.0 == *name).unwrap();
                [&first, &second].iter().all(|list| list.iter().any(|entry| means(entry, tool)))
            })
            .collect();
        prop_assert_eq!(names(&twice), expected);
        // What it hands on is what is left.
        prop_assert_eq!(twice.capture().len(), names(&twice).len());
        Ok(())
    });
}

#[test]
fn a_factory_never_gets_past_a_policy_whatever_it_makes() {
    let all: Vec<&str> = TOOLS.iter().map(|tool| tool.0).chain(["never_declared"]).collect();
    // Few pools, many policies each: a pool is a folder on disk.
    for makes in
        [&all[..], &["made_one", "read", "exec"], &["made_two", "made_two"], &["never_declared"], &[]]
    {
        let pool = Pool::new(makes);
        check(CASES / 5, &(written(), run()), |(written, run)| {
            let surface = pool.surface(&written, &run);
            let order: Vec<usize> = (0..PLACES.len()).collect();
            let made =
                |name: &&str| !MADE.contains(name) || makes.iter().filter(|made| *made == name).count() == 1;
            let expected: BTreeSet<&str> = written.expected(&run, &order).into_iter().filter(made).collect();
            prop_assert_eq!(names(&surface), expected);
            let is_its_own = |exposed: &airlock_core::ExposedTool| {
                let (name, owner) = (exposed.tool.name.as_str(), exposed.owner.to_string());
                TOOLS.iter().any(|tool| tool.0 == name && tool.1 == owner)
            };
            prop_assert!(surface.tools().all(is_its_own));
            Ok(())
        });
    }
}

/// A child's run, and what a hook narrows its parent's surface to before, if anything.
type Generation = (Run, Option<Vec<&'static str>>);

#[test]
fn children_only_narrow_thirty_two_deep() {
    let pool = Pool::new(&MADE);
    let generations = proptest::collection::vec((run(), proptest::option::of(entries(20))), 34);
    let property = |(written, first, generations): (Written, Run, Vec<Generation>)| {
        let mut parent = pool.surface(&written, &first);
        for (depth, (run, narrowing)) in generations.into_iter().enumerate() {
            if let Some(entries) = narrowing.filter(|_| depth % 4 == 0) {
                parent = parent.narrow("a hook", &parsed(&entries));
            }
            let child = pool.runtime.block_on(parent.child(run.context()));
            if depth == 32 {
                prop_assert!(child.unwrap_err().to_string().contains("32 deep"));
                return Ok(());
            }
            let child = child.unwrap();
            prop_assert!(names(&child).is_subset(&names(&parent)));
            // A schedule keeps what its planner had, and no more, whoever runs it.
            if depth % 8 == 0 {
                let scheduled = run.context().capped(child.capture());
                let scheduled = pool.runtime.block_on(pool.host.assemble(scheduled));
                prop_assert!(names(&scheduled).is_subset(&names(&child)));
            }
            parent = child;
        }
        unreachable!("the loop ends at the thirty-third child")
    };
    let strategy = (written(), run(), generations);
    // Each case assembles 33 surfaces and more.
    check(CASES / 3, &strategy, property);
}

#[test]
fn an_optional_tool_needs_somebody_s_word() {
    let folder = tempfile::tempdir().unwrap();
    install(folder.path(), "shell", &json!({ "exec": { "optional": true }, "run": {} }), None);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let builder = Host::builder().sandbox(Scripted).plugin_root(root(folder.path()));
    let host = runtime.block_on(builder.build()).unwrap();
    let words = select(vec![
        "exec",
        "ex*",
        "shell",
        "plugin:shell",
        "group:plugins",
        "*",
        "run",
        "group:fs",
        "group:mine",
    ]);
    let place = select(vec![
        "tools",
        "agents.writer.tools",
        "tools.sandbox",
        "tools.subagents",
        "agents.reader.tools",
    ]);
    let list = select(vec!["allow", "also-allow"]);
    check(CASES, &(place, list, words, any::<bool>()), |(place, list, word, sandboxed)| {
        let toml = format!("[tools.groups]\nmine = [\"exec\"]\n[{place}]\n{list} = [\"{word}\"]\n");
        host.reload(Config::from_toml(toml.as_bytes(), "airlock.toml".as_ref()).unwrap()).unwrap();
        let mut run = airlock_core::RunContext::new("writer");
        run.sandboxed = sandboxed;
        run.tools_allow = Some(vec![PolicyEntry::parse("*").unwrap()]);
        let surface = runtime.block_on(host.assemble(run));
        let is_word = !["run", "group:fs", "group:mine"].contains(&word);
        let applies =
            matches!(place, "tools" | "agents.writer.tools") || place == "tools.sandbox" && sandboxed;
        prop_assert_eq!(names(&surface).contains("exec"), is_word && applies, "{}", toml);
        Ok(())
    });
}
