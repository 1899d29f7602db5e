//! The program: its exit codes, its JSON documents, its pages for people.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::support::{built, repository};

/// The program that was built beside this test.
pub(crate) fn program() -> PathBuf {
    let mut folder = std::env::current_exe().unwrap();
    folder.pop();
    folder.pop();
    let program = folder.join(format!("airlock{}", std::env::consts::EXE_SUFFIX));
    assert!(program.is_file(), "{} is missing: run `cargo build -p airlock-cli` first", program.display());
    program
}

pub(crate) fn airlock(arguments: &[&str]) -> Output {
    let data = repository().join("target/test-data");
    Command::new(program())
        .args(arguments)
        .env("XDG_DATA_HOME", &data)
        .env("HOME", data)
        .env("NO_COLOR", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// Runs the program over both folders of samples; gives its exit code and its JSON document.
fn json(arguments: &[&str]) -> (i32, Value) {
    let (good, hostile) = (built("plugins"), built("hostile-plugins"));
    let mut all =
        vec!["--plugins", good.to_str().unwrap(), "--plugins", hostile.to_str().unwrap(), "--format", "json"];
    all.extend(arguments);
    let output = airlock(&all);
    let document = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stdout)));
    (output.status.code().unwrap(), document)
}

fn page(arguments: &[&str]) -> String {
    let good = built("plugins");
    let mut all = vec!["--plugins", good.to_str().unwrap()];
    all.extend(arguments);
    String::from_utf8(airlock(&all).stdout).unwrap()
}

