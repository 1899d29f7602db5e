//! `tidy`: the repository's files enter, findings leave, each as `file:line: what, and what to do`. It compiles nothing and
//! changes nothing.

use std::fmt;
use std::fs;
use std::process::Command;

use crate::process;
use crate::process::Result;

mod dependencies;
mod links;
mod source;

/// Something to change.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Relative to the root.
    file: String,
    /// From 1.
    line: usize,
    /// What is wrong and what to do.
    text: String,
}

impl Finding {
    fn new(file: &str, line: usize, text: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// Checks every file that is tracked or about to be.
///
/// # Errors
///
/// There are findings, which were printed, or git or cargo could not be asked.
pub(crate) fn check() -> Result<()> {
    let root = process::root();
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(&root);
    let list = process::output(&mut git)?;
    let files: Vec<&str> = list.split('\0').filter(|file| root.join(file).exists()).collect();
    let machine = source::Machine::here(&root);

    let mut findings = Vec::new();
    for file in &files {
        // What is not text has no lines to check.
        let Ok(text) = fs::read_to_string(root.join(file)) else { continue };
        findings.extend(source::check(file, &text, &machine));
        if file.ends_with(".md") {
            findings.extend(links::check(file, &text, |path| root.join(path).exists()));
        }
    }
    findings.extend(dependencies::check()?);
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("{} files are tidy", files.len());
        return Ok(());
    }
    Err(format!("{} findings in {} files", findings.len(), files.len()))
}
