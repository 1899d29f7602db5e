//! `guests`: the sources in `sample-plugins/` enter; packages as a plugin root holds them leave in `target/plugins/` and
//! `target/hostile-plugins/`. It never touches a file that is up to date, so that caches keyed by it stay valid.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;

use crate::process;
use crate::process::Result;
use crate::wasm_target;
use crate::wasm_target::WasmTarget;

const MANIFEST: &str = "airlock.plugin.json";

/// The folder of a sample plugin's skills, if it carries some.
const SKILLS: &str = "skills";

/// The first bytes of a component; a core module has another version.
const COMPONENT: [u8; 8] = [0x00, b'a', b's', b'm', 0x0d, 0x00, 0x01, 0x00];

/// Which toolchain builds.
#[derive(Clone, Copy)]
pub(crate) enum Toolchain {
    /// The best one that the machine has or can get.
    Available,
    /// Debian's, even where a better one is there.
    Debian,
}

/// Builds all sample plugins and lays them out.
///
/// # Errors
///
/// No toolchain, a failing build, or a file that cannot be read or written.
pub(crate) fn build(toolchain: Toolchain) -> Result<()> {
    let target = match toolchain {
        Toolchain::Available => wasm_target::provide()?,
        Toolchain::Debian => wasm_target::debian()?,
    };
    let root = process::root();
    let sources = root.join("sample-plugins");
    let built = root.join("target/guests");
    let mut build = target.build(&sources, &built)?;
    // The first build takes a while and shows what it does; later ones speak only of what is wrong.
    if WasmTarget::components(&built).exists() {
        build.arg("--quiet");
    }
    process::run(&mut build)?;
    let components = WasmTarget::components(&built);
    lay_out(&sources, &components, &root.join("target/plugins"))?;
    lay_out(&sources.join("hostile"), &components, &root.join("target/hostile-plugins"))
}

/// Makes `plugins` hold one package for each plugin in `sources`, and nothing else.
fn lay_out(sources: &Path, components: &Path, plugins: &Path) -> Result<()> {
    let mut ids = BTreeSet::new();
    for source in folders(sources)? {
        let manifest_path = source.join(MANIFEST);
        if !manifest_path.exists() {
            continue;
        }
        let manifest = read(&manifest_path)?;
        let (id, component) =
            identity(&manifest).map_err(|error| format!("{}: {error}", manifest_path.display()))?;
        // Cargo names the file after the crate, and the crate is named like the plugin.
        let built = read(&components.join(format!("{}.wasm", id.replace('-', "_"))))?;
        if !built.starts_with(&COMPONENT) {
            return Err(format!("the build of `{id}` is not a component; check its crate type and target"));
        }
        let package = plugins.join(&id);
        fs::create_dir_all(&package)
            .map_err(|error| format!("cannot create {}: {error}", package.display()))?;
        // The component first: a manifest never names one that is not there.
        let changed =
            replace(&package.join(&component), &built)? | replace(&package.join(MANIFEST), &manifest)?;
        let mut kept = BTreeSet::from([component, MANIFEST.to_owned()]);
        let skills = source.join(SKILLS);
        let carries = skills.is_dir() && {
            kept.insert(SKILLS.to_owned());
            mirror(&skills, &package.join(SKILLS))?
        };
        let removed = remove_others(&package, &kept)?;
        if changed || carries || removed {
            println!("updated {}", package.display());
        }
        ids.insert(id);
    }
    remove_others(plugins, &ids).map(drop)
}

/// Makes a folder have what another has. Says whether anything was different.
fn mirror(from: &Path, to: &Path) -> Result<bool> {
    fs::create_dir_all(to).map_err(|error| format!("cannot create {}: {error}", to.display()))?;
    let (mut names, mut changed) = (BTreeSet::new(), false);
    for path in entries(from)? {
        let name = path.file_name().unwrap_or_default();
        let target = to.join(name);
        changed |= if path.is_dir() { mirror(&path, &target)? } else { replace(&target, &read(&path)?)? };
        names.insert(name.to_string_lossy().into_owned());
    }
    Ok(changed | remove_others(to, &names)?)
}

/// The plugin's id and the name of its component.
fn identity(manifest: &[u8]) -> Result<(String, String)> {
    let manifest: Value = serde_json::from_slice(manifest).map_err(|error| format!("not JSON: {error}"))?;
    let text = |key: &str| {
        let value = manifest.get(key).and_then(Value::as_str);
        value.map(str::to_owned).ok_or_else(|| format!("`{key}` must be a text"))
    };
    Ok((text("id")?, text("component")?))
}

/// Replaces a file in one step, unless it holds `content` already. Says whether it did.
fn replace(path: &Path, content: &[u8]) -> Result<bool> {
    if fs::read(path).is_ok_and(|present| present == content) {
        return Ok(false);
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    fs::write(&temporary, content)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    Ok(true)
}

/// Removes everything in `folder` whose name is not in `names`. Says whether there was anything.
fn remove_others(folder: &Path, names: &BTreeSet<String>) -> Result<bool> {
    let mut removed = false;
    for path in entries(folder)? {
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| names.contains(name)) {
            continue;
        }
        let outcome = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        outcome.map_err(|error| format!("cannot remove {}: {error}", path.display()))?;
        println!("removed {}", path.display());
        removed = true;
    }
    Ok(removed)
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(folder)?.into_iter().filter(|path| path.is_dir()).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let list = || fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>();
    let mut paths = list().map_err(|error| format!("cannot list {}: {error}", folder.display()))?;
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_replaced_only_where_they_differ() {
        let folder = std::env::temp_dir().join(format!("xtask-guests-{}", std::process::id()));
        let (sources, components, plugins) =
            (folder.join("sources"), folder.join("built"), folder.join("plugins"));
        for made in
            [&sources.join("two-words"), &sources.join("no-plugin"), &components, &plugins.join("gone")]
        {
            fs::create_dir_all(made).unwrap();
        }
        fs::write(
            sources.join("two-words").join(MANIFEST),
            r#"{"id":"two-words","component":"two-words.wasm"}"#,
        )
        .unwrap();
        fs::write(components.join("two_words.wasm"), COMPONENT).unwrap();
        let skill = sources.join("two-words").join(SKILLS).join("a/SKILL.md");
        fs::create_dir_all(skill.parent().unwrap()).unwrap();
        fs::write(&skill, "a").unwrap();
        fs::create_dir_all(plugins.join("two-words").join(SKILLS).join("gone")).unwrap();
        let changed = |path: &str| fs::metadata(plugins.join(path)).unwrap().modified().unwrap();

        lay_out(&sources, &components, &plugins).unwrap();
        let package: Vec<_> =
            entries(&plugins).unwrap().iter().flat_map(|package| entries(package).unwrap()).collect();
        assert_eq!(
            package,
            [MANIFEST, SKILLS, "two-words.wasm"].map(|name| plugins.join("two-words").join(name))
        );
        let skills = entries(&plugins.join("two-words").join(SKILLS)).unwrap();
        assert_eq!(skills, [plugins.join("two-words").join(SKILLS).join("a")]);
        assert_eq!(fs::read(skills[0].join("SKILL.md")).unwrap(), b"a");
        let before = changed("two-words/two-words.wasm");
        lay_out(&sources, &components, &plugins).unwrap();
        assert_eq!(changed("two-words/two-words.wasm"), before);

        fs::write(components.join("two_words.wasm"), b"\0asm\x01\0\0\0").unwrap();
        assert!(lay_out(&sources, &components, &plugins).unwrap_err().contains("not a component"));
        fs::remove_dir_all(folder).unwrap();
    }
}
