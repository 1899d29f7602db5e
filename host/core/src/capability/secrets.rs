//! Secrets: an operator's sources enter once; values that only a request may carry leave. No text, log or record ever shows
//! one, and memory that held one is wiped.

use std::collections::BTreeMap;
use std::fmt;

use zeroize::Zeroizing;

use super::Refusal;
use super::leak;
use crate::config::Config;
use crate::diagnostic::{Code, Diagnostic};
use crate::id::PluginId;
use crate::manifest::SecretRequest;

/// Longest secret, in bytes: keys and tokens; a header has to hold it.
const MAX_SECRET_BYTES: u64 = 8 << 10;

/// Shortest secret, in bytes: what is shorter can be guessed, and looking for it in what comes back would find words.
const MIN_SECRET_BYTES: usize = 8;

/// The value of one secret.
#[derive(Clone)]
pub struct Secret {
    value: Zeroizing<String>,
    /// How it is looked for in what comes back.
    forms: Vec<Zeroizing<Vec<u8>>>,
}

impl Secret {
    fn new(value: &str) -> Self {
        Self { value: Zeroizing::new(value.to_owned()), forms: leak::forms(value) }
    }

    /// The value. Whoever asks answers for where it goes.
    pub fn expose(&self) -> &str {
        &self.value
    }

    pub(super) fn forms(&self) -> &[Zeroizing<Vec<u8>>] {
        &self.forms
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// The values of all secrets that an operator named.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    values: BTreeMap<String, Secret>,
    findings: Vec<Diagnostic>,
}

impl Secrets {
    /// Reads every secret of `[secrets]`: files where the configuration says they are, variables by asking `variable`. What
    /// cannot be read is left out, with a finding among the host's that does not quote it.
    pub fn read(config: &Config, variable: impl Fn(&str) -> Option<String>) -> Self {
        let (mut values, mut findings) = (BTreeMap::new(), Vec::new());
        for (name, source) in &config.file().secrets {
            let read = match (&source.env, &source.file) {
                (Some(env), _) => variable(env)
                    .map(Zeroizing::new)
                    .ok_or_else(|| format!("the variable `{env}` is not set, or is no text")),
                (None, Some(file)) => read_file(&config.beside(file)),
                (None, None) => Err("it has no source".to_owned()),
            };
            let usable = read.and_then(|value| usable(&value));
            match usable {
                Ok(secret) => drop(values.insert(name.clone(), secret)),
                Err(problem) => {
                    let message = format!("the secret `{name}` is missing: {problem}");
                    let hint = "plugins call without it until it is there and read again";
                    let finding = Diagnostic::new(Code::SecretMissing, name, message, hint);
                    findings.push(finding.at(config.location(&["secrets", name])));
                }
            }
        }
        Self { values, findings }
    }

    /// Secrets that an embedder has from somewhere else, such as a vault. What no header can carry, or can be guessed, is
    /// left out.
    pub fn from_values<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let usable = |(name, value): (&str, &str)| Some((name.to_owned(), usable(value).ok()?));
        Self { values: values.into_iter().filter_map(usable).collect(), findings: Vec::new() }
    }

    /// The secret of that name.
    pub fn get(&self, name: &str) -> Option<&Secret> {
        self.values.get(name)
    }

    /// What could not be read, and why.
    pub(crate) fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// Names of the configuration for which nobody handed in anything, value or finding.
    pub(crate) fn forgotten(&self, config: &Config) -> Vec<Diagnostic> {
        let is_known = |name: &String| {
            self.values.contains_key(name) || self.findings.iter().any(|finding| finding.subject == *name)
        };
        let names = config.file().secrets.keys().filter(|name| !is_known(name));
        let forgotten = names.map(|name| {
            let message = format!(
                "the secret `{name}` is missing: the program that embeds the host did not hand it in"
            );
            let hint =
                "it does so with `Secrets::read`, when it starts and before it reloads a configuration";
            let finding = Diagnostic::new(Code::SecretMissing, name, message, hint);
            finding.at(config.location(&["secrets", name]))
        });
        forgotten.collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Secret)> {
        self.values.iter().map(|(name, secret)| (name.as_str(), secret))
    }
}

fn read_file(path: &std::path::Path) -> Result<Zeroizing<String>, String> {
    use std::io::Read as _;
    let mut text = Zeroizing::new(String::new());
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_SECRET_BYTES + 1).read_to_string(&mut text))
        .map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    Ok(text)
}