#[test]
fn every_ending_has_its_kind_status_and_exit_code() {
    let cases = [
        ("echo", r#"{"text": "a"}"#, 0, "success", None),
        ("fail", "{}", 1, "error", Some("failed")),
        ("workflow_tool", r#"{"pipeline":7}"#, 1, "error", Some("invalid-params")),
        ("refuse", "{}", 1, "error", Some("invalid-params")),
        ("lie", "{}", 1, "error", Some("invalid-output")),
        ("unavailable", "{}", 1, "error", Some("unavailable")),
        ("trap_now", "{}", 1, "error", Some("trapped")),
        ("nowhere", "{}", 3, "blocked", Some("not-exposed")),
        ("spin_forever", "{}", 4, "error", Some("timed-out")),
        ("burn_fuel", r#"{"rounds": 100000000}"#, 4, "error", Some("out-of-fuel")),
        ("hog_memory", "{}", 4, "error", Some("out-of-memory")),
        ("flood_output", "{}", 4, "error", Some("output-too-large")),
    ];
    for (tool, params, exit, status, kind) in cases {
        let (code, outcome) = json(&["call", tool, "--params", params]);
        assert_eq!((code, outcome["status"].as_str()), (exit, Some(status)), "{tool}");
        assert_eq!(outcome["error"]["kind"].as_str(), kind, "{tool}");
        for key in ["content", "details", "record", "receipt", "trail"] {
            assert!(outcome.get(key).is_some(), "{tool} has no {key}");
        }
    }
}

#[test]
fn wrong_arguments_name_the_path_and_the_guest_never_ran() {
    let (code, outcome) = json(&["call", "workflow_tool", "--params", r#"{"pipeline":7}"#]);
    assert_eq!((code, outcome["error"]["path"].as_str()), (1, Some("/pipeline")));
    assert_eq!(outcome["receipt"]["guest"], Value::Null);
}

#[test]
fn wrong_usage_is_exit_2() {
    let cases: &[&[&str]] = &[
        &["call"],
        &["nonsense"],
        &["--format", "yaml", "tools"],
        &["plugins", "nowhere"],
        &["call", "echo", "--params", "@/nowhere/at/all.json"],
        &["hooks", "--tool", "no_such_tool"],
        &["tools", "--agent", " "],
    ];
    for arguments in cases {
        let output = airlock(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn parameters_come_from_a_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("params.json");
    std::fs::write(&file, r#"{"text": "from a file"}"#).unwrap();
    let (code, outcome) = json(&["call", "echo", "--params", &format!("@{}", file.display())]);
    assert_eq!((code, outcome["content"][0]["text"].as_str()), (0, Some("from a file")));
}

#[cfg(unix)]
#[test]
fn whatever_tells_the_program_to_end_cancels_the_call() {
    let sleeper = crate::support::sample("sleeper");
    let data = repository().join("target/test-data");
    // Warm the cache, so that the interrupt meets the call and not a compilation.
    json(&["plugins", "sleeper"]);
    for signal in ["-INT", "-TERM", "-HUP"] {
        let child = Command::new(program())
            .args([
                "--plugins",
                sleeper.to_str().unwrap(),
                "--format",
                "json",
                "call",
                "sleep",
                "--params",
                r#"{"milliseconds": 290}"#,
            ])
            .env("XDG_DATA_HOME", &data)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(150));
        let told = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(told.success());
        let output = child.wait_with_output().unwrap();
        let outcome: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(
            (output.status.code(), outcome["status"].as_str()),
            (Some(130), Some("cancelled")),
            "{signal}"
        );
    }
}

#[cfg(unix)]
#[test]
fn inputs_without_an_end_and_readers_that_leave_are_no_trouble() {
    let output = airlock(&["--config", "/dev/zero", "tools"]);
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("/dev/zero has more than 1048576 bytes"), "{said}");
    let mut child = Command::new(program())
        .args(["--plugins", crate::support::sample("echo").to_str().unwrap(), "tools"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert!(!String::from_utf8_lossy(&output.stderr).contains("error"));
}

#[test]
fn a_relative_workspace_is_below_the_current_folder() {
    let (code, outcome) = json(&["--native", "files", "call", "ls", "--workspace", "."]);
    assert_eq!((code, outcome["status"].as_str()), (0, Some("success")), "{outcome}");
}

#[test]
fn limits_that_calibration_proposes_fit_the_cases_that_it_saw() {
    let folder = tempfile::tempdir().unwrap();
    let (cases, config) = (folder.path().join("cases.jsonl"), folder.path().join("airlock.toml"));
    std::fs::write(&cases, "{\"text\": \"# a\\n## b\\n\"}\n\n{\"text\": \"\"}\n{\"txt\": 1}\n").unwrap();
    let cases = cases.to_str().unwrap();
    let calibrate = |more: &[&str]| json(&[&["calibrate", "markdown_toc", "--cases", cases], more].concat());
    let (code, found) = calibrate(&["--rounds", "5"]);
    assert_eq!((code, &found["cases"], &found["calls"]), (1, &3.into(), &10.into()), "{found}");
    assert_eq!(
        (&found["failed"][0]["line"], &found["failed"][0]["kind"]),
        (&4.into(), &"invalid-params".into())
    );
    for used in ["fuel", "memoryBytes", "wallUs"] {
        let at = |name: &str| found[used][name].as_u64().unwrap();
        assert!(0 < at("min") && at("min") <= at("median") && at("median") <= at("p95"), "{found}");
        assert!(at("p95") <= at("max") && at("max") < at("limit"), "{found}");
    }
    let proposal = &found["proposal"];
    let lower = format!(
        "[plugins.entries.markdown.tool-limits]\nmarkdown_toc = {{ timeout-ms = {}, fuel = {}, memory-bytes = {} }}",
        proposal["timeout-ms"], proposal["fuel"], proposal["memory-bytes"]
    );
    std::fs::write(&config, lower).unwrap();
    let (_, again) = calibrate(&["--rounds", "5", "--config", config.to_str().unwrap()]);
    assert_eq!((&again["calls"], &again["fuel"]["limit"]), (&10.into(), &proposal["fuel"]), "{again}");
    assert_eq!(again["failed"].as_array().unwrap().len(), 1, "{again}");
    assert_eq!(json_code(&["calibrate", "markdown_toc", "--cases", "/nowhere/at/all"]), Some(2));
}

#[test]
fn a_plugin_s_page_says_what_it_asks_for_and_what_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let package = folder.path().join("github");
    std::fs::create_dir(&package).unwrap();
    let manifest = r#"{ "id": "github", "version": "1.2.0", "name": "GitHub", "description": "Search", "contracts": {},
        "permissions": {
            "network": [{ "host": "api.github.com" }, { "host": "http://127.0.0.1:8080", "methods": ["POST"] }],
            "secrets": [{ "name": "token", "host": "api.github.com", "header": "authorization" }],
            "keyValue": { "maxBytes": 65536 }, "filesystem": [{ "path": "workspace", "access": "write" }] } }"#;
    std::fs::write(package.join("airlock.plugin.json"), manifest).unwrap();
    let config = folder.path().join("airlock.toml");
    let granted = "[plugins.entries.github.grants]\nnetwork = [\"api.github.com\"]\nkey-value = true\n\
        filesystem = [{ path = \"workspace\", access = \"read\" }]";
    std::fs::write(&config, granted).unwrap();
    let (plugins, config) = (folder.path().to_str().unwrap(), config.to_str().unwrap());
    let output = airlock(&["--plugins", plugins, "--config", config, "plugins", "github"]);
    insta::assert_snapshot!(String::from_utf8(output.stdout).unwrap());
    let output =
        airlock(&["--plugins", plugins, "--config", config, "--format", "json", "plugins", "github"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let effective = &document["plugins"][0]["permissions"]["effective"];
    let expected = serde_json::json!({
        "network": [{ "host": "api.github.com", "methods": ["GET", "HEAD"] }], "secrets": [],
        "keyValueBytes": 65_536, "filesystem": [{ "path": "workspace", "access": "read" }],
    });
    assert_eq!(*effective, expected);
}

/// The exit code of a command that gives no document.
fn json_code(arguments: &[&str]) -> Option<i32> {
    airlock(arguments).status.code()
}

#[test]
fn the_documents_have_the_promised_shapes() {
    let (code, tools) = json(&["tools"]);
    assert_eq!(code, 0);
    for key in ["name", "plugin", "origin", "optional", "description"] {
        assert!(tools["tools"][0].get(key).is_some(), "{key}");
    }
    for key in ["name", "plugin", "stage", "rules", "reason"] {
        assert!(tools["removed"][0].get(key).is_some(), "{key}");
    }
    for key in ["code", "severity", "subject", "message", "hint", "location"] {
        assert!(tools["diagnostics"][0].get(key).is_some(), "{key}");
    }
    let (code, plugins) = json(&["plugins", "undeclared"]);
    assert_eq!(code, 0);
    for key in ["id", "version", "origin", "path", "state", "tools", "hooks", "permissions", "diagnostics"] {
        assert!(plugins["plugins"][0].get(key).is_some(), "{key}");
    }
    assert_eq!(plugins["plugins"][0]["state"], "registered");
    assert_eq!(plugins["plugins"][0]["diagnostics"][0]["code"], "tool-undeclared");
}

#[test]
fn a_run_is_shown_as_each_provider_takes_it() {
    for wire in ["openai", "openai-strict", "anthropic", "gemini", "mcp", "xai", "mistral", "bedrock"] {
        let (code, document) = json(&["project", wire]);
        assert_eq!((code, document["provider"].as_str()), (0, Some(wire)));
        let tools = document["tools"].as_array().unwrap();
        assert!(tools.iter().any(|tool| tool.to_string().contains("\"echo\"")), "{tools:?}");
        assert!(document["report"].is_array() && document["left_out"].is_array());
    }
    insta::assert_snapshot!(page(&["project", "openai-strict", "count_up"]));
    let output = airlock(&["--plugins", built("plugins").to_str().unwrap(), "project", "mcp", "ecko"]);
    assert_eq!(output.status.code(), Some(2));
    let (_, explanation) = json(&["explain", "count_up"]);
    let projected = explanation["projected"].as_array().unwrap();
    assert_eq!(projected.len(), 8);
    assert_eq!(projected[1]["changes"][0]["change"], "made-required");
    let (_, explanation) = json(&["explain", "notes_forget"]);
    assert!(explanation.get("projected").is_none(), "it is not exposed: {explanation}");
}

#[test]
fn integers_beyond_2_53_keep_every_digit() {
    let (code, document) = json(&["call", "tracker_read", "--params", r#"{"number": 9007199254740993}"#]);
    let message = document["error"]["message"].as_str().unwrap();
    assert!(code == 1 && message.contains("has no issue #9007199254740993"), "{document}");
}

#[test]
fn pages_for_people_read_well() {
    insta::assert_snapshot!(page(&["tools"]), @r"
    TOOL              PLUGIN     DESCRIPTION
    count_list        counter    Lists everything that was ever counted.
    count_up          counter    Counts a thing and says how many there are now.
    echo              echo       Returns its text unchanged.
    fetch             fetch      Requests a URL and returns its status and text.
    markdown_links    markdown   Finds the links of a Markdown text that lead nowhere: to files that do not exist, to headings that …
    markdown_outline  markdown   Lists the headings of a Markdown text with their levels and line numbers.
    markdown_toc      markdown   Writes a table of contents for a Markdown text, with the anchors that GitHub gives its headings.
    notes_list        notebook   Lists all notes with their numbers.
    shelf_list        librarian  Lists a folder of the workspace.
    shelf_read        librarian  Reads the beginning of a text in the workspace, 64 KiB at most.
    skill_read        core       Reads the instructions of a skill, or another of its files.
    tracker_create    tracker    Prepares a new issue for the project and returns its record. It does not file it.
    tracker_read      tracker    Reads one issue of the project.
    tracker_search    tracker    Searches the project's issues and lists those that fit, one a line.
    workflow_tool     workflow   Runs one named pipeline of text steps and returns the resulting text.

    REMOVED       PLUGIN    STAGE     REASON
    notes_forget  notebook  optional  `notes_forget` is optional, and no allow entry names it
    send_message  courier   factory   the factory of `courier` made no `send_message` for this run

    15 tools, 2 removed
    ");
    insta::assert_snapshot!(page(&["skills"]), @r"
    SKILL         SOURCE          DESCRIPTION
    issue-triage  plugin:tracker  Sorts a new report into the issues of a project. Use it when somebody reports a fault or asks for s…

    1 skill, 0 not eligible
    ");
    insta::assert_snapshot!(page(&["plugins"]), @r"
    PLUGIN     VERSION  ORIGIN  STATE       TOOLS
    approve    0.1.0    config  registered
    counter    0.1.0    config  registered  count_up, count_list
    courier    0.1.0    config  registered  send_message
    echo       0.1.0    config  registered  echo
    fetch      0.1.0    config  registered  fetch
    guard      0.1.0    config  registered
    heartbeat  0.1.0    config  registered
    librarian  0.1.0    config  registered  shelf_list, shelf_read
    markdown   0.1.0    config  registered  markdown_outline, markdown_toc, markdown_links
    notebook   0.1.0    config  registered  notes_list, notes_forget
    redact     0.1.0    config  registered
    telemetry  0.1.0    config  registered
    tracker    0.1.0    config  registered  tracker_search, tracker_read, tracker_create
    workflow   0.1.0    config  registered  workflow_tool
    ");
    insta::with_settings!({ filters => vec![
        (r"in [0-9.]+ (µs|ms|s)", "in [TIME]"),
        (r"[0-9,]+ fuel", "[FUEL] fuel"),
        (r"[0-9.]+ MiB memory", "[MEMORY] memory"),
        (r"nearest limit: \w+ at \d+ %", "nearest limit: [LIMIT]"),
    ] }, {
        insta::assert_snapshot!(page(&["call", "echo", "--params", r#"{"text": "hello"}"#]), @r"
        hello

        completed in [TIME] · [FUEL] fuel · [MEMORY] memory · nearest limit: [LIMIT]
        ");
        insta::assert_snapshot!(page(&["call", "ecko"]), @r"
        error[not-exposed] there is no tool `ecko` here; did you mean `echo`?

        not-exposed in [TIME]
        ");
    });
}
