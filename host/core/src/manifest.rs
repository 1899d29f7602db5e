//! The manifest `airlock.plugin.json`: exact bytes enter, a typed and consistent [`Manifest`] leaves.
//!
//! It is read before any plugin code runs. It declares and asks; it grants nothing.

mod contracts;
mod endpoint;
mod metadata;
pub(crate) mod permissions;
mod value;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::document::{Document, Problem, RawJson};
use crate::error::Error;
use crate::id::{Digest, PluginId, ToolName};
use crate::limits::LimitsCeiling;

pub use contracts::{Contracts, HookContract};
pub use endpoint::{Endpoint, Scheme};
pub use metadata::{Concurrency, Deferral, ToolMetadata};
pub use permissions::{
    FileAccess, FilesystemRequest, HostPattern, KeyValueRequest, NetworkRequest, Permissions, SecretRequest,
    is_reserved_header,
};
pub use value::{JsonPointer, PackagePath, World};

/// The manifest's file name, at the package root.
pub const MANIFEST_FILE: &str = "airlock.plugin.json";

/// Largest manifest in bytes: a thousand tools with metadata fit, and reading one stays far under a millisecond.
pub const MAX_MANIFEST_BYTES: u64 = 256 * 1024;

/// Longest version, in bytes, with its pre-release and build parts.
const MAX_VERSION_BYTES: usize = 64;

/// What a plugin declares about itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Manifest {
    /// The plugin's identity.
    pub id: PluginId,
    /// The package's version.
    pub version: semver::Version,
    /// A name for people.
    pub name: Option<String>,
    /// One sentence for people.
    pub description: Option<String>,
    /// The code; absent for a plugin that only carries skills.
    pub code: Option<Code>,
    /// JSON Schema of the plugin's configuration.
    pub config_schema: Option<serde_json::Value>,
    /// What the plugin owns.
    pub contracts: Contracts,
    /// Facts about declared tools.
    pub tool_metadata: BTreeMap<ToolName, ToolMetadata>,
    /// When to load the plugin although no tool of it is needed.
    pub activation: Activation,
    /// What it asks for: a ceiling, never a grant.
    pub permissions: Permissions,
    /// Lower limits than the operator's.
    pub limits: LimitsCeiling,
    /// Folders of the skills it carries.
    pub skills: Vec<PackagePath>,
    /// Of the exact bytes.
    pub digest: Digest,
}

/// Where the component is, and which contract it speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The component file inside the package.
    pub component: PackagePath,
    /// The world it was built for.
    pub world: World,
}

/// When a plugin is loaded although no surviving tool name needs it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Activation {
    /// As soon as the host starts.
    pub on_startup: bool,
    /// In runs of one of these channels.
    pub on_channels: Vec<String>,
    /// In runs of one of these model providers.
    pub on_providers: Vec<String>,
}

/// The file as written, before the fields were held against each other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(title = "airlock.plugin.json")]
pub(crate) struct File {
    id: PluginId,
    #[schemars(with = "String")]
    version: semver::Version,
    name: Option<String>,
    description: Option<String>,
    component: Option<PackagePath>,
    world: Option<World>,
    config_schema: Option<RawJson>,
    #[serde(default)]
    contracts: Contracts,
    #[serde(default)]
    tool_metadata: BTreeMap<ToolName, ToolMetadata>,
    #[serde(default)]
    activation: Activation,
    #[serde(default)]
    permissions: Permissions,
    #[serde(default)]
    limits: LimitsCeiling,
    #[serde(default)]
    skills: Vec<PackagePath>,
}

impl Manifest {
    /// Reads the exact bytes of the manifest file at `path`.
    ///
    /// # Errors
    /// The first fault, with file, line, column, field and what was probably meant.
    pub fn from_json(bytes: &[u8], path: &std::path::Path) -> Result<Self, Error> {
        if bytes.len() as u64 > MAX_MANIFEST_BYTES {
            let message =
                format!("{} has {} bytes, the limit is {MAX_MANIFEST_BYTES}", path.display(), bytes.len());
            return Err(Error::configuration(message));
        }
        Self::parse(bytes).map(|(manifest, _)| manifest).map_err(|problem| problem.error(path))
    }

