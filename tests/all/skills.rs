//! Skills: found in their order, refused with their place, pinned for a turn, and never the cause of one tool more.

mod commands;
mod copies;
mod environment;
mod nodes;
mod places;
mod storm;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use airlock_core::{
    AllowedTools, CallKind, Config, Host, HostBuilder, NativeTool, RunContext, SkillRoot, SkillSource,
    SubjectKind, Surface, Surroundings,
};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::json;

use crate::scripted::{Native, Scripted, install};
use crate::support::{self, call, end, package, root, text};

/// A machine that has what a test wants.
#[derive(Debug)]
struct Machine;

impl Surroundings for Machine {
    fn system(&self) -> &str {
        "linux"
    }
    fn has_program(&self, name: &str) -> bool {
        name == "git"
    }
    fn has_variable(&self, name: &str) -> bool {
        name == "HOME"
    }
}

/// Writes a skill with that head, and its body.
fn write(folder: &Path, name: &str, head: &str, body: &str) -> PathBuf {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("SKILL.md");
    let whole = format!("---\nname: {name}\n{head}\n---\n{body}");
    // As an editor does it: nobody ever sees half a file.
    let new = folder.join(".new");
    fs::write(&new, whole).unwrap();
    fs::rename(new, &path).unwrap();
    path
}

fn simple(folder: &Path, name: &str) -> PathBuf {
    write(folder, name, &format!("description: About {name}"), &format!("How to {name}.\n"))
}

fn managed(path: &Path) -> SkillRoot {
    SkillRoot { source: SkillSource::Managed, path: path.to_owned() }
}

fn builder(roots: impl IntoIterator<Item = SkillRoot>) -> HostBuilder {
    let natives = ["read", "exec", "write"].map(|name| {
        let native: Arc<dyn NativeTool> = Arc::new(Native { name, ..Native::default() });
        native
    });
    Host::builder().sandbox(Scripted).native_tools(natives).skills(roots).surroundings(Machine)
}

async fn surface(builder: HostBuilder, run: RunContext) -> Surface {
    builder.build().await.unwrap().assemble(run).await
}

fn names(surface: &Surface) -> Vec<String> {
    surface.skills().unwrap().skills().map(|skill| skill.name().to_string()).collect()
}

fn tools(surface: &Surface) -> Vec<String> {
    surface.tools().map(|exposed| exposed.tool.name.to_string()).collect()
}

#[tokio::test]
async fn the_stronger_source_has_the_name_and_the_other_is_listed() {
    let [extra, personal, workspace] = std::array::from_fn(|_| tempfile::tempdir().unwrap());
    simple(extra.path(), "tidy");
    simple(extra.path(), "only-extra");
    simple(personal.path(), "tidy");
    simple(&workspace.path().join(".agents/skills"), "tidy");
    let strongest = simple(&workspace.path().join("skills/group"), "tidy");
    let roots = [
        SkillRoot { source: SkillSource::Personal, path: personal.path().to_owned() },
        SkillRoot { source: SkillSource::Extra, path: extra.path().to_owned() },
    ];
    let mut run = RunContext::new("writer");
    run.workspace = Some(workspace.path().display().to_string());
    let surface = surface(builder(roots), run).await;
    assert_eq!(names(&surface), ["only-extra", "tidy"]);
    let skills = surface.skills().unwrap();
    assert_eq!(skills.skill("tidy").unwrap().path(), strongest);
    let sources: Vec<_> = skills.shadowed().iter().map(|shadowed| shadowed.source.to_string()).collect();
    assert_eq!(sources, ["extra", "personal", "workspace"]);
    assert!(skills.catalogue().contains("<name>tidy</name><description>About tidy</description>"));
}

#[tokio::test]
async fn plugins_carry_skills_which_are_gone_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = package(folder.path(), "helper", &[], None);
    let manifest = json!({ "id": "helper", "version": "1.0.0", "skills": ["skills", "elsewhere"] });
    fs::write(plugin.join("airlock.plugin.json"), manifest.to_string()).unwrap();
    simple(&plugin.join("skills"), "helping");
    let outside = tempfile::tempdir().unwrap();
    simple(outside.path(), "smuggled");
    #[cfg(unix)]
    std::os::unix::fs::symlink(outside.path(), plugin.join("elsewhere")).unwrap();
    let host = builder([]).plugin_root(root(folder.path())).build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    assert_eq!(names(&surface), ["helping"]);
    assert_eq!(surface.skills().unwrap().skill("helping").unwrap().source().to_string(), "plugin:helper");
    let off =
        Config::from_toml(b"[plugins.entries.helper]\nenabled = false", "airlock.toml".as_ref()).unwrap();
    host.reload(off).unwrap();
    assert!(names(&host.assemble(RunContext::new("writer")).await).is_empty());
}

