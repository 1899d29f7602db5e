//! What the host has to say about a plugin, tool or file: one code, one sentence, one thing to do.
//!
//! Every code is in [`Code`]; nothing else in Airlock invents one.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use crate::text;

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Somebody decided so; nothing is wrong.
    Note,
    /// Something works and may still surprise.
    Warning,
    /// Something asked for is missing.
    Error,
}

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $text:literal, $severity:ident;)+) => {
        /// The stable names of diagnostics.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])+ $variant,)+ }

        impl Code {
            /// Every code, in the order of the six states.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)+];

            /// The kebab-case name, which never changes once released.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)+ }
            }

            /// How much it matters, always the same for one code.
            pub fn severity(self) -> Severity {
                match self { $(Code::$variant => Severity::$severity,)+ }
            }

            /// What the code means, as the documentation says it.
            pub fn meaning(self) -> &'static str {
                match self { $(Code::$variant => concat!($($doc),+),)+ }
            }
        }
    };
}

codes! {
    /// A plugin root cannot be read.
    RootUnreadable = "root-unreadable", Error;
    /// A plugin folder can be written by everybody or belongs to another user, who could install anything.
    RootUnsafe = "root-unsafe", Error;
    /// A root holds more plugin folders than are read.
    RootTooLarge = "root-too-large", Error;
    /// A manifest exists and cannot be read.
    ManifestUnreadable = "manifest-unreadable", Error;
    /// A manifest is larger than 256 KiB.
    ManifestTooLarge = "manifest-too-large", Error;
    /// A manifest is not strict JSON.
    ManifestSyntax = "manifest-syntax", Error;
    /// A manifest is JSON and breaks a rule of its schema.
    ManifestInvalid = "manifest-invalid", Error;
    /// Two plugins of equal origin have one id; neither loads.
    PluginDuplicate = "plugin-duplicate", Error;
    /// A plugin of a stronger origin has the same id.
    PluginShadowed = "plugin-shadowed", Warning;
    /// The operator has the plugin switched off.
    PluginDisabled = "plugin-disabled", Note;
    /// The configuration names a plugin that is not installed.
    PluginUnknown = "plugin-unknown", Warning;
    /// A plugin's configuration does not fit its schema.
    ConfigInvalid = "config-invalid", Error;
    /// A plugin's id equals a native tool's name.
    PluginNameTaken = "plugin-name-taken", Error;
    /// The component that a manifest names does not exist, or lies outside the package.
    ComponentMissing = "component-missing", Error;
    /// A component is larger than 64 MiB.
    ComponentTooLarge = "component-too-large", Error;
    /// A core WebAssembly module stands where a component belongs.
    ComponentIsModule = "component-is-module", Error;
    /// A file is no WebAssembly component, or a damaged one.
    ComponentInvalid = "component-invalid", Error;
    /// A component imports an interface that the host does not provide.
    ImportUnknown = "import-unknown", Error;
    /// A component imports an interface that its manifest does not ask for.
    ImportUnrequested = "import-unrequested", Error;
    /// A component does not export the plugin interface in a version that the host speaks.
    WorldMismatch = "world-mismatch", Error;
    /// What the configuration says about a plugin has no effect.
    EntryUnused = "entry-unused", Warning;
    /// A secret's variable or file is not there, or has no usable value.
    SecretMissing = "secret-missing", Warning;
    /// A plugin's configuration has the value of a secret in it.
    SecretInConfig = "secret-in-config", Error;
    /// A component takes longer than 120 s to compile.
    CompileTimedOut = "compile-timed-out", Error;
    /// A plugin was still compiling when the surface was assembled.
    NotReady = "not-ready", Warning;
    /// A plugin trapped, failed or ran out of a limit while it registered.
    RegisterFailed = "register-failed", Error;
    /// A plugin registered a tool that its manifest does not declare.
    ToolUndeclared = "tool-undeclared", Error;
    /// A folder of skills cannot be read, or others can write it.
    SkillRootUnreadable = "skill-root-unreadable", Warning;
    /// A folder has more skills, or more files, than are looked at.
    SkillsTooMany = "skills-too-many", Warning;
    /// A link leads out of its folder of skills.
    SkillLinkRefused = "skill-link-refused", Warning;
    /// A `SKILL.md` is no skill.
    SkillInvalid = "skill-invalid", Error;
    /// A skill's folder has another name.
    SkillFolderDiffers = "skill-folder-differs", Warning;
    /// A file of a skill is too large to be kept.
    SkillFileLeftOut = "skill-file-left-out", Warning;
    /// Something looks like a skill, or like a part of one, and is passed over.
    SkillPassedOver = "skill-passed-over", Warning;
    /// A list of allowed tools says something that is not held as it is written.
    SkillToolsUnclear = "skill-tools-unclear", Warning;
    /// None of the tools that a skill allows is there, so that it permits nothing.
    SkillToolsUnknown = "skill-tools-unknown", Error;
    /// The list of skills in a prompt has no room for some, of which the model is not told.
    SkillsNotListed = "skills-not-listed", Warning;
    /// The configuration names a skill that is not there, and one of nearly that name is.
    SkillUnknown = "skill-unknown", Warning;
    /// Two skills want different values of one variable.
    SkillEnvDiffers = "skill-env-differs", Warning;
    /// Something of a node's skills is not taken.
    NodeSkillRefused = "node-skill-refused", Warning;
    /// A provider cannot be told what a tool's arguments are.
    ToolUnprojectable = "tool-unprojectable", Warning;
    /// A provider may refuse a request with so many tools, or with so long a text.
    WireTooLarge = "wire-too-large", Warning;
    /// A plugin registered one name or id twice.
    RegistrationDuplicate = "registration-duplicate", Error;
    /// A registered tool breaks a rule for names, texts or schemas.
    ToolInvalid = "tool-invalid", Error;
    /// A manifest declares a tool that nothing registered.
    ContractUnfulfilled = "contract-unfulfilled", Error;
    /// A plugin registered a hook that its manifest does not declare.
    HookUndeclared = "hook-undeclared", Error;
    /// A manifest declares a hook that nothing registered.
    HookUnfulfilled = "hook-unfulfilled", Error;
    /// A registered hook's options break a rule.
    HookInvalid = "hook-invalid", Error;
    /// A description held invisible or direction-changing characters, which are shown escaped.
    TextEscaped = "text-escaped", Warning;
    /// The operator gives a tool name to another of the plugins that declare it.
    ToolOwned = "tool-owned", Note;
    /// Two plugins implement one channel or provider.
    OwnershipConflict = "ownership-conflict", Error;
    /// A plugin that the operator made a guard cannot be loaded, so what it guards is refused.
    GuardMissing = "guard-missing", Error;
    /// A plugin that the operator made a guard is switched off by a list, so it guards nothing.
    GuardOff = "guard-off", Warning;
    /// Two owners declare one tool name.
    ToolConflict = "tool-conflict", Error;
    /// An entry of a policy can match nothing, and changes nothing.
    PolicyUnmatched = "policy-unmatched", Warning;
    /// An entry of a policy is a tool's name and a plugin's id; it permits the tool, and denies both.
    PolicyAmbiguous = "policy-ambiguous", Warning;
    /// A run names a purpose that the configuration does not have; it gets no tools.
    PurposeUnknown = "purpose-unknown", Error;
    /// Runs started one another too often; the last one gets no tools.
    LineageTooDeep = "lineage-too-deep", Error;
    /// There are so many tools that some would be withheld until they are searched for, and something forbids that.
    DeferralOff = "deferral-off", Note;
    /// A handler is about a tool that nothing has.
    HookUnmatched = "hook-unmatched", Warning;
    /// A handler failed where its failure takes something away.
    HookFailed = "hook-failed", Error;
    /// A factory, or a native tool that is made for each run, failed; its tools are missing from this surface.
    FactoryFailed = "factory-failed", Error;
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Location {
    /// The file or folder.
    #[serde(serialize_with = "lossily")]
    pub path: PathBuf,
    /// Line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in characters, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl Location {
    /// A whole file or folder.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), line: None, column: None }
    }
}

