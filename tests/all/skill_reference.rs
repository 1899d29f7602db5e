//! Every skill that the reference validator of the Agent Skills format accepts is one here, and no other, but for differences
//! that have a reason: `skills-ref`, which `cargo xtask suite` fetches, judges the same files.

mod cases;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use airlock_core::{Host, RunContext, SkillRoot, SkillSource};

use crate::scripted::Scripted;
use crate::support::repository;
use cases::Case;

/// Judges every folder that its arguments name, as the validator's own command does; a file that it cannot even read is refused.
const JUDGE: &str = r"
import json, pathlib, sys
from skills_ref import validate
def judge(folder):
    try:
        return validate(pathlib.Path(folder))
    except Exception as error:
        return ['cannot read it: ' + type(error).__name__]
print(json.dumps([judge(folder) for folder in sys.argv[1:]]))
";

/// What the reference has against each folder.
fn reference(folders: &[PathBuf]) -> Vec<Vec<String>> {
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/skills-ref/lib");
    assert!(library.is_dir(), "the validator of Agent Skills is missing: `cargo xtask suite` fetches it");
    let output = Command::new("python3")
        .args(["-c", JUDGE])
        .args(folders)
        .env("PYTHONPATH", library)
        // Nothing is left beside the files of the package.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What Airlock has against the skill of a folder; nothing if it has it.
async fn ours(root: &Path) -> Vec<String> {
    let root = SkillRoot { source: SkillSource::Managed, path: root.to_owned() };
    let host = Host::builder().sandbox(Scripted).skills([root]).build().await.unwrap();
    let surface = host.assemble(RunContext::new("writer")).await;
    let skills = surface.skills().unwrap();
    if !skills.listed().is_empty() {
        return Vec::new();
    }
    let mut said: Vec<String> = skills.diagnostics().iter().map(|finding| finding.message.clone()).collect();
    if said.is_empty() {
        said.push("there is none".to_owned());
    }
    said
}

#[tokio::test]
async fn the_reference_accepts_what_is_accepted_here() {
    let folder = tempfile::tempdir().unwrap();
    let cases = cases::all();
    let place = |number: usize, case: &Case| folder.path().join(number.to_string()).join(&case.folder);
    let folders: Vec<PathBuf> = cases.iter().enumerate().map(|(number, case)| place(number, case)).collect();
    for (case, folder) in cases.iter().zip(&folders) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join(case.file), &case.bytes).unwrap();
    }
    let (mut problems, mut counts) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for ((case, folder), against) in cases.iter().zip(&folders).zip(reference(&folders)) {
        let ours = ours(folder.parent().unwrap()).await;
        let verdicts = match (against.is_empty(), ours.is_empty()) {
            (true, true) => "both accept",
            (false, false) => "both refuse",
            (true, false) => "refused here only",
            (false, true) => "accepted here only",
        };
        *counts.entry(verdicts).or_default() += 1;
        if verdicts.starts_with("both") != case.difference.is_none() {
            let said = case.difference.unwrap_or("no difference is listed");
            problems.push(format!("{}: {verdicts}: {said}\n  {against:?}\n  {ours:?}", case.name));
        }
    }
    eprintln!("{} files: {counts:?}", cases.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(cases.len() >= 60, "{}", cases.len());
}

/// The skills of this repository: those that help with work on it, and those that sample plugins carry.
fn own() -> Vec<PathBuf> {
    let root = repository();
    let roots = [root.join(".agents/skills"), root.join("sample-plugins/tracker/skills")];
    let entries = roots.iter().flat_map(|root| fs::read_dir(root).unwrap());
    entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect()
}

#[tokio::test]
async fn our_own_skills_are_valid_for_everybody_and_speak_of_what_there_is() {
    let folders = own();
    assert!(folders.len() >= 3, "{folders:?}");
    for (folder, against) in folders.iter().zip(reference(&folders)) {
        assert!(against.is_empty(), "{}: {against:?}", folder.display());
        let root = SkillRoot { source: SkillSource::Managed, path: folder.clone() };
        let host = Host::builder().sandbox(Scripted).skills([root]).build().await.unwrap();
        let skills = host.skills(&RunContext::new("writer")).unwrap();
        assert!(skills.listed().len() == 1 && skills.diagnostics().is_empty(), "{:?}", skills.diagnostics());
    }
    let verbs = fs::read_to_string(repository().join("xtask/src/main.rs")).unwrap();
    for folder in folders.iter().filter(|folder| folder.starts_with(repository().join(".agents"))) {
        let text = fs::read_to_string(folder.join("SKILL.md")).unwrap();
        for said in text.split("cargo xtask ").skip(1) {
            let verb = said.split(|letter: char| !letter.is_ascii_lowercase()).next().unwrap();
            assert!(verbs.contains(&format!("[\"{verb}\"")), "{}: {verb}", folder.display());
        }
        let spans = text.split('`').skip(1).step_by(2);
        for path in spans.filter(|span| {
            span.starts_with(|first: char| first.is_alphabetic())
                && span.contains('/')
                && !span.contains([' ', '\n'])
        }) {
            assert!(repository().join(path).exists(), "{}: `{path}` is not there", folder.display());
        }
    }
}