/// The value without the line end that an editor leaves, if a header can hold it.
fn usable(value: &str) -> Result<Secret, String> {
    let value = value.trim_end_matches(['\r', '\n']);
    if value.len() < MIN_SECRET_BYTES || value.len() as u64 > MAX_SECRET_BYTES {
        return Err(format!(
            "it has {} bytes, and must have {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES}",
            value.len()
        ));
    }
    if !value.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Err("it has characters that no header can carry".to_owned());
    }
    Ok(Secret::new(value))
}

/// Which secrets go into a plugin's requests.
#[derive(Debug, Clone)]
pub struct SecretCapability {
    plugin: PluginId,
    asked: Vec<SecretRequest>,
    granted: Vec<String>,
}

impl SecretCapability {
    pub(super) fn new(plugin: &PluginId, asked: Vec<SecretRequest>, granted: Vec<String>) -> Self {
        Self { plugin: plugin.clone(), asked, granted }
    }

    /// Whose it is.
    pub fn plugin(&self) -> &PluginId {
        &self.plugin
    }

    /// Whether a secret may be added to the requests of the plugin that its manifest names.
    ///
    /// # Errors
    /// Who does not want it.
    pub fn allows(&self, name: &str) -> Result<(), Refusal> {
        let what = format!("the secret `{name}`");
        if !self.asked.iter().any(|asked| asked.name == name) {
            let line =
                format!("`{{ \"name\": \"{name}\", \"host\": …, \"header\": … }}` to `permissions.secrets`");
            return Err(Refusal::not_requested(&self.plugin, &what, &line));
        }
        if !self.granted.iter().any(|granted| granted == name) {
            return Err(Refusal::not_granted(&self.plugin, &what, &format!("secrets = [\"{name}\"]")));
        }
        Ok(())
    }

    /// Everything that the manifest asks for, granted or not.
    pub fn asked(&self) -> &[SecretRequest] {
        &self.asked
    }

    /// What is asked for and granted, both.
    pub fn effective(&self) -> impl Iterator<Item = &SecretRequest> {
        self.asked.iter().filter(|asked| self.allows(&asked.name).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_read_bounded_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), "from-a-file\n").unwrap();
        std::fs::write(folder.path().join("bad"), "with\u{0}zero-byte").unwrap();
        let written = "[secrets]\na = { env = \"A\" }\nb = { file = \"token\" }\nc = { env = \"C\" }\nd = { env = \"D\" }\n\
            e = { file = \"bad\" }\nf = { file = \"/dev/zero\" }";
        let config = Config::from_toml(written.as_bytes(), &folder.path().join("airlock.toml")).unwrap();
        let variable = |name: &str| match name {
            "A" => Some("from-a-variable".to_owned()),
            "D" => Some("short".to_owned()),
            _ => None,
        };
        let secrets = Secrets::read(&config, variable);
        assert_eq!(secrets.get("a").unwrap().expose(), "from-a-variable");
        assert_eq!(secrets.get("b").unwrap().expose(), "from-a-file");
        assert!(!format!("{secrets:?}").contains("from-a"));
        assert_eq!(secrets.found_in(b"x from-a-file y"), Some("b"));
        let said: Vec<_> = secrets.findings().iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(said.len(), 4, "{said:?}");
        assert!(said[0].contains("the variable `C` is not set"), "{said:?}");
        assert!(said[1].contains("it has 5 bytes"), "{said:?}");
        assert!(!said.iter().any(|said| said.contains("short") || said.contains("zero-byte")));
    }

    #[test]
    fn both_must_have_it() {
        let id = PluginId::parse("github").unwrap();
        let asked: SecretRequest =
            serde_json::from_str(r#"{"name": "token", "host": "a.b", "header": "authorization"}"#).unwrap();
        let capability = |granted: &[&str]| {
            SecretCapability::new(&id, vec![asked.clone()], granted.iter().map(ToString::to_string).collect())
        };
        assert_eq!(capability(&["token"]).allows("token"), Ok(()));
        assert_eq!(capability(&["token"]).effective().count(), 1);
        assert!(capability(&[]).allows("token").unwrap_err().to_string().contains("secrets = [\"token\"]"));
        assert!(
            capability(&["x"])
                .allows("x")
                .unwrap_err()
                .to_string()
                .contains("does not ask for the secret `x`")
        );
    }
}
