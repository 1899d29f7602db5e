//! A mode that every hook has enters, the handler ends as its name says. Some of them never return.

use std::hint::black_box;
use std::time::Duration;

use airlock_plugin::bindings::airlock::plugin::hook_types::{
    GateVerdict, HookEvent, HookOutcome, PersistChange, ToolVerdict,
};
use airlock_plugin::bindings::airlock::plugin::types::ToolResult;

/// How the handler ends, if every hook has the mode.
pub(crate) fn all(mode: &str, event: &HookEvent) -> Option<Result<HookOutcome, String>> {
    Some(match mode {
        "pass" => Ok(HookOutcome::None),
        "error" => Err("the handler looked at the event and gave up".to_owned()),
        "long-error" => Err(long_text()),
        "lie" => Ok(lie(event)),
        "trap" => trap(),
        "panic" => panic(),
        "endless" => endless(),
        "sleep" => sleep(),
        "hog" => hog(),
        _ => return None,
    })
}

/// 1 MiB that would colour a terminal, ring its bell, turn the direction of what follows and hide a word.
pub(crate) fn long_text() -> String {
    let mut text = "\u{1b}[31mred\u{7} \u{202e}desrever \u{e0041}\u{200b} ".to_owned();
    text += &"A".repeat((1 << 20) - text.len());
    text
}

/// What only another hook's handler may answer.
fn lie(event: &HookEvent) -> HookOutcome {
    match event {
        HookEvent::BeforeToolCall(attempt) => {
            let result = ToolResult { content: Vec::new(), details: None };
            HookOutcome::Persist(PersistChange { params: attempt.params.clone(), result })
        }
        HookEvent::BeforePromptBuild(_) => HookOutcome::Gate(GateVerdict::Pass),
        _ => HookOutcome::Tool(ToolVerdict::Block("the call is over, and still".to_owned())),
    }
}

fn trap() -> ! {
    #[cfg(target_arch = "wasm32")]
    core::arch::wasm32::unreachable();
    #[cfg(not(target_arch = "wasm32"))]
    std::process::abort();
}

#[expect(clippy::panic, reason = "this is what the mode is for")]
fn panic() -> ! {
    panic!("the handler broke while it looked at the event")
}

fn endless() -> ! {
    let mut rounds = 0_u64;
    loop {
        rounds = black_box(rounds).wrapping_add(1);
    }
}

fn sleep() -> Result<HookOutcome, String> {
    // Longer than the longest time that an operator can give a handler.
    std::thread::sleep(Duration::from_secs(3600));
    Ok(HookOutcome::None)
}

fn hog() -> ! {
    let mut kept = Vec::new();
    loop {
        kept.push(black_box(vec![1_u8; 1 << 20]));
    }
}
