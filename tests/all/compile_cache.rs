//! The compile cache: a second start compiles nothing, and damaged code is compiled again, never executed.

use std::fs;
use std::path::{Path, PathBuf};

use airlock_core::{Host, RunContext};
use airlock_sandbox::{Sandbox, SandboxConfig, Statistics};

use crate::support::{call, root, sample, text};

/// One start of a host over `echo`, with one call that must work.
async fn start(cache: &Path) -> Statistics {
    let sandbox =
        Sandbox::new(SandboxConfig { cache: Some(cache.to_owned()), ..SandboxConfig::default() }).unwrap();
    let host = Host::builder()
        .sandbox(sandbox.clone())
        .load_patience(std::time::Duration::from_secs(100))
        .plugin_root(root(sample("echo")))
        .build()
        .await
        .unwrap();
    let surface = host.assemble(RunContext::new("tester")).await;
    assert_eq!(text(&call(&surface, "echo", r#"{"text": "works"}"#).await), "works");
    sandbox.statistics()
}

fn artefacts(cache: &Path) -> Vec<PathBuf> {
    let engines = fs::read_dir(cache).unwrap().map(|entry| entry.unwrap().path());
    let files = engines.flat_map(|engine| fs::read_dir(engine).unwrap().map(|entry| entry.unwrap().path()));
    files.filter(|path| path.extension().is_some_and(|extension| extension == "cwasm")).collect()
}

#[tokio::test]
async fn a_second_start_compiles_nothing_and_a_flipped_byte_is_compiled_again() {
    let cache = tempfile::tempdir().unwrap();
    assert_eq!(
        start(cache.path()).await,
        Statistics { compiled: 1, from_cache: 0, damaged_cache_entries: 0 }
    );
    assert_eq!(
        start(cache.path()).await,
        Statistics { compiled: 0, from_cache: 1, damaged_cache_entries: 0 }
    );

    let [artefact] = &artefacts(cache.path())[..] else { panic!("one artefact is expected") };
    let whole = fs::read(artefact).unwrap();
    for place in [0, 100, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[place] ^= 0x10;
        fs::write(artefact, damaged).unwrap();
        let statistics = start(cache.path()).await;
        assert_eq!(
            statistics,
            Statistics { compiled: 1, from_cache: 0, damaged_cache_entries: 1 },
            "byte {place}"
        );
        assert_eq!(start(cache.path()).await.from_cache, 1);
    }
}

#[tokio::test]
async fn ten_starts_at_once_over_one_cache_all_work() {
    let cache = tempfile::tempdir().unwrap();
    futures_util::future::join_all((0..10).map(|_| start(cache.path()))).await;
    assert_eq!(start(cache.path()).await.from_cache, 1);
    assert_eq!(artefacts(cache.path()).len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn the_cache_belongs_to_one_user() {
    use std::os::unix::fs::PermissionsExt as _;
    let cache = tempfile::tempdir().unwrap();
    start(cache.path()).await;
    let [artefact] = &artefacts(cache.path())[..] else { panic!("one artefact is expected") };
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(artefact), mode(artefact.parent().unwrap())), (0o600, 0o700));
    fs::set_permissions(artefact.parent().unwrap(), fs::Permissions::from_mode(0o777)).unwrap();
    let refused =
        Sandbox::new(SandboxConfig { cache: Some(cache.path().to_owned()), ..SandboxConfig::default() });
    assert!(refused.unwrap_err().to_string().contains("0700"));
}
