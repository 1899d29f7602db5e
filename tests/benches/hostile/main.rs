//! The hostile corpus in one process, beside sixteen good calls that never stop: a table of how each attack must end and did
//! end leaves on standard output, and an exit code that says whether all is well. `cargo xtask hostile` runs it on a release
//! build.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measurement, for people to read"
)]

mod beside;
mod load;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use airlock_core::{Host, Origin, PluginRoot, RunContext, Surface};
use airlock_sandbox::{Sandbox, SandboxConfig};
use airlock_tests::{Attack, Corpus, Resident, attacks};

use beside::Beside;
use table::Row;

/// Times that each attack is made: the worst of them stands in the table.
const ROUNDS: usize = 3;

/// Resident memory that a second pass over all attacks may leave, in KiB: the first one fills the allocator's reserves, which
/// large compilations stretch, and a leak would go on.
const MAX_LEFT_KIB: u64 = 32 << 10;

fn main() -> ExitCode {
    // Cargo itself adds words that begin with a dash.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let problems = runtime.block_on(run(&words));
    for problem in &problems {
        println!("NOT WELL: {problem}");
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn run(words: &[String]) -> Vec<String> {
    let chosen = |attack: &Attack| {
        words.is_empty()
            || words.iter().any(|word| attack.title.contains(word.as_str()) || attack.plugin.contains(word))
    };
    let attacks: Vec<Attack> = attacks().into_iter().filter(chosen).collect();
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let corpus = Corpus::write(&attacks, &target.join("hostile-plugins"));
    let data = tempfile::tempdir().unwrap();
    let sandbox =
        Sandbox::new(SandboxConfig { cache: Some(data.path().join("cache")), ..SandboxConfig::default() })
            .unwrap();
    let good = good(&sandbox, target.join("plugins/echo")).await;

    let beside = Beside::start(&good);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let first = Resident::look();
    println!(
        "{} attacks, {} times each, beside {} good calls that never stop; {} MiB resident before\n",
        attacks.len(),
        ROUNDS,
        beside::AT_ONCE,
        first.now_kib >> 10
    );
    println!("{}", Row::HEADING);
    let mut problems = Vec::new();
    for attack in &attacks {
        let row = Row::measure(attack, &corpus, &sandbox, &beside).await;
        println!("{row}");
        problems.extend(row.problems);
    }
    let once = Resident::look();
    for attack in &attacks {
        corpus.attempt(attack, &sandbox).await;
    }
    let twice = Resident::look();
    let (said, disturbed) = beside.stop().await;
    println!("\n{said}");
    problems.extend(disturbed);
    let mebibytes = [first, once, twice].map(|resident| resident.now_kib >> 10);
    println!("MiB resident before, after all attacks, and after all once more: {mebibytes:?}");
    if twice.now_kib > once.now_kib + MAX_LEFT_KIB {
        problems.push(format!("a second pass left {} MiB of memory", (twice.now_kib - once.now_kib) >> 10));
    }
    if words.is_empty() || words.iter().any(|word| word == "load") {
        problems.extend(load::run(&sandbox, &good).await);
    }
    problems
}

/// A run that has the tool `echo`.
async fn good(sandbox: &Sandbox, path: PathBuf) -> Surface {
    assert!(path.is_dir(), "{} is missing: run `cargo xtask guests` first", path.display());
    let host = Host::builder()
        .sandbox(sandbox.clone())
        .load_patience(Duration::from_secs(100))
        .plugin_root(PluginRoot { path, origin: Origin::Config });
    host.build().await.unwrap().assemble(RunContext::new("good")).await
}
