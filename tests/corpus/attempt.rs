//! One attempt of an attack: a host over its plugin alone, in a sandbox that others use too, and how it ended. What it left
//! in any text is looked over; nothing is judged beyond that.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use airlock_core::{
    Call, Config, Content, Diagnostic, Host, Limits, Origin, Outcome, PluginRoot, ProgressSink, RunContext,
    Surface, text,
};
use airlock_sandbox::Sandbox;

use crate::attack::{Attack, Expected, Source};

/// The packages of all attacks, on the disk.
#[derive(Debug)]
pub struct Corpus {
    made: tempfile::TempDir,
    samples: PathBuf,
}

/// How an attempt ended.
#[derive(Debug)]
pub struct Attempt {
    /// The kind of the call's end, or the code of why there was no call.
    pub end: &'static str,
    /// What the author is told, for a table's reader.
    pub detail: String,
    /// How long it went on past the limit of the plugin, for one that ended by its deadline.
    pub overshoot: Option<Duration>,
    /// Something that no text or list may have, and has.
    pub blemish: Option<String>,
}

/// Patience with a compilation: a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(100);

impl Corpus {
    /// Writes the packages that are made here; `samples` has the built sample plugins.
    pub fn write(attacks: &[Attack], samples: &Path) -> Self {
        let made = tempfile::tempdir().unwrap();
        for attack in attacks {
            if let Source::Made { component, manifest } = &attack.source {
                let folder = made.path().join(&attack.plugin);
                fs::create_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", attack.plugin));
                fs::write(folder.join("plugin.wasm"), component).unwrap();
                fs::write(folder.join("airlock.plugin.json"), manifest.to_string()).unwrap();
            }
        }
        Self { made, samples: samples.to_owned() }
    }

    /// A surface over the plugin of an attack, and nothing else.
    pub async fn surface(&self, attack: &Attack, sandbox: &Sandbox) -> Surface {
        let folder = match attack.source {
            Source::Sample => &self.samples,
            Source::Made { .. } => self.made.path(),
        };
        let path = folder.join(&attack.plugin);
        assert!(path.is_dir(), "{} is missing: run `cargo xtask guests` first", path.display());
        let settings = Config::from_toml(attack.settings.as_bytes(), "airlock.toml".as_ref()).unwrap();
        let host = Host::builder()
            .sandbox(sandbox.clone())
            .config(settings)
            // Fuel would end many of these before their time: those that are about fuel say so in their manifest.
            .limits(Limits { timeout: Duration::from_secs(10), fuel: u64::MAX, ..Limits::default() })
            .load_patience(PATIENCE)
            .plugin_root(PluginRoot { path, origin: Origin::Config });
        host.build().await.unwrap().assemble(RunContext::new("tester")).await
    }

    /// Attacks once.
    pub async fn attempt(&self, attack: &Attack, sandbox: &Sandbox) -> Attempt {
        let mut started = Instant::now();
        let mut surface = self.surface(attack, sandbox).await;
        if matches!(attack.expected, Expected::Refused(_)) {
            // Once more, without the compilation.
            started = Instant::now();
            surface = self.surface(attack, sandbox).await;
        }
        let took = started.elapsed();
        if !surface.tools().any(|exposed| exposed.tool.name.as_str() == attack.tool) {
            return refused(attack, &surface, took);
        }
        let reports = Arc::new(Mutex::new(Vec::new()));
        let (seen, started) = (Arc::clone(&reports), Instant::now());
        let call = Call::from_json(attack.tool.as_str(), attack.arguments)
            .on_progress(ProgressSink::new(move |report| seen.lock().unwrap().push(report)));
        let outcome = surface.call(call).await;
        let took = started.elapsed();
        let reports = reports.lock().unwrap();
        let unsafe_report = reports.iter().filter_map(|report| report.message.as_deref()).find_map(unclean);
        let overshoot = outcome.receipt.guest.as_ref().and_then(|guest| {
            let limit = Duration::from_millis(guest.timeout_ms) + guest.usage.queued.0;
            (outcome.kind == airlock_core::CallKind::TimedOut).then(|| took.saturating_sub(limit))
        });
        Attempt {
            end: outcome.kind.as_str(),
            detail: outcome.error.as_ref().map_or(String::new(), |error| {
                error.detail.clone().unwrap_or_else(|| text::shorten(&error.message, 300).into_owned())
            }),
            overshoot,
            blemish: blemish(&outcome).or(unsafe_report.map(|what| format!("progress {what}"))),
        }
    }
}

