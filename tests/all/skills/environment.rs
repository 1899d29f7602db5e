//! What skills have in the configuration for programs reaches programs that the host starts, and nobody else.

use std::sync::Arc;

use airlock_core::{Config, RunContext, SkillRoot, Surface};
use airlock_native_tools::{CommandPolicy, Commands, Confinement};
use serde_json::json;

use super::{call, managed, simple, tools, write};
use crate::support::{self, text};

const WRITTEN: &str = "[tools]\nalso-allow = [\"exec\"]\n[skills.entries.triage]\n\
    env = { TRIAGE_MODE = \"fast\", SHARED = \"a\", LANG = \"de_DE\" }\n[skills.entries.zebra]\nenv = { SHARED = \"z\" }\n\
    [skills.entries.absent]\nenv = { ABSENT = \"1\" }\n[skills.entries.off]\nenabled = false\nenv = { OFF = \"1\" }\n\
    [agents.other]\nskills = [\"zebra\"]\n";

/// A host with real commands and a real guest.
async fn host(root: SkillRoot) -> airlock_core::Host {
    let policy = CommandPolicy { confinement: Confinement::WhereAvailable, ..CommandPolicy::default() };
    let commands = Commands::new(policy);
    let config = Config::from_toml(WRITTEN.as_bytes(), "airlock.toml".as_ref()).unwrap();
    let builder = support::builder(&["wanderer"]).native_tools(commands.tools());
    builder.skills([root]).config(config).build().await.unwrap()
}

async fn variables(surface: &Surface) -> String {
    let outcome = call(
        surface,
        "exec",
        r#"{"command": "env | grep -v -E '^(_|PWD|OLDPWD|SHLVL)=' | cut -d= -f1,2 | sort"}"#,
    )
    .await;
    text(&outcome)
}

#[tokio::test]
async fn programs_of_the_host_have_it_and_guests_and_sandboxed_runs_have_not() {
    let (folder, workspace) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for name in ["triage", "zebra", "off"] {
        simple(folder.path(), name);
    }
    write(
        folder.path(),
        "needs",
        "description: x\nmetadata:\n  airlock:\n    requires: { env: [TRIAGE_MODE] }",
        "",
    );
    let host = host(managed(folder.path())).await;
    let run = |agent: &str, sandboxed: bool| {
        let mut run = RunContext::new(agent);
        run.workspace = Some(workspace.path().display().to_string());
        run.sandboxed = sandboxed;
        run
    };
    let surface = host.assemble(run("writer", false)).await;
    let said = variables(&surface).await;
    for (variable, is_there) in [
        ("TRIAGE_MODE=fast", true),
        ("SHARED=a", true),
        ("LANG=de_DE", true),
        ("ABSENT", false),
        ("OFF", false),
        ("AIRLOCK_COMMAND=", true),
    ] {
        assert_eq!(said.contains(variable), is_there, "{variable}: {said}");
    }
    let skills = surface.skills().unwrap();
    let differs: Vec<String> =
        skills.diagnostics().iter().map(ToString::to_string).filter(|said| said.contains("SHARED")).collect();
    assert!(differs.len() == 1 && differs[0].contains("zebra"), "{differs:?}");
    // One skill's variable opens no gate of another.
    assert!(skills.skill("needs").is_none());
    // No value is where the run is shown.
    assert!(!format!("{:?}", surface.run()).contains("fast"));

    let outcome =
        call(&surface, "wander", &json!({ "verb": "environment", "path": "", "other": "" }).to_string())
            .await;
    assert_eq!(text(&outcome), "0 variables, 0 arguments");

    let other = variables(&host.assemble(run("other", false)).await).await;
    assert!(other.contains("SHARED=z") && !other.contains("TRIAGE_MODE"), "{other}");

    let sandboxed = host.assemble(run("writer", true)).await;
    assert_eq!(sandboxed.run().skill_environment().count(), 0);
    // Where the kernel cannot confine commands, a sandboxed run has none at all.
    if tools(&sandboxed).contains(&"exec".to_owned()) {
        let said = variables(&sandboxed).await;
        assert!(!said.contains("TRIAGE_MODE") && said.contains("LANG=C.UTF-8"), "{said}");
    }
    // A run that this one starts is as confined as it is.
    let child = sandboxed.child(RunContext::new("writer")).await.unwrap();
    assert_eq!(child.run().skill_environment().count(), 0);
    drop(Arc::clone(skills));
}