    /// Reads the exact bytes of a manifest file; the document comes along, for the places in it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<(Self, Document), Problem> {
        let document = Document::from_json(bytes)?;
        let file: File = document.read()?;
        if file.version.to_string().len() > MAX_VERSION_BYTES {
            let message = format!("a version has at most {MAX_VERSION_BYTES} bytes");
            return Err(document.problem_at(&["version"], message));
        }
        let code = match (file.component, file.world) {
            (Some(component), Some(world)) => Some(Code { component, world }),
            (None, None) => None,
            (Some(_), None) => {
                let world = World::CURRENT;
                return Err(hinted(
                    document.problem_at(&["component"], "a component needs a `world`"),
                    format!("add \"world\": \"{world}\""),
                ));
            }
            (None, Some(_)) => {
                return Err(hinted(
                    document.problem_at(&["world"], "a world needs a `component`"),
                    "name the component file".to_owned(),
                ));
            }
        };
        if code.is_none() && !(file.contracts.tools.is_empty() && file.contracts.hooks.is_empty()) {
            return Err(hinted(
                document
                    .problem_at(&["contracts"], "tools and hooks need a `component` that implements them"),
                "add `component` and `world`".to_owned(),
            ));
        }
        if let Some(stray) = file.tool_metadata.keys().find(|tool| !file.contracts.tools.contains(tool)) {
            let declared = file.contracts.tools.iter().map(ToolName::as_str);
            let meant = crate::text::suggest(stray.as_str(), declared);
            return Err(hinted(
                document.problem_at(
                    &["toolMetadata", stray.as_str()],
                    "this tool is not declared in `contracts.tools`",
                ),
                meant.map_or("declare it, or remove its metadata".to_owned(), |name| {
                    format!("did you mean `{name}`?")
                }),
            ));
        }
        if let Some(secret) = file.permissions.secret_beyond_network() {
            return Err(hinted(
                document.problem_at(
                    &["permissions", "secrets"],
                    format!(
                        "the secret `{}` is for the host `{}`, which `permissions.network` does not ask for",
                        secret.name, secret.host
                    ),
                ),
                "ask for that host, or name another".to_owned(),
            ));
        }
        let manifest = Self {
            id: file.id,
            version: file.version,
            name: file.name,
            description: file.description,
            code,
            config_schema: file.config_schema.map(|schema| schema.0),
            contracts: file.contracts,
            tool_metadata: file.tool_metadata,
            activation: file.activation,
            permissions: file.permissions,
            limits: file.limits,
            skills: file.skills,
            digest: Digest::of(bytes),
        };
        Ok((manifest, document))
    }

    /// The facts about one declared tool; all defaults where the manifest says nothing.
    pub fn metadata(&self, tool: &ToolName) -> ToolMetadata {
        self.tool_metadata.get(tool).cloned().unwrap_or_default()
    }
}