/// A plugin without its tool: why, and how long past its deadline, if that was why.
fn refused(attack: &Attack, surface: &Surface, took: Duration) -> Attempt {
    let findings = surface.diagnostics();
    let cause = findings.iter().find(|finding| finding.subject == attack.plugin);
    let limit = match &attack.source {
        Source::Made { manifest, .. } => manifest["limits"]["timeoutMs"].as_u64(),
        Source::Sample => None,
    };
    let detail = cause.map(|finding| finding.message.clone()).unwrap_or_default();
    let overshoot = limit
        .filter(|_| detail.contains("deadline"))
        .map(|limit| took.saturating_sub(Duration::from_millis(limit)));
    let blemish = findings.iter().find_map(|finding| unclean(&shown(finding)));
    Attempt { end: cause.map_or("not-exposed", |finding| finding.code.as_str()), detail, overshoot, blemish }
}

fn shown(finding: &Diagnostic) -> String {
    format!("{} {} {}", finding.subject, finding.message, finding.hint)
}

/// Something in an outcome that is hidden or without measure, if anything is. What a tool answers to a model is its own
/// text; everything else is the host's.
pub fn blemish(outcome: &Outcome) -> Option<String> {
    /// Characters of one text for a person; a panic's text has 2 KiB, of which each byte may be shown as ten.
    const MAX_CHARS: usize = 24_000;
    let mut texts: Vec<(&str, &str)> = vec![("the record's tool", &outcome.record.tool)];
    if let Some(error) = &outcome.error {
        texts.push(("the message", &error.message));
        texts.extend(error.detail.as_deref().map(|detail| ("the detail", detail)));
        texts.extend(error.path.as_deref().map(|path| ("the path", path)));
        texts.extend(error.violations.iter().map(|violation| ("a violation", violation.message.as_str())));
        texts.extend(outcome.content.iter().filter_map(|piece| match piece {
            Content::Text { text } => Some(("the model's text", text.as_str())),
            _ => None,
        }));
    }
    texts.extend(outcome.trail.iter().filter_map(|entry| Some(("the trail", entry.reason.as_deref()?))));
    texts.extend(outcome.log.iter().map(|line| ("the log", line.message.as_str())));
    let unclean = texts.iter().find_map(|(place, text)| Some(format!("{place} {}", unclean(text)?)));
    let long = || {
        let (place, text) = texts.iter().find(|(_, text)| text.chars().count() > MAX_CHARS)?;
        Some(format!("{place} has {} characters", text.chars().count()))
    };
    let large = || {
        let log: usize = outcome.log.iter().map(|line| line.message.len()).sum();
        let details = outcome.record.details.as_ref().map_or(0, |details| details.to_string().len());
        (outcome.log.len() > 1_000 || log > 5 << 20 || details > 8_192).then(|| {
            format!("{} log lines of {log} bytes, {details} bytes of details on record", outcome.log.len())
        })
    };
    unclean.or_else(long).or_else(large)
}

/// Says which character of a text hides something.
fn unclean(text: &str) -> Option<String> {
    let hides = |character: &char| text::is_unsafe(*character) && !matches!(character, '\n' | '\t');
    text.chars().find(hides).map(|character| format!("has the character {}", character.escape_unicode()))
}