#[tokio::test]
async fn the_sample_plugin_s_skill_works_with_its_tools() {
    let host = support::builder(&["tracker", "echo"]).skills([]).build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    let turn = "A login fails since yesterday. $issue-triage";
    let mentioned = surface.skills().unwrap().mentions(turn).unwrap().skills;
    let [triage] = mentioned.as_slice() else { panic!("{mentioned:?}") };
    let active = surface.activate(triage);
    assert_eq!(tools(&active), ["skill_read", "tracker_create", "tracker_read", "tracker_search"]);
    let form = json!({ "name": "issue-triage", "file": "references/report.md" }).to_string();
    assert!(text(&call(&active, "skill_read", &form).await).contains("**How to see it.**"));
    let found = call(&active, "tracker_search", r#"{"query": "login"}"#).await;
    assert_eq!(found.kind, CallKind::Completed, "{}", text(&found));
    assert_eq!(call(&active, "echo", r#"{"text": "x"}"#).await.kind, CallKind::NotExposed);
}

#[tokio::test]
async fn every_gate_that_is_shut_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let gates = "description: x\nmetadata:\n  airlock:\n    os: [windows]\n    requires:\n      bins: [git, cargo]\n      \
        any-bins: [rg, ag]\n      env: [HOME, TOKEN, GIVEN]\n      config: [audit.contents, tools.deny]";
    write(folder.path(), "gated", gates, "");
    simple(folder.path(), "free");
    simple(folder.path(), "off");
    let written = "[skills.entries.off]\nenabled = false\n[skills.entries.gated]\nenv = { GIVEN = \"1\" }\n\
        [agents.narrow]\nskills = [\"off\"]\n[audit]\ncontents = \"full\"";
    let config = Config::from_toml(written.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let host = builder([managed(folder.path())]).config(config).build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    assert_eq!(names(&surface), ["free"]);
    let listed = surface.skills().unwrap().listed();
    let gated = listed.iter().find(|one| one.skill.name().as_str() == "gated").unwrap();
    assert_eq!(
        gated.shut_gates,
        [
            "it is for windows, and this is linux",
            "the program `cargo` is not there",
            "none of the programs `rg`, `ag` is there",
            "the variable `TOKEN` is not set, or empty",
            "the configuration's `tools.deny` is not set, or empty or false",
        ]
    );
    let narrow = host.assemble(RunContext::new("narrow")).await;
    assert!(names(&narrow).is_empty());
    let reasons: Vec<_> = narrow.skills().unwrap().listed().iter().map(|one| one.shut_gates.len()).collect();
    assert_eq!(reasons, [1, 6, 1], "{:?}", narrow.skills().unwrap().listed());
}

#[tokio::test]
async fn skill_read_reads_the_snapshot_under_policy_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = simple(folder.path(), "tidy");
    write(folder.path(), "secret", "description: x\ndisable-model-invocation: true", "hidden");
    fs::create_dir(folder.path().join("tidy/docs")).unwrap();
    fs::write(folder.path().join("tidy/docs/more.md"), "more").unwrap();
    fs::write(folder.path().join("tidy/picture.png"), [0xff, 0xfe, 0]).unwrap();
    let host = builder([managed(folder.path())]).build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    assert_eq!(tools(&surface), ["exec", "read", "skill_read", "write"]);
    let before = fs::read_to_string(&path).unwrap();
    write(folder.path(), "tidy", "description: changed", "changed");
    let read = async |arguments| end(&call(&surface, "skill_read", arguments).await);
    assert_eq!(read(r#"{"name": "tidy"}"#).await, format!("completed | {before} | -"));
    assert_eq!(read(r#"{"name": "tidy", "file": "docs/more.md"}"#).await, "completed | more | -");
    for (arguments, said) in [
        (r#"{"name": "secret"}"#, "there is no skill `secret` here"),
        (r#"{"name": "tidi"}"#, "did you mean `tidy`?"),
        (r#"{"name": "tidy", "file": "../secret/SKILL.md"}"#, "has no file `../secret/SKILL.md`"),
        (r#"{"name": "tidy", "file": "/etc/passwd"}"#, "it has docs/more.md, picture.png"),
        (r#"{"name": "tidy", "file": "picture.png"}"#, "is no text"),
    ] {
        let ended = read(arguments).await;
        assert!(ended.starts_with("invalid-params") && ended.contains(said), "{arguments}: {ended}");
    }
    // It is a tool like any other.
    let deny = Config::from_toml(b"[tools]\ndeny = [\"group:skills\"]", "airlock.toml".as_ref()).unwrap();
    host.reload(deny).unwrap();
    assert_eq!(tools(&host.assemble(RunContext::new("writer")).await), ["exec", "read", "write"]);
    assert_eq!(call(&surface, "skill_read", r#"{"name": "tidy"}"#).await.kind, CallKind::StaleSurface);
    // Without a skill to read there is no such tool.
    let empty = tempfile::tempdir().unwrap();
    let surface = self::surface(builder([managed(empty.path())]), RunContext::new("writer")).await;
    assert_eq!(tools(&surface), ["exec", "read", "write"]);
    assert!(surface.removed().is_empty(), "nobody misses it");
    let host = builder([managed(empty.path())]).build().await.unwrap();
    let explanation = host.explain("skill_read", RunContext::new("writer")).await;
    assert!(explanation.reason.unwrap().contains("this run has none"));
}

#[tokio::test]
async fn an_active_skill_narrows_and_never_adds() {
    let folder = tempfile::tempdir().unwrap();
    for (name, allowed) in [
        ("reader", "Read skill_read"),
        ("both", "[read, exec, deploy]"),
        ("none", "[]"),
        ("unknown", "deploy mcp__*"),
        ("coarse", "Bash(git:*)"),
    ] {
        write(folder.path(), name, &format!("description: x\nallowed-tools: {allowed}"), "");
    }
    simple(folder.path(), "free");
    let deny = Config::from_toml(b"[tools]\ndeny = [\"write\"]", "airlock.toml".as_ref()).unwrap();
    let surface = surface(builder([managed(folder.path())]).config(deny), RunContext::new("writer")).await;
    let skills = Arc::clone(surface.skills().unwrap());
    let active = |names: &[&str]| {
        let skill = |name: &&str| Arc::clone(skills.skill(name).unwrap());
        tools(&names.iter().map(skill).fold(surface.clone(), |surface, skill| surface.activate(&skill)))
    };
    assert_eq!(active(&[]), ["exec", "read", "skill_read"]);
    assert_eq!(active(&["free"]), ["exec", "read", "skill_read"]);
    assert_eq!(active(&["reader"]), ["read", "skill_read"]);
    assert_eq!(active(&["both"]), ["exec", "read"]);
    assert_eq!(active(&["reader", "both"]), ["read"], "several intersect");
    assert_eq!(active(&["coarse"]), ["exec"]);
    for nothing in ["none", "unknown"] {
        assert!(active(&[nothing]).is_empty(), "{nothing}");
    }
    let narrowed = surface.activate(skills.skill("reader").unwrap());
    let outcome = call(&narrowed, "exec", "{}").await;
    assert_eq!(outcome.kind, CallKind::NotExposed, "{}", text(&outcome));
    let why = narrowed.removed().iter().find(|removal| removal.name.as_str() == "exec").unwrap();
    assert!(why.reason.contains("the skill `reader`"), "{why:?}");
    let unclear: Vec<_> = skills.diagnostics().iter().map(|finding| finding.message.as_str()).collect();
    assert!(unclear.iter().any(|said| said.contains("`Bash(git:*)`")), "{unclear:?}");
    assert!(unclear.iter().any(|said| said.contains("`mcp__*`")), "{unclear:?}");
}

#[tokio::test]
async fn what_is_mentioned_is_found_in_the_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["tidy", "pdf-tools"] {
        simple(folder.path(), name);
    }
    write(folder.path(), "quiet", "description: x\ndisable-model-invocation: true", "");
    for number in 0..9 {
        simple(folder.path(), &format!("s{number}"));
    }
    let surface = surface(builder([managed(folder.path())]), RunContext::new("writer")).await;
    let skills = surface.skills().unwrap();
    let found = skills.mentions(r"$Tidy the $quiet one, not \$pdf-tools, for $nobody").unwrap();
    let names: Vec<_> = found.skills.iter().map(|skill| skill.name().as_str()).collect();
    assert_eq!(
        (names, found.prompt.as_str()),
        (vec!["tidy", "quiet"], "$Tidy the $quiet one, not $pdf-tools, for $nobody")
    );
    assert!(!skills.catalogue().contains("quiet"));
    assert!(skills.mentions("$s0 $s1 $s2 $s3 $s4 $s5 $s6 $s7").is_ok());
    let error = skills.mentions("$s0 $s1 $s2 $s3 $s4 $s5 $s6 $s7 $s8").unwrap_err();
    assert!(error.to_string().contains("mentions 9 skills, the limit is 8"), "{error}");
    let commands: Vec<_> = skills.commands().into_iter().map(|command| command.command).collect();
    assert!(commands.contains(&"pdf_tools".to_owned()), "{commands:?}");
}

#[tokio::test]
async fn thousands_of_skills_and_monsters_among_them_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    // 5,000 in twenty roots, each with its own limit.
    let roots: Vec<SkillRoot> = (0..20)
        .map(|root| {
            let path = folder.path().join(format!("root{root:02}"));
            for number in 0..250 {
                let text = "words ".repeat(100);
                write(&path, &format!("skill-{root:02}-{number:03}"), &format!("description: {text}"), &text);
            }
            SkillRoot { source: SkillSource::Extra, path }
        })
        .collect();
    let monsters = folder.path().join("monsters");
    let monster = |name: &str, bytes: &[u8]| {
        fs::create_dir_all(monsters.join(name)).unwrap();
        fs::write(monsters.join(name).join("SKILL.md"), bytes).unwrap();
    };
    let head = |name: &str| format!("---\nname: {name}\ndescription: x\n---\n");
    let sized = |name: &str, bytes: usize| {
        let head = head(name);
        format!("{head}{}", "x".repeat(bytes - head.len())).into_bytes()
    };
    monster("limit", &sized("limit", 256_000));
    monster("over", &sized("over", 256_001));
    monster("huge", &vec![b'x'; 10 << 20]);
    let sparse = monsters.join("sparse");
    fs::create_dir_all(&sparse).unwrap();
    fs::File::create(sparse.join("SKILL.md")).unwrap().set_len(5 << 30).unwrap();
    monster("utf16", &[0xff, 0xfe, b'-', 0, b'-', 0]);
    monster("broken", b"---\nname: broken\ndescription: a: b: c\n---\n");
    let mut bomb =
        "---\nname: bomb\ndescription: x\nmetadata:\n  a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (letter, before) in ('b'..='j').zip('a'..) {
        bomb.push_str(&format!("  {letter}: &{letter} [{}]\n", vec![format!("*{before}"); 9].join(", ")));
    }
    monster("bomb", format!("{bomb}---\n").as_bytes());
    let roots = roots.into_iter().chain([managed(&monsters)]);
    let started = Instant::now();
    let surface = surface(builder(roots), RunContext::new("writer")).await;
    let took = started.elapsed();
    let skills = surface.skills().unwrap();
    assert_eq!(skills.skills().count(), 5_001);
    assert!(skills.skill("limit").is_some());
    let catalogue = skills.catalogue();
    assert!(
        catalogue.chars().count() <= 18_000 && catalogue.contains("of 5001 skills"),
        "{}",
        catalogue.len()
    );
    let findings: Vec<_> = skills
        .diagnostics()
        .iter()
        .map(|finding| (finding.subject.as_str(), finding.message.as_str()))
        .collect();
    for (subject, said) in [
        ("over", "has 256001 bytes, the limit is 256000"),
        ("huge", "has 10485760 bytes"),
        ("sparse", "has 5368709120 bytes"),
        ("utf16", "UTF-16"),
        ("broken", "mapping"),
        ("bomb", "too large or too complex"),
    ] {
        assert!(
            findings.iter().any(|(of, message)| *of == subject && message.contains(said)),
            "{subject}: {findings:?}"
        );
    }
    assert!(took < Duration::from_secs(20), "{took:?}");
    eprintln!("5,000 skills and six monsters in {took:?}");
}

#[tokio::test]
async fn a_skill_that_speaks_of_a_tool_adds_none_and_explain_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "deploy",
        "description: Deploys",
        "Run `exec` with `git push`, then `read` the log, and `bash`.\n",
    );
    simple(folder.path(), "tidy");
    let denied = Config::from_toml(b"[tools]\ndeny = [\"exec\"]", "airlock.toml".as_ref()).unwrap();
    let host = builder([managed(folder.path())]).config(denied).build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    let skill = Arc::clone(surface.skills().unwrap().skill("deploy").unwrap());
    assert_eq!(tools(&surface), ["read", "skill_read", "write"]);
    assert_eq!(tools(&surface.activate(&skill)), tools(&surface), "it has no list");
    let explanation = host.explain("deploy", RunContext::new("writer")).await;
    assert_eq!(explanation.kind, SubjectKind::Skill);
    assert_eq!(
        explanation.reason.unwrap(),
        "the skill speaks of `exec`, which this run does not have (`exec` is denied by `exec` in `tools.deny`)"
    );
    let explanation = host.explain("tidy", RunContext::new("writer")).await;
    assert_eq!((explanation.kind, explanation.stopped_at), (SubjectKind::Skill, None));
    assert_eq!(host.explain("nobody", RunContext::new("writer")).await.kind, SubjectKind::Unknown);
}

/// Text of a skill that nobody would write on purpose.
fn any_skill() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        proptest::sample::select(vec![
            "read",
            "exec",
            "Write",
            "Bash(git:*)",
            "skill_read",
            "evil",
            "evil_one",
            "deploy",
            "'*'",
            "plugin:evil",
            "group:fs",
            "group:plugins",
            "tool_call",
        ])
        .prop_map(str::to_owned),
        "[a-z_*:]{1,8}".prop_map(|word| format!("'{word}'")),
    ];
    let list = proptest::collection::vec(word, 0..6).prop_map(|words| format!("[{}]", words.join(", ")));
    let some = |line: &'static str| proptest::option::of(Just(line.to_owned()));
    let lines = (
        proptest::option::weighted(0.7, list.prop_map(|list| format!("allowed-tools: {list}"))),
        some("disable-model-invocation: true"),
        some("user-invocable: false"),
        some("metadata:\n  airlock:\n    command-dispatch: tool\n    command-tool: deploy"),
        proptest::option::weighted(0.1, "[a-z-]{1,12}: [ -~]{0,40}"),
    );
    (lines, "[^\x00]{0,80}").prop_map(|((tools, hidden, quiet, command, junk), body)| {
        let lines: Vec<String> = [tools, hidden, quiet, command, junk].into_iter().flatten().collect();
        format!("---\nname: any\ndescription: Any\n{}\n---\n{body}", lines.join("\n"))
    })
}

#[test]
fn no_skill_however_written_changes_the_surface_except_to_narrow_it() {
    let plugins = tempfile::tempdir().unwrap();
    install(plugins.path(), "evil", &json!({ "evil_one": {}, "evil_two": {} }), None);
    let (mut skills_seen, mut lists_seen) = (0, 0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner =
        TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) });
    let cases = std::cell::RefCell::new((&mut skills_seen, &mut lists_seen));
    let outcome = runner.run(&any_skill(), |text| {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("any")).unwrap();
        fs::write(folder.path().join("any/SKILL.md"), &text).unwrap();
        runtime.block_on(async {
            let deny = Config::from_toml(b"[tools]\ndeny = [\"write\"]", "airlock.toml".as_ref()).unwrap();
            let host =
                |roots: Vec<SkillRoot>| builder(roots).plugin_root(root(plugins.path())).config(deny.clone());
            let without = surface(host(Vec::new()), RunContext::new("writer")).await;
            let with = surface(host(vec![managed(folder.path())]), RunContext::new("writer")).await;
            let mut expected = tools(&without);
            assert!(expected.contains(&"evil_two".to_owned()));
            let skills = with.skills().unwrap();
            // The one tool that reads skills is there if there is one to read.
            if !skills.catalogue().is_empty() {
                expected.push("skill_read".to_owned());
                expected.sort();
            }
            assert_eq!(tools(&with), expected, "{text}");
            for skill in skills.skills() {
                let active = tools(&with.activate(skill));
                let allowed = skill.allowed_tools().map(AllowedTools::names);
                let is_allowed = |tool: &String| {
                    allowed.as_ref().is_none_or(|all| all.iter().any(|name| name.as_str() == tool))
                };
                let left: Vec<_> = expected.iter().filter(|tool| is_allowed(tool)).cloned().collect();
                assert_eq!(active, left, "{text}");
                let mut cases = cases.borrow_mut();
                *cases.0 += 1;
                *cases.1 += usize::from(allowed.is_some());
            }
        });
        Ok(())
    });
    outcome.unwrap();
    assert!(skills_seen > 200 && lists_seen > 120, "{skills_seen} skills, {lists_seen} lists");
}
