//! Attacks by sample plugins: what an ordinary toolchain can make. Each row is a call of a plugin in
//! `sample-plugins/hostile`, whose page says what it does.

use airlock_core::CallKind;

use crate::attack::Attack;

/// A third of a second for a judge that does not come to an end.
const JUDGED: &str = "[plugins.entries.hooks]\nhook-timeouts = { before-tool-call = 300 }\n";

pub(crate) fn attacks() -> Vec<Attack> {
    let by = Attack::sample;
    let answer = |title, arguments, expected| by(title, "answers", "answer", arguments, expected);
    let judge =
        |title, arguments| by(title, "hooks", "hooked", arguments, CallKind::Blocked).with_settings(JUDGED);
    vec![
        by("computes for ever", "endless-loop", "spin_forever", "{}", CallKind::TimedOut),
        by(
            "computes past its budget",
            "fuel-burner",
            "burn_fuel",
            r#"{"rounds": 100000000}"#,
            CallKind::OutOfFuel,
        ),
        by("sleeps for a minute", "sleeper", "sleep", r#"{"milliseconds": 60000}"#, CallKind::TimedOut),
        by("allocates without end", "memory-hog", "hog_memory", "{}", CallKind::OutOfMemory),
        by("recurses without end", "recursion", "recurse", "{}", CallKind::Trapped),
        by("traps", "trap", "trap_now", "{}", CallKind::Trapped),
        by("panics", "panic", "panic_now", r#"{"reason": "the cable is loose"}"#, CallKind::Trapped),
        by("ends its process", "endings", "leave", "{}", CallKind::Trapped),
        by("answers 3 MiB", "output-flood", "flood_output", r#"{"mebibytes": 3}"#, CallKind::OutputTooLarge),
        by(
            "answers 40 MiB",
            "output-flood",
            "flood_output",
            r#"{"mebibytes": 40}"#,
            CallKind::OutputTooLarge,
        ),
        by("logs one line of 8 MiB", "hold-out", "huge_log", "{}", CallKind::OutputTooLarge),
        by(
            "prints 16 MiB and logs 4,001 lines",
            "chatter",
            "chatter",
            r#"{"mebibytes": 8}"#,
            CallKind::Completed,
        ),
        by("registers during a call", "late-register", "late_register", "{}", CallKind::Completed),
        by("breaks its output schema", "endings", "lie", "{}", CallKind::InvalidOutput),
        judge("a judge that computes for ever", r#"{"before": "endless"}"#),
        judge("a judge that sleeps", r#"{"before": "sleep"}"#),
        judge("a judge that allocates without end", r#"{"before": "hog"}"#),
        judge("a judge that traps", r#"{"before": "trap"}"#),
        judge("a judge that answers for another hook", r#"{"before": "lie"}"#),
        judge("a judge that hides 1 MiB in its reason", r#"{"before": "long-block"}"#),
        answer("hides characters in its text", r#"{"mode": "hidden-text"}"#, CallKind::Completed),
        answer("hides characters in details", r#"{"mode": "hidden-details"}"#, CallKind::Completed),
        answer("hides characters in a failure", r#"{"mode": "hidden-failure"}"#, CallKind::Failed),
        answer("hides characters in a refusal", r#"{"mode": "hidden-refusal"}"#, CallKind::InvalidParams),
        answer("hides characters in an excuse", r#"{"mode": "hidden-excuse"}"#, CallKind::Unavailable),
        answer("hides characters in a panic", r#"{"mode": "hidden-panic"}"#, CallKind::Trapped),
        answer("hides characters in its log", r#"{"mode": "hidden-log"}"#, CallKind::Completed),
        answer(
            "hides characters in a media type",
            r#"{"mode": "hidden-media-type"}"#,
            CallKind::InvalidOutput,
        ),
        answer("fails with 2 MiB of text", r#"{"mode": "long-failure"}"#, CallKind::Failed),
        answer("fails with details that are no JSON", r#"{"mode": "garbled-failure"}"#, CallKind::Failed),
        answer("answers details that are no JSON", r#"{"mode": "garbled-details"}"#, CallKind::InvalidOutput),
        answer("answers details of 100,000 levels", r#"{"mode": "deep-details"}"#, CallKind::InvalidOutput),
        answer("answers details of 2 MiB", r#"{"mode": "huge-details"}"#, CallKind::OutputTooLarge),
        answer("answers a number of 100,000 digits", r#"{"mode": "long-number"}"#, CallKind::Completed),
        answer("answers a picture of 2 MiB", r#"{"mode": "huge-picture"}"#, CallKind::OutputTooLarge),
        answer("answers 50,000 empty pieces", r#"{"mode": "many-pieces"}"#, CallKind::OutputTooLarge),
        answer("answers nothing", r#"{"mode": "nothing"}"#, CallKind::Completed),
        by("answers details that take long to check", "answers", "costly", "{}", CallKind::Completed),
    ]
}
