//! Many calls: the ten-thousandth is like the first, and nothing of them stays in memory.

use airlock_core::CallKind;
use futures_util::stream::{self, StreamExt as _};

use crate::support::{call, surface};

/// Calls in all, and at once.
const CALLS: usize = 10_000;
const AT_ONCE: usize = 64;

/// Growth of resident memory that is still flat: the allocator's own reserves, with room for a busy machine.
const MAX_GROWTH_KIB: u64 = 16 * 1_024;

/// Memory of this process that is really there.
pub(crate) fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_calls_all_complete_and_leave_no_memory_behind() {
    let surface = surface(&["echo", "workflow", "trap"]).await;
    let batch = async |calls: usize| {
        stream::iter(0..calls)
            .map(|number| {
                let surface = surface.clone();
                async move {
                    match number % 10 {
                        9 => call(&surface, "trap_now", "{}").await.kind == CallKind::Trapped,
                        5..9 => {
                            let arguments = r#"{"pipeline": "slug", "text": "A Title, With Words"}"#;
                            call(&surface, "workflow_tool", arguments).await.kind == CallKind::Completed
                        }
                        _ => call(&surface, "echo", r#"{"text": "again"}"#).await.kind == CallKind::Completed,
                    }
                }
            })
            .buffer_unordered(AT_ONCE)
            .filter(|as_expected| std::future::ready(!as_expected))
            .count()
            .await
    };
    assert_eq!(batch(CALLS / 10).await, 0, "warming up");
    let before = resident_kib();
    assert_eq!(batch(CALLS).await, 0, "every call ends as it should");
    let growth = resident_kib().saturating_sub(before);
    eprintln!("resident memory grew by {growth} KiB over {CALLS} calls, {AT_ONCE} at once");
    assert!(growth <= MAX_GROWTH_KIB, "resident memory grew by {growth} KiB");
}
