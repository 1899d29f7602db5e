//! The mark of a command enters; what it started and what left its group is killed, as far as it can be found.
//!
//! A process leaves its group by `setsid`, or because a shell with job control gave it another. It still has the
//! environment that it was started with, and in it a mark that no other command has. One that also clears its
//! environment is not found. Only Linux shows environments; elsewhere this does nothing.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

/// The variable that holds the mark.
pub(super) const VARIABLE: &str = "AIRLOCK_COMMAND";

/// How often it is looked: a process may start another while it is looked for, and rarely does twice.
#[cfg(target_os = "linux")]
const MAX_ROUNDS: usize = 8;

/// How much of an environment is read, in bytes: the mark is among the first variables, unless a program moved it.
#[cfg(target_os = "linux")]
const MAX_ENVIRONMENT_BYTES: u64 = 256 * 1024;

/// A mark that no other command has, of this host or another.
pub(super) fn mark() -> String {
    // The keys of a hash map are random, and the standard library has no other source of that.
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

/// Kills every process that has `mark`.
#[cfg(target_os = "linux")]
pub(super) fn kill(mark: &str) {
    let wanted = format!("{VARIABLE}={mark}");
    for _ in 0..MAX_ROUNDS {
        let Ok(processes) = std::fs::read_dir("/proc") else { return };
        let found = processes
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|&process| kill_if_marked(process, wanted.as_bytes()).unwrap_or(false))
            .count();
        if found == 0 {
            return;
        }
    }
}

/// Kills a process if it has the mark, and says whether it has. It is held by a descriptor meanwhile, so that no other
/// can take its number between the look and the kill.
#[cfg(target_os = "linux")]
fn kill_if_marked(process: i32, wanted: &[u8]) -> Option<bool> {
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
    use std::io::Read as _;
    let held = pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()?;
    let mut environment = Vec::new();
    let file = std::fs::File::open(format!("/proc/{process}/environ")).ok()?;
    file.take(MAX_ENVIRONMENT_BYTES).read_to_end(&mut environment).ok()?;
    let is_marked = environment.split(|&byte| byte == 0).any(|variable| variable == wanted);
    Some(is_marked && pidfd_send_signal(held, Signal::KILL).is_ok())
}

/// Kills nothing: there is no way to find it.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill(mark: &str) {
    let _ = mark;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_different() {
        assert_ne!(mark(), mark());
        assert_eq!(mark().len(), 32);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_what_has_the_mark_is_killed() {
        let (one, other) = (mark(), mark());
        let start =
            |mark: &str| std::process::Command::new("sleep").arg("1000").env(VARIABLE, mark).spawn().unwrap();
        let (mut marked, mut unmarked) = (start(&one), start(&other));
        kill(&one);
        assert!(!marked.wait().unwrap().success());
        assert!(unmarked.try_wait().unwrap().is_none());
        unmarked.kill().unwrap();
        unmarked.wait().unwrap();
    }
}
