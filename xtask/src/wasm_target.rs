//! Provides a toolchain that builds for `wasm32-wasip2`: whatever the machine has enters, a `cargo build` command that
//! works leaves. It installs what is missing, and never replaces anything.

use std::path::Path;
use std::path::PathBuf;
use std::process::Command;

use crate::debian;
use crate::process;
use crate::process::Result;

const TARGET: &str = "wasm32-wasip2";

/// What builds guests.
pub(crate) enum WasmTarget {
    /// The default toolchain has the target's standard library.
    Default,
    /// Debian's compiler builds the standard library from source; the linker is the default toolchain's.
    Debian {
        /// The folder that holds `wasm-component-ld` and `gcc-ld`.
        linkers: PathBuf,
    },
}

/// Finds or installs a toolchain.
///
/// # Errors
///
/// None of the ways works here; the text says what to install.
pub(crate) fn provide() -> Result<WasmTarget> {
    if has_target() {
        return Ok(WasmTarget::Default);
    }
    eprintln!("the target {TARGET} is missing: adding it with rustup");
    let rustup = process::run(Command::new("rustup").args(["target", "add", TARGET]));
    if rustup.is_ok() && has_target() {
        return Ok(WasmTarget::Default);
    }
    eprintln!("that did not work: trying Debian's packages");
    debian().map_err(|reason| {
        format!(
            "nothing here can build for {TARGET}: {reason}\n\
             install the target with `rustup target add {TARGET}`, then run this again"
        )
    })
}

/// The fallback: Debian's compiler, which can build the standard library for the target from source.
///
/// # Errors
///
/// The machine is not Debian, the user is not root, or a part is missing.
pub(crate) fn debian() -> Result<WasmTarget> {
    const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "wasi-libc"];
    debian::install(&PACKAGES)?;
    let linkers = default_linkers()?;
    for part in ["wasm-component-ld", "gcc-ld/wasm-ld"] {
        if !linkers.join(part).exists() {
            return Err(format!("the default toolchain has no `{part}` in {}", linkers.display()));
        }
    }
    Ok(WasmTarget::Debian { linkers })
}

impl WasmTarget {
    /// `cargo build` for the target in `folder`, in release mode, exactly as its `Cargo.lock` says.
    ///
    /// # Errors
    ///
    /// The search path of this process cannot be extended.
    pub(crate) fn build(&self, folder: &Path, target_folder: &Path) -> Result<Command> {
        let mut command = match self {
            Self::Default => Command::new("cargo"),
            Self::Debian { .. } => Command::new("/usr/bin/cargo"),
        };
        command.current_dir(folder);
        command
            .args(["build", "--release", "--locked", "--target", TARGET, "--target-dir"])
            .arg(target_folder);
        if let Self::Debian { linkers } = self {
            // The flags below win only where no general ones are set.
            command.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS").env_remove("RUSTC_WRAPPER");
            command.env("RUSTC", "/usr/bin/rustc");
            // Building the standard library is an unstable feature, which this variable allows.
            command.env("RUSTC_BOOTSTRAP", "1").arg("-Zbuild-std=std,panic_abort");
            // The SDK asks for the host's compiler; guest code itself is content with Debian's.
            command.arg("--ignore-rust-version");
            command.env(
                "CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS",
                "-Clink-self-contained=no -L/usr/lib/wasm32-wasi",
            );
            command.env("CARGO_TARGET_WASM32_WASIP2_LINKER", linkers.join("wasm-component-ld"));
            let search = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(linkers.join("gcc-ld")).chain(std::env::split_paths(&search));
            let search = std::env::join_paths(folders)
                .map_err(|error| format!("cannot add {} to PATH: {error}", linkers.display()))?;
            command.env("PATH", search);
        }
        Ok(command)
    }

    /// The folder in which [`build`](Self::build) leaves components.
    pub(crate) fn components(target_folder: &Path) -> PathBuf {
        target_folder.join(TARGET).join("release")
    }
}

fn has_target() -> bool {
    process::output(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]))
        .is_ok_and(|folder| Path::new(folder.trim()).exists())
}

fn default_linkers() -> Result<PathBuf> {
    let sysroot = process::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let version = process::output(Command::new("rustc").arg("-vV"))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or("`rustc -vV` does not name its host; is it a Rust compiler?")?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib").join(host).join("bin"))
}
