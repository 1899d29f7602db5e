//! `airlock skills`: the skills of one run and why others are missing, or one skill's text.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use airlock_core::{
    Diagnostic, Digest, ListedSkill, Severity, Shadowed, SkillRoot, SkillSource, Surroundings, text,
};
use serde::Serialize;

use crate::arguments::{Format, SkillsCommand};
use crate::failure::Failure;
use crate::page::{self, FAINT};
use crate::setup::Setup;

#[derive(Debug, Serialize)]
struct Document<'a> {
    skills: Vec<Row<'a>>,
    shadowed: &'a [Shadowed],
    diagnostics: &'a [Diagnostic],
    fingerprint: Digest,
    version: u64,
}

#[derive(Debug, Serialize)]
struct Row<'a> {
    name: &'a str,
    description: &'a str,
    source: String,
    #[serde(serialize_with = "airlock_core::lossily")]
    path: &'a Path,
    eligible: bool,
    reasons: &'a [String],
}

impl<'a> Row<'a> {
    fn new(listed: &'a ListedSkill) -> Self {
        let ListedSkill { skill, shut_gates } = listed;
        Self {
            name: skill.name().as_str(),
            description: skill.description(),
            source: skill.source().to_string(),
            path: skill.path(),
            eligible: shut_gates.is_empty(),
            reasons: shut_gates,
        }
    }
}

pub(crate) async fn run(command: &SkillsCommand, setup: &Setup) -> Result<ExitCode, Failure> {
    let surface = setup.with_progress(setup.host.assemble(command.run.context()?)).await;
    let skills = surface.skills().ok_or_else(|| Failure::host("this host has no skills".to_owned()))?;
    if let Some(name) = &command.name {
        let Some(listed) = skills.listed().iter().find(|one| one.skill.name().as_str() == name) else {
            let broken =
                |finding: &&Diagnostic| finding.severity() == Severity::Error && finding.subject == *name;
            if let Some(finding) = skills.diagnostics().iter().find(broken) {
                return Err(Failure::usage(format!("`{name}` is no skill: {}", finding.message)));
            }
            let names = skills.listed().iter().map(|one| one.skill.name().as_str());
            let meant = text::suggest(name, names)
                .map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
            let shown = text::single_line(&text::shorten(name, 80)).into_owned();
            return Err(Failure::usage(format!("there is no skill `{shown}`{meant}")));
        };
        match setup.format {
            Format::Json => page::json(&serde_json::json!({
                "name": name, "text": listed.skill.text(), "files": listed.skill.files().keys().collect::<Vec<_>>(),
            }))?,
            Format::Human => write!(page::standard_output(), "{}", text::escape(listed.skill.text()))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    let document = Document {
        skills: skills.listed().iter().map(Row::new).collect(),
        shadowed: skills.shadowed(),
        diagnostics: skills.diagnostics(),
        fingerprint: skills.fingerprint(),
        version: skills.version(),
    };
    match setup.format {
        Format::Json => page::json(&document)?,
        Format::Human => show(&document)?,
    }
    let is_broken = document.diagnostics.iter().any(|finding| finding.severity() == Severity::Error);
    Ok(if is_broken { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

fn show(document: &Document<'_>) -> std::io::Result<()> {
    let mut output = page::standard_output();
    let row = |skill: &Row<'_>| {
        let description = text::single_line(&text::shorten(skill.description, 100)).into_owned();
        [skill.name.to_owned(), skill.source.clone(), description]
    };
    let (there, missing): (Vec<_>, Vec<_>) = document.skills.iter().partition(|skill| skill.eligible);
    page::table(
        &mut output,
        ["SKILL", "SOURCE", "DESCRIPTION"],
        &there.iter().map(|skill| row(skill)).collect::<Vec<_>>(),
    )?;
    if !missing.is_empty() {
        let rows: Vec<[String; 3]> = missing
            .iter()
            .map(|skill| {
                [
                    skill.name.to_owned(),
                    skill.source.clone(),
                    text::single_line(&skill.reasons.join("; ")).into_owned(),
                ]
            })
            .collect();
        writeln!(output)?;
        page::table(&mut output, ["NOT ELIGIBLE", "SOURCE", "REASON"], &rows)?;
    }
    if !document.shadowed.is_empty() {
        let path = |path: &Path| text::single_line(&path.display().to_string()).into_owned();
        let row =
            |one: &Shadowed| [one.name.to_string(), one.source.to_string(), path(&one.path), path(&one.by)];
        let rows: Vec<[String; 4]> = document.shadowed.iter().map(row).collect();
        writeln!(output)?;
        page::table(&mut output, ["SHADOWED", "SOURCE", "PATH", "BY"], &rows)?;
    }
    for finding in document.diagnostics {
        writeln!(output)?;
        page::diagnostic(&mut output, finding)?;
    }
    let noun = if there.len() == 1 { "skill" } else { "skills" };
    writeln!(output, "\n{FAINT}{} {noun}, {} not eligible{FAINT:#}", there.len(), missing.len())
}

/// Where skills of this machine lie: those that were installed with the program's data, and the user's own for all agents.
pub(crate) fn roots(data: &Path, home: Option<PathBuf>) -> Vec<SkillRoot> {
    let managed = SkillRoot { source: SkillSource::Managed, path: data.join("skills") };
    let personal = home
        .map(|home| SkillRoot { source: SkillSource::Personal, path: home.join(".agents").join("skills") });
    std::iter::once(managed).chain(personal).collect()
}

/// This machine, as its environment says.
#[derive(Debug)]
pub(crate) struct Machine;

impl Surroundings for Machine {
    fn system(&self) -> &str {
        std::env::consts::OS
    }

    fn has_program(&self, name: &str) -> bool {
        // A name and no path: what a skill needs is looked for where programs are.
        let is_plain = !name.is_empty() && !name.contains(['/', '\\']);
        let folders = std::env::var_os("PATH").unwrap_or_default();
        is_plain
            && std::env::split_paths(&folders).any(|folder| {
                let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
                is_program(&path)
            })
    }

    fn has_variable(&self, name: &str) -> bool {
        std::env::var_os(name).is_some_and(|value| !value.is_empty())
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