fn hinted(problem: Problem, hint: String) -> Problem {
    Problem { hint: Some(hint), ..problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = include_str!("manifest/whole.json");

    #[test]
    fn the_whole_schema_is_read() {
        let (manifest, _) = Manifest::parse(WHOLE.as_bytes()).unwrap();
        assert_eq!(manifest.id.as_str(), "github");
        assert_eq!(manifest.version, semver::Version::new(1, 2, 0));
        assert_eq!(manifest.code.as_ref().unwrap().component.as_str(), "github.wasm");
        let create = ToolName::parse("github_create_issue").unwrap();
        let metadata = manifest.metadata(&create);
        assert!(metadata.optional && metadata.side_effecting && !metadata.owner_only);
        assert_eq!(metadata.concurrency, Concurrency::Exclusive);
        assert_eq!(
            manifest.metadata(&ToolName::parse("github_search").unwrap()).concurrency,
            Concurrency::Parallel
        );
        assert_eq!(manifest.contracts.hooks.len(), 2);
        assert_eq!(manifest.permissions.network[0].methods, ["GET", "POST"]);
        assert_eq!(manifest.permissions.secrets[0].name, "github-token");
        assert_eq!(manifest.limits.fuel.unwrap().get(), 500_000_000);
        assert_eq!(manifest.skills[0].as_str(), "skills/triage");
        assert_eq!(manifest.digest, Digest::of(WHOLE.as_bytes()));
    }

    /// `edit` replaces a piece of the whole manifest; the problem must read as expected.
    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        assert!(WHOLE.contains(from), "{from}");
        let problem = Manifest::parse(WHOLE.replacen(from, to, 1).as_bytes()).expect_err(to);
        let hint = problem.hint.as_deref().unwrap_or("-");
        assert_eq!(
            format!("{}:{} {problem} | {hint}", problem.position.line, problem.position.column),
            expected
        );
    }

    #[test]
    fn every_slip_is_named_with_its_place() {
        check("\"id\": \"github\",", "", "1:1 the required key `id` is missing | add `id`");
        check(
            "\"github\",",
            "\" github \",",
            "2:9 `id`: \" github \" starts with ' ': a plugin id is 1 to 64 characters, starts with a lower-case letter, then has lower-case letters, digits and `-` | -",
        );
        check(
            "\"optional\": true",
            "\"optionl\": true",
            "26:7 `toolMetadata.github_create_issue.optionl`: unknown key `optionl` | did you mean `optional`?",
        );
        check(
            "[\"github_search\", \"github_create_issue\"]",
            "\"github_search\"",
            "12:14 `contracts.tools`: invalid type: string \"github_search\", expected a list of canonical tool names | -",
        );
        check(
            "[\"github_search\", \"github_create_issue\"]",
            "[\"github_search\", \"github_search\"]",
            "12:14 `contracts.tools`: `github_search` is listed twice | -",
        );
        check(
            "[\"github_search\", \"github_create_issue\"]",
            "[\"github_search\", \"bash\"]",
            "12:32 `contracts.tools[1]`: `bash` is reserved as another spelling of `exec`; choose another name | -",
        );
        check(
            "\"github_search\", \"github_create_issue\"]",
            "\"github_search\"]",
            "25:5 `toolMetadata.github_create_issue`: this tool is not declared in `contracts.tools` | declare it, or remove its metadata",
        );
        check(
            "\"world\": \"airlock:plugin@0.1.0\",",
            "",
            "6:3 `component`: a component needs a `world` | add \"world\": \"airlock:plugin@0.1.0\"",
        );
        check(
            "\"github.wasm\"",
            "\"../github.wasm\"",
            "6:16 `component`: `../github.wasm` leaves the package; a path is relative, with forward slashes and without `..` | -",
        );
        check(
            "\"airlock:plugin@0.1.0\"",
            "\"airlock:plugin\"",
            "7:12 `world`: `airlock:plugin` is not a world; it reads `airlock:plugin@0.1.0` | -",
        );
        check(
            "\"before-tool-call\"",
            "\"before-toolcall\"",
            "14:17 `contracts.hooks[0].hook`: unknown value `before-toolcall` | did you mean `before-tool-call`?",
        );
        check(
            "\"api.github.com\", \"methods\"",
            "\"*\", \"methods\"",
            "38:27 `permissions.network[0].host`: `*` is not a host; it is a name, an address, or `*.` and a name | -",
        );
        check(
            "\"host\": \"api.github.com\", \"header\"",
            "\"host\": \"evil.example\", \"header\"",
            "39:5 `permissions.secrets`: the secret `github-token` is for the host `evil.example`, which `permissions.network` does not ask for | ask for that host, or name another",
        );
        for (header, problem) in [
            ("Host", "the header `Host` is the host's to set"),
            ("x-forwarded-for", "the header `x-forwarded-for` is the host's to set"),
            ("content-length", "the header `content-length` is the host's to set"),
            ("a b", "`a b` is no name of a header"),
        ] {
            check(
                "\"header\": \"authorization\"",
                &format!("\"header\": \"{header}\""),
                &format!("40:69 `permissions.secrets[0].header`: {problem} | -"),
            );
        }
        check(
            "Bearer {secret}",
            "Bearer secret",
            "40:95 `permissions.secrets[0].value`: the value has no `{secret}` in it, so that the secret would go nowhere | -",
        );
        check(
            "\"path\": \"workspace\"",
            "\"path\": \"/etc\"",
            "43:30 `permissions.filesystem[0].path`: unknown value `/etc` | one of `workspace`",
        );
        check(
            "20000",
            "0",
            "46:18 `limits.timeoutMs`: invalid value: integer `0`, expected a whole number of at least 1 | -",
        );
    }

    #[test]
    fn unset_is_not_enough_for_tools_without_code() {
        let problem = Manifest::parse(br#"{"id": "a", "version": "1.0.0", "contracts": {"tools": ["x"]}}"#)
            .unwrap_err();
        assert_eq!(
            problem.to_string(),
            "`contracts`: tools and hooks need a `component` that implements them"
        );
        assert!(Manifest::parse(br#"{"id": "a", "version": "1.0.0", "skills": ["skills/a"]}"#).is_ok());
    }
}
