//! What this process holds, read from the kernel: resident memory now and at its highest, and open files. Linux only, as the
//! numbers are.

use std::fs;

/// A look at resident memory, in KiB.
#[derive(Debug, Clone, Copy)]
pub struct Resident {
    /// Now.
    pub now_kib: u64,
    /// The most since the highest was forgotten.
    pub highest_kib: u64,
}

impl Resident {
    /// Looks.
    pub fn look() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let value = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse().unwrap()
        };
        Self { now_kib: value("VmRSS:"), highest_kib: value("VmHWM:") }
    }

    /// Forgets the highest, and looks.
    pub fn afresh() -> Self {
        // Where the kernel does not allow it, the highest stays what it was since the start: never too low.
        let _ = fs::write("/proc/self/clear_refs", "5");
        Self::look()
    }
}

/// Open files of this process, without the one that lists them.
pub fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count() - 1
}
