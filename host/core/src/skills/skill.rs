//! One skill: a folder that was walked enters; its whole content, read once and pinned, leaves. What it says is checked here, and
//! nothing of it is carried out.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use serde_json::Value;

use super::allowed_tools::AllowedTools;
use super::front_matter::{self, Flaw, FrontMatter};
use super::name::SkillName;
use super::node::{self, NodeName};
use super::requirements::Requirements;
use super::root::SkillSource;
use super::seen::{Seen, Walked};
use crate::diagnostic::{Code, Diagnostic, Location};
use crate::id::Digest;

/// Largest `SKILL.md`, and largest other file, in bytes: a book of 40,000 words, which no model reads at once.
pub(super) const MAX_FILE_BYTES: u64 = 256_000;

/// All other files of one skill, in bytes.
pub(super) const MAX_FILES_BYTES: u64 = 1 << 20;

/// A skill, as its file was when it was read.
#[derive(Clone, PartialEq)]
pub struct Skill {
    front: FrontMatter,
    source: SkillSource,
    path: PathBuf,
    text: Arc<str>,
    body: Arc<str>,
    files: BTreeMap<String, Arc<[u8]>>,
    digest: Digest,
}

impl Skill {
    /// Reads the bytes of the `SKILL.md` at `path` alone, without the other files of its folder, as of an extra folder.
    ///
    /// # Errors
    /// What is wrong with the file, with line and column.
    pub fn parse(bytes: &[u8], path: &Path) -> Result<Self, Diagnostic> {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        let (front, body) = front_matter::read(bytes).map_err(|Flaw { message, line, column }| {
            invalid(&folder, message).at(Location { path: path.to_owned(), line, column })
        })?;
        let (source, files) = (SkillSource::Extra, BTreeMap::new());
        let (digest, text) = (digest(bytes, &files), String::from_utf8_lossy(bytes).into());
        Ok(Self { front, source, path: path.to_owned(), text, body: body.into(), files, digest })
    }

    /// Reads a node's skill, the one of that number.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub(super) fn of_node(bytes: &[u8], node: &NodeName, number: u32) -> Result<Self, Diagnostic> {
        let skill = Self::parse(bytes, &node::place(node, &number.to_string()))?;
        let path = node::place(node, skill.name().as_str());
        Ok(Self { source: SkillSource::Node(node.clone()), path, ..skill })
    }

    /// The same skill under another name.
    pub(super) fn renamed(&self, name: SkillName) -> Self {
        let mut skill = self.clone();
        skill.front.name = name;
        skill
    }

    /// The same skill, whose command starts a turn of the model.
    pub(super) fn without_command_tool(mut self) -> Self {
        self.front.requirements.command_tool = None;
        self
    }

    /// Reads a skill. `None` if it is none, with a finding; one about what was left out may come beside a skill.
    pub(super) fn read(walked: &Walked, reading: &mut Reading) -> Option<Self> {
        let folder_name = walked.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let path = &walked.main.path;
        let no_skill =
            |problem| invalid(&folder_name, format!("`SKILL.md` {problem}")).at(Location::path(path));
        let bytes = reading.bounded(walked, &walked.main).map_err(no_skill);
        let parsed = bytes.and_then(|bytes| Ok((Self::parse(&bytes, path)?, bytes)));
        let (skill, bytes) = parsed.map_err(|finding| reading.findings.push(finding)).ok()?;
        let front = &skill.front;
        if SkillName::parse(&folder_name).as_ref() != Ok(&front.name) {
            let message =
                format!("the skill `{}` lies in a folder of another name, `{folder_name}`", front.name);
            let hint = "give both one name: other programs take the folder's";
            reading.findings.push(
                Diagnostic::new(Code::SkillFolderDiffers, &front.name, message, hint)
                    .at(Location::path(&walked.main.path)),
            );
        }
        let files = reading.files(&front.name, walked);
        let digest = digest(&bytes, &files);
        Some(Self { source: walked.source.clone(), files, digest, ..skill })
    }

    /// Its name.
    pub fn name(&self) -> &SkillName {
        &self.front.name
    }

    /// What it is for.
    pub fn description(&self) -> &str {
        &self.front.description
    }

    /// Its licence, in its own words.
    pub fn license(&self) -> Option<&str> {
        self.front.license.as_deref()
    }

    /// What it needs, in its own words.
    pub fn compatibility(&self) -> Option<&str> {
        self.front.compatibility.as_deref()
    }

    /// Its metadata, as it was written.
    pub fn metadata(&self) -> &BTreeMap<String, Value> {
        &self.front.metadata
    }

    /// What a run may use while it is active; `None` for everything that the run has.
    pub fn allowed_tools(&self) -> Option<&AllowedTools> {
        self.front.allowed_tools.as_ref()
    }

    /// What it needs, as gates.
    pub fn requirements(&self) -> &Requirements {
        &self.front.requirements
    }

    /// Whether a person may start it by a command.
    pub fn is_user_invocable(&self) -> bool {
        self.front.is_user_invocable
    }

    /// Whether the model is not told of it; it is there for a person's `$name`.
    pub fn is_hidden_from_model(&self) -> bool {
        self.front.is_hidden_from_model
    }

    /// Where it comes from.
    pub fn source(&self) -> &SkillSource {
        &self.source
    }

    /// Its `SKILL.md`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole `SKILL.md`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The instructions, without the head.
    pub fn body(&self) -> &str {
        &self.body
    }

    /// Its other files by their paths below its folder.
    pub fn files(&self) -> &BTreeMap<String, Arc<[u8]>> {
        &self.files
    }

    /// Of all its bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// Without what is in it, which is long and not for logs.
