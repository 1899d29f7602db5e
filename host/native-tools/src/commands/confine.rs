//! What commands may reach enters; the thread that asks is held to it from then on, and so is every process that it starts.
//!
//! Landlock is the kernel's own: it needs no privilege, it cannot be undone, and children inherit it. It holds the calling
//! thread alone, so the host itself stays free. Elsewhere than on Linux there is nothing of the kind, and this says so.

#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use cap_std::fs::Dir;

use super::{CommandPolicy, Network};

/// What every command may read and run: programs, libraries and the system's configuration. Not `/proc`, which shows what
/// other processes run.
#[cfg(target_os = "linux")]
const SYSTEM: [&str; 8] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"];

/// Devices that hold nothing and say nothing about anybody.
#[cfg(target_os = "linux")]
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Why commands cannot be confined here, as the end of a sentence.
#[cfg(target_os = "linux")]
pub(crate) fn missing() -> Option<String> {
    use landlock::{ABI, Access as _, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _};
    let needed = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V3))
        .and_then(Ruleset::create);
    needed.err().map(|error| {
        format!("the kernel has no Landlock of Linux 6.2 or later, or it is switched off ({error})")
    })
}

/// Why commands cannot be confined here, as the end of a sentence.
#[cfg(not(target_os = "linux"))]
pub(crate) fn missing() -> Option<String> {
    Some("this system is not Linux and has no Landlock".to_owned())
}

/// Holds this thread to what `policy` allows, to `workspace` and to the temporary folder `scratch`.
#[cfg(target_os = "linux")]
pub(crate) fn confine_this_thread(
    policy: &CommandPolicy,
    workspace: &Dir,
    scratch: &Path,
) -> Result<(), String> {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, PathBeneath, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };
    // The newest that the crate knows: on an older kernel, what it does not have is left out.
    const NEWEST: ABI = ABI::V10;
    let confine = || -> Result<RulesetStatus, RulesetError> {
        let mut rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V3))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(NEWEST))?
            // Neither sockets without a path nor signals reach a process outside.
            .scope(Scope::from_all(NEWEST))?;
        if policy.network == Network::Refused {
            rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
        }
        let read = AccessFs::from_read(NEWEST);
        // A device in the workspace would be a way to the disk for a host that runs as root.
        let change = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let device = AccessFs::ReadFile | AccessFs::WriteFile;
        let system = SYSTEM.iter().map(Path::new);
        let status = rules
            .create()?
            .add_rules(path_beneath_rules(system.chain(policy.readable.iter().map(PathBuf::as_path)), read))?
            .add_rules(path_beneath_rules(DEVICES, device))?
            .add_rules(path_beneath_rules(&policy.writable, change))?
            .add_rules(path_beneath_rules([scratch], change))?
            // By its descriptor: the same folder that the file tools have, whatever its path leads to by now.
            .add_rule(PathBeneath::new(workspace.as_fd(), change))?
            .restrict_self()?;
        Ok(status.ruleset)
    };
    match confine() {
        Ok(RulesetStatus::NotEnforced) => Err("the kernel did not enforce Landlock".to_owned()),
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => Ok(()),
        Err(error) => Err(format!("Landlock refused its rules: {error}")),
    }
}

/// Holds this thread to what `policy` allows; here it cannot.
#[cfg(not(target_os = "linux"))]
pub(crate) fn confine_this_thread(
    policy: &CommandPolicy,
    workspace: &Dir,
    scratch: &Path,
) -> Result<(), String> {
    let _ = (policy, workspace, scratch, PathBuf::new(), Network::Refused);
    Err(missing().unwrap_or_default())
}
