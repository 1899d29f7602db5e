//! `fuzz`: the seeds in `fuzz/seeds/` enter, each target runs for some seconds over what grows from them, and the first
//! input that breaks a promise leaves, with the commands that repeat it. It never changes a seed.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use crate::process;
use crate::process::Result;

/// A run at a desk. A longer one goes on where the last one ended, because the corpus is kept.
const DEFAULT_SECONDS: u32 = 60;

/// Bounds of libFuzzer. An input takes milliseconds and kilobytes, so whatever comes near the first two is a finding.
/// The length is twice that of the longest message, so that one that quotes too much can be found.
const BOUNDS: [&str; 3] = ["-timeout=10", "-rss_limit_mb=2048", "-max_len=16384"];

/// Runs what the command line names: all targets or one, for a minute or as long as it says.
///
/// # Errors
///
/// The words make no sense, cargo-fuzz cannot be had, a target cannot be built, or a finding with its place.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let known = targets()?;
    let request = Request::of(words, &known)?;
    provide()?;
    let sanitizer = sanitizer()?;
    for target in &request.targets {
        println!("\n== {target}, {} s, sanitizer: {sanitizer}", request.seconds);
        fuzz(target, request.seconds, sanitizer)?;
    }
    println!("\nno finding in: {}", request.targets.join(", "));
    Ok(())
}

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    seconds: u32,
    targets: Vec<String>,
}

impl Request {
    fn of(words: &[&str], known: &[String]) -> Result<Self> {
        let (mut seconds, mut target) = (DEFAULT_SECONDS, None);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if *word == "--seconds" {
                // libFuzzer takes 0 for no end at all.
                seconds = words
                    .next()
                    .and_then(|number| number.parse().ok())
                    .filter(|seconds| *seconds > 0)
                    .ok_or("`--seconds` needs a whole number of at least 1")?;
            } else if target.is_none() && known.iter().any(|target| target == word) {
                target = Some((*word).to_owned());
            } else {
                return Err(format!("`{word}` is not expected; name one of: {}", known.join(", ")));
            }
        }
        Ok(Self { seconds, targets: target.map_or_else(|| known.to_vec(), |target| vec![target]) })
    }
}

/// The targets by name, which are the files that hold them.
fn targets() -> Result<Vec<String>> {
    let list = || {
        let entries = fs::read_dir(process::root().join("fuzz/fuzz_targets"))?;
        entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()
    };
    let files = list().map_err(|error| format!("cannot list fuzz/fuzz_targets: {error}"))?;
    let stems = files.iter().filter_map(|file| file.file_stem()?.to_str());
    let mut names: Vec<String> = stems.map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

/// Sees to it that cargo-fuzz is there.
fn provide() -> Result<()> {
    if process::succeeds(&mut process::cargo(".", &["fuzz", "--version"])) {
        return Ok(());
    }
    eprintln!("cargo-fuzz is missing: installing it");
    process::run(&mut process::cargo(".", &["install", "cargo-fuzz", "--locked"])).map_err(|error| {
        format!("{error}\ninstall it with `cargo install cargo-fuzz --locked`, then run this again")
    })
}

/// The address sanitizer where the toolchain has its runtime. Core has no unchecked code of its own, so that without it
/// only what its dependencies do goes unseen.
fn sanitizer() -> Result<&'static str> {
    let folder = process::output(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let files = fs::read_dir(folder.trim())
        .map_err(|error| format!("the toolchain's libraries cannot be listed: {error}"))?;
    let has_runtime = files.flatten().any(|file| file.file_name().to_string_lossy().contains("_rt.asan."));
    Ok(if has_runtime { "address" } else { "none" })
}

fn fuzz(target: &str, seconds: u32, sanitizer: &str) -> Result<()> {
    let root = process::root();
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(root.join(&corpus)).map_err(|error| format!("cannot create {corpus}: {error}"))?;
    let start = SystemTime::now();
    let mut command = process::cargo(".", &["fuzz", "run", "--sanitizer", sanitizer, target]);
    // New inputs go to the first folder; the seeds are only read.
    command.args([corpus, format!("fuzz/seeds/{target}")]).arg("--").args(BOUNDS);
    command.args(["-dict=fuzz/words.dict".to_owned(), format!("-max_total_time={seconds}")]);
    // The instrumentation needs unstable flags, which this variable allows a stable compiler.
    command.env("RUSTC_BOOTSTRAP", "1");
    process::run(&mut command).map_err(|error| {
        let folder = format!("fuzz/artifacts/{target}");
        match written_since(&root.join(&folder), start) {
            Some(name) => finding(target, &format!("{folder}/{name}"), sanitizer),
            None => error,
        }
    })
}

/// The newest file that was written since `start`; slow inputs are kept too, but are no failures.
fn written_since(folder: &Path, start: SystemTime) -> Option<String> {
    let files = fs::read_dir(folder).ok()?.flatten();
    let written = files.filter_map(|file| Some((file.metadata().ok()?.modified().ok()?, file.file_name())));
    let names = written.filter_map(|(time, name)| Some((time, name.into_string().ok()?)));
    names.filter(|(time, name)| *time >= start && !name.starts_with("slow-unit-")).max().map(|(_, name)| name)
}

fn finding(target: &str, artifact: &str, sanitizer: &str) -> String {
    let cargo_fuzz = |verb: &str| {
        format!("RUSTC_BOOTSTRAP=1 cargo fuzz {verb} --sanitizer {sanitizer} {target} {artifact}")
    };
    format!(
        "`{target}` has a finding in {artifact}\n  to reproduce it: {}\n  to make it smaller: {}",
        cargo_fuzz("run"),
        cargo_fuzz("tmin")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_targets_and_seconds_in_any_order() {
        let known = ["config", "manifest"].map(str::to_owned);
        let request = |words: &[&str]| Request::of(words, &known);
        let all = Request { seconds: DEFAULT_SECONDS, targets: known.to_vec() };
        assert_eq!(request(&[]), Ok(all));
        let one = Ok(Request { seconds: 5, targets: vec!["config".to_owned()] });
        assert_eq!(request(&["--seconds", "5", "config"]), one);
        assert_eq!(request(&["config", "--seconds", "5"]), one);
        for bad in
            [&["--seconds"][..], &["--seconds", "0"], &["--seconds", "x"], &["nope"], &["config", "manifest"]]
        {
            assert!(request(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_finding_is_the_newest_artifact_of_this_run() {
        let folder = std::env::temp_dir().join(format!("xtask-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, time: SystemTime| {
            fs::File::create(folder.join(name)).unwrap().set_modified(time).unwrap();
        };
        let start = SystemTime::now();
        let second = std::time::Duration::from_secs(1);
        write("crash-before", start - second);
        write("slow-unit-1", start + second);
        assert_eq!(written_since(&folder, start), None);
        write("crash-now", start + second);
        assert_eq!(written_since(&folder, start).as_deref(), Some("crash-now"));
        fs::remove_dir_all(folder).unwrap();
    }
}