impl fmt::Debug for Skill {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Skill");
        shown.field("name", &self.front.name).field("path", &self.path).finish_non_exhaustive()
    }
}

fn invalid(folder: &str, message: String) -> Diagnostic {
    Diagnostic::new(
        Code::SkillInvalid,
        folder,
        message,
        "correct the file; until then there is no such skill",
    )
}

/// Of a `SKILL.md` and the files beside it.
fn digest(main: &[u8], files: &BTreeMap<String, Arc<[u8]>>) -> Digest {
    let mut parts = vec![main];
    for (name, bytes) in files {
        parts.extend([name.as_bytes(), bytes]);
    }
    Digest::of_parts(parts)
}

/// What comes of reading one folder.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) findings: Vec<Diagnostic>,
    /// Whether something could not be read that may be readable the next time.
    pub(super) has_failed: bool,
}

impl Reading {
    /// The other files that fit.
    fn files(&mut self, name: &SkillName, walked: &Walked) -> BTreeMap<String, Arc<[u8]>> {
        let (mut files, mut left) = (BTreeMap::new(), MAX_FILES_BYTES);
        for (below, seen) in &walked.files {
            let read = if seen.bytes > left && seen.bytes <= MAX_FILE_BYTES {
                Err(format!("would make its files more than {MAX_FILES_BYTES} bytes"))
            } else {
                self.bounded(walked, seen)
            };
            match read {
                Ok(bytes) => {
                    left = left.saturating_sub(bytes.len() as u64);
                    files.insert(below.clone(), bytes.into());
                }
                Err(problem) => {
                    let message =
                        format!("the file `{below}` of the skill `{name}` is left out: it {problem}");
                    let hint =
                        if self.has_failed { "make it readable" } else { "make it smaller, or split it" };
                    let finding = Diagnostic::new(Code::SkillFileLeftOut, name, message, hint);
                    self.findings.push(finding.at(Location::path(&seen.path)));
                }
            }
        }
        files
    }

    /// A file's bytes, if it is not too large; nothing of one that is. Whatever stands there by now, nothing outside the boundary
    /// is opened, and nothing that is no file is waited for.
    fn bounded(&mut self, walked: &Walked, seen: &Seen) -> Result<Vec<u8>, String> {
        let too_large = |bytes: u64| format!("has {bytes} bytes, the limit is {MAX_FILE_BYTES}");
        if seen.bytes > MAX_FILE_BYTES {
            return Err(too_large(seen.bytes));
        }
        let mut bytes = Vec::new();
        let read = open(walked, seen).and_then(|file| {
            if !file.metadata()?.is_file() {
                return Err(io::Error::other("it is no regular file any more"));
            }
            // It may have grown since it was seen.
            file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)
        });
        match read {
            Ok(_) if bytes.len() as u64 > MAX_FILE_BYTES => Err(too_large(bytes.len() as u64)),
            Ok(_) => Ok(bytes),
            Err(error) => {
                self.has_failed = true;
                Err(format!("cannot be read: {error}"))
            }
        }
    }
}

/// Opens what was seen, without waiting, and without leaving the boundary by any link that was put there since.
fn open(walked: &Walked, seen: &Seen) -> io::Result<File> {
    let below = seen.real.strip_prefix(&walked.boundary).map_err(io::Error::other)?;
    let boundary = Dir::open_ambient_dir(&walked.boundary, ambient_authority())?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        // A pipe has nobody at its other end.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    boundary.open_with(below, &options)
}
