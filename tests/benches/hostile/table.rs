//! One line of the table: an attack enters, is made a few times, and its line leaves with what was not as it should be.

use std::fmt;
use std::time::Duration;

use airlock_sandbox::Sandbox;
use airlock_tests::{Attack, Corpus, Resident};

use crate::ROUNDS;
use crate::beside::Beside;

/// What is known of one attack.
pub(crate) struct Row {
    title: &'static str,
    expected: &'static str,
    actual: &'static str,
    overshoot: Option<Duration>,
    resident_kib: u64,
    peak_kib: u64,
    slowest: Duration,
    /// What was not as it should be, in sentences.
    pub(crate) problems: Vec<String>,
}

impl Row {
    /// The first line: overshoot is past the plugin's limit, as its caller sees it; `peak` is above what was resident before.
    pub(crate) const HEADING: &'static str = "attack                                                   must end as         \
        ended as            overshoot  resident      peak  slowest good call";

    pub(crate) async fn measure(
        attack: &Attack,
        corpus: &Corpus,
        sandbox: &Sandbox,
        beside: &Beside,
    ) -> Self {
        let expected = attack.expected.as_str();
        let mut row = Self {
            title: attack.title,
            expected,
            actual: expected,
            overshoot: None,
            resident_kib: 0,
            peak_kib: 0,
            slowest: Duration::ZERO,
            problems: Vec::new(),
        };
        for _ in 0..ROUNDS {
            beside.slowest();
            let before = Resident::afresh();
            let attempt = corpus.attempt(attack, sandbox).await;
            let after = Resident::look();
            row.peak_kib = row.peak_kib.max(after.highest_kib.saturating_sub(before.now_kib));
            row.resident_kib = after.now_kib;
            row.slowest = row.slowest.max(beside.slowest());
            row.overshoot = row.overshoot.max(attempt.overshoot);
            if attempt.end != expected {
                row.actual = attempt.end;
                row.problems.push(format!(
                    "“{}” ended as {} and not as {expected}: {}",
                    attack.title, attempt.end, attempt.detail
                ));
            }
            row.problems.extend(attempt.blemish.map(|blemish| format!("“{}”: {blemish}", attack.title)));
        }
        row
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |duration: Duration| format!("{:.1} ms", duration.as_secs_f64() * 1e3);
        write!(
            formatter,
            "{:<56} {:<19} {:<19} {:>9} {:>5} MiB {:>5} MiB {:>10}{}",
            self.title,
            self.expected,
            self.actual,
            self.overshoot.map_or("-".to_owned(), milliseconds),
            self.resident_kib >> 10,
            self.peak_kib >> 10,
            milliseconds(self.slowest),
            if self.problems.is_empty() { "" } else { "  <-- NOT WELL" }
        )
    }
}
