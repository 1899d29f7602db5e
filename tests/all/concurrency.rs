//! Tools that say that their calls must not run side by side.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use airlock_core::{
    Call, CallKind, Concurrency, Host, NativeCall, NativeTool, RunContext, Surface, ToolDescriptor,
    ToolError, ToolMetadata, ToolResult,
};
use futures_util::future::{BoxFuture, join_all};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::scripted::{Scripted, descriptor};
use crate::support::end;

/// Stays for a while, and counts who is there at the same time.
#[derive(Debug, Clone, Default)]
struct Room {
    concurrency: Concurrency,
    /// By value of `at`: how many are there, and the most that there were.
    present: Arc<Mutex<BTreeMap<String, (usize, usize)>>>,
    /// In which order they came in.
    order: Arc<Mutex<Vec<u64>>>,
}

impl NativeTool for Room {
    fn descriptor(&self) -> ToolDescriptor {
        let parameters = json!({ "properties": {
            "at": { "type": "string" }, "ms": { "type": "integer" }, "n": { "type": "integer" },
        } });
        ToolDescriptor { parameters: parameters.to_string(), ..descriptor("room") }
    }

    fn metadata(&self) -> ToolMetadata {
        ToolMetadata { concurrency: self.concurrency.clone(), ..ToolMetadata::default() }
    }

    fn execute(&self, call: NativeCall) -> BoxFuture<'_, Result<ToolResult, ToolError>> {
        Box::pin(async move {
            let at = call.arguments["at"].as_str().unwrap_or_default().to_owned();
            self.order.lock().unwrap().extend(call.arguments["n"].as_u64());
            let count = |by: isize| {
                let mut present = self.present.lock().unwrap();
                let (now, most) = present.entry(at.clone()).or_default();
                *now = now.checked_add_signed(by).unwrap();
                *most = (*most).max(*now);
            };
            count(1);
            tokio::time::sleep(Duration::from_millis(call.arguments["ms"].as_u64().unwrap_or(20))).await;
            count(-1);
            Ok(ToolResult::text("left"))
        })
    }
}

impl Room {
    fn with(concurrency: Concurrency) -> Self {
        Self { concurrency, ..Self::default() }
    }

    async fn surface(&self) -> Surface {
        let host = Host::builder().sandbox(Scripted).native_tool(self.clone()).build().await.unwrap();
        host.assemble(RunContext::new("writer")).await
    }

    fn most(&self) -> Vec<usize> {
        self.present.lock().unwrap().values().map(|(_, most)| *most).collect()
    }
}

fn key(pointer: &str) -> Concurrency {
    serde_json::from_value(json!({ "key": pointer })).unwrap()
}

#[tokio::test(start_paused = true)]
async fn calls_run_side_by_side_only_as_far_as_their_tool_says() {
    for (concurrency, most) in [
        (Concurrency::Parallel, [4, 4]),
        (key("/at"), [1, 1]),
        (key("/nothing"), [1, 1]),
        (Concurrency::Exclusive, [1, 1]),
    ] {
        let room = Room::with(concurrency.clone());
        let surface = room.surface().await;
        let began = tokio::time::Instant::now();
        let calls = (0..8).map(|n| {
            let at = if n % 2 == 0 { "a" } else { "b" };
            surface.call(Call::new("room", json!({ "at": at, "n": n })))
        });
        for outcome in join_all(calls).await {
            assert_eq!(outcome.kind, CallKind::Completed, "{}", end(&outcome));
        }
        assert_eq!(room.most(), most, "{concurrency:?}");
        // Turns come in the order of asking, and equal values wait for one another only.
        assert_eq!(*room.order.lock().unwrap(), (0..8).collect::<Vec<u64>>(), "{concurrency:?}");
        let rounds = match &concurrency {
            Concurrency::Parallel => 1,
            Concurrency::Key(pointer) if pointer.as_str() == "/at" => 4,
            _ => 8,
        };
        assert_eq!(began.elapsed().as_millis() / 20, rounds, "{concurrency:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_is_told_so_and_who_leaves_holds_up_nobody() {
    let room = Room::with(Concurrency::Exclusive);
    let surface = room.surface().await;
    let token = CancellationToken::new();
    let (long, cancelled, late, next) = tokio::join!(
        surface.call(Call::new("room", json!({ "ms": 40_000 }))),
        surface.call(Call::new("room", json!({ "n": 1 })).cancellation(token.clone())),
        surface.call(Call::new("room", json!({ "n": 2 }))),
        async {
            token.cancel();
            tokio::time::sleep(Duration::from_secs(20)).await;
            surface.call(Call::new("room", json!({ "n": 3 }))).await
        },
    );
    assert_eq!(long.kind, CallKind::Completed);
    assert_eq!(cancelled.kind, CallKind::Cancelled);
    assert_eq!(late.kind, CallKind::Busy);
    let said = late.error.unwrap().message;
    assert!(said.contains("its calls run one at a time, and none ended within 30 s"), "{said}");
    assert_eq!(next.kind, CallKind::Completed, "it waited 20 s");
    assert_eq!(*room.order.lock().unwrap(), [3]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_given_back_by_a_call_that_nobody_awaits_any_more() {
    let room = Room::with(Concurrency::Exclusive);
    let surface = room.surface().await;
    for _ in 0..50 {
        let dropped = surface.call(Call::new("room", json!({ "ms": 1_000 })));
        assert!(tokio::time::timeout(Duration::from_millis(5), dropped).await.is_err());
    }
    assert_eq!(surface.call(Call::new("room", json!({ "n": 1 }))).await.kind, CallKind::Completed);
}