/// A path as text, whatever its bytes: a name that is no Unicode must not make a document unwritable.
pub fn lossily<S: serde::Serializer>(path: &std::path::Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

impl fmt::Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
            if let Some(column) = self.column {
                write!(formatter, ":{column}")?;
            }
        }
        Ok(())
    }
}

/// Longest message or hint, in characters: what strangers wrote is quoted in them.
const MAX_TEXT_CHARS: usize = 1_000;

/// Longest subject, in characters.
const MAX_SUBJECT_CHARS: usize = 100;

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// Which finding.
    pub code: Code,
    /// What it is about: a plugin id, a tool name, or a folder where neither is known.
    pub subject: String,
    /// One sentence that says what happened.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// Where, if it is in a file.
    pub location: Option<Location>,
}

impl Diagnostic {
    /// A finding without a place.
    pub fn new(
        code: Code,
        subject: impl fmt::Display,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        let bounded = |text: &str| text::single_line(&text::shorten(text, MAX_TEXT_CHARS)).into_owned();
        let subject = text::shorten(&text::single_line(&subject.to_string()), MAX_SUBJECT_CHARS).into_owned();
        let (message, hint) = (bounded(&message.into()), bounded(&hint.into()));
        Self { code, subject, message, hint, location: None }
    }

    /// The same finding, with its place, where there is one.
    #[must_use]
    pub fn at(mut self, location: impl Into<Option<Location>>) -> Self {
        self.location = location.into();
        self
    }

    /// How much it matters.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity() {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(formatter, "{severity}[{}] {}: {}", self.code, self.subject, self.message)
    }
}

impl Serialize for Diagnostic {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct as _;
        let mut object = serializer.serialize_struct("Diagnostic", 6)?;
        object.serialize_field("code", &self.code)?;
        object.serialize_field("severity", &self.severity())?;
        object.serialize_field("subject", &self.subject)?;
        object.serialize_field("message", &self.message)?;
        object.serialize_field("hint", &self.hint)?;
        object.serialize_field("location", &self.location)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let names: std::collections::BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for name in names {
            assert!(
                name.chars().all(|character| character.is_ascii_lowercase() || character == '-'),
                "{name}"
            );
        }
    }

    #[test]
    fn a_location_reads_like_a_compiler_s() {
        let mut location = Location::path("p/airlock.plugin.json");
        location.line = Some(3);
        location.column = Some(7);
        assert_eq!(location.to_string(), "p/airlock.plugin.json:3:7");
    }
}
