//! A look over a component before it is compiled: what would take a compiler far more memory than the file has bytes is
//! refused. One pass, no recursion, nothing kept.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, Parser, Payload,
};

/// How deep components and modules may stand in each other. Composed guests have 2 or 3; each level costs the compiler
/// all levels above it.
const MAX_NESTING: usize = 16;

/// Size of one function's body in bytes: the largest of real guests, an interpreter's loop, have a few hundred thousand.
const MAX_BODY_BYTES: u64 = 4 << 20;

/// Locals of a function times its bytes: what the compiler's tables of live values grow with. An interpreter's loop has
/// a hundred or two of locals: JavaScript's engine stays below ten million.
const MAX_BODY_WORK: u64 = 100_000_000;

/// Bytes of definitions in components, counted as often as each is instantiated: the compiler writes them all out, and
/// keeps some forty bytes for each. Of real guests, JavaScript's and Python's have a few hundred thousand. Without a
/// bound, three kilobytes in which each component instantiates the one before it twice mean more than any machine has.
const MAX_WRITTEN_OUT_BYTES: u64 = 4 << 20;

/// One component that is being read.
#[derive(Default)]
struct Level {
    /// Bytes of its definitions, and of all that it instantiates.
    bytes: u64,
    /// The same of each component that it can name; `None` for one that it was handed, which could be any.
    components: Vec<Option<u64>>,
}

/// Says why the component is not compiled, if so.
pub(crate) fn scan(bytes: &[u8]) -> Result<(), String> {
    let mut levels = Vec::new();
    let mut is_in_module = false;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|error| error.to_string())?;
        match &payload {
            Payload::ModuleSection { .. } => {
                is_in_module = true;
                within_nesting(levels.len())?;
            }
            Payload::ComponentSection { .. } => {
                within_nesting(levels.len())?;
                levels.push(Level::default());
            }
            Payload::Version { .. } if levels.is_empty() => levels.push(Level::default()),
            Payload::End(_) if is_in_module => is_in_module = false,
            Payload::End(_) => {
                let ended = levels.pop().unwrap_or_default();
                if let Some(around) = levels.last_mut() {
                    around.components.push(Some(ended.bytes));
                }
            }
            Payload::CodeSectionEntry(body) => judge_body(body).map_err(|error| error.to_string())??,
            // Notes for tools, which no compiler writes out.
            Payload::CustomSection(_) => {}
            _ if is_in_module => {}
            definitions => write_out(definitions, &mut levels)?,
        }
    }
    Ok(())
}

fn within_nesting(levels: usize) -> Result<(), String> {
    if levels > MAX_NESTING {
        return Err(format!("components and modules stand in each other more than {MAX_NESTING} deep"));
    }
    Ok(())
}

fn judge_body(body: &wasmparser::FunctionBody<'_>) -> wasmparser::Result<Result<(), String>> {
    let size = body.range().len() as u64;
    let mut locals = 0_u64;
    for group in body.get_locals_reader()? {
        let (count, _) = group?;
        locals = locals.saturating_add(count.into());
    }
    Ok(if size > MAX_BODY_BYTES || size.saturating_mul(locals) > MAX_BODY_WORK {
        Err(format!("a function of {size} bytes and {locals} locals is too large to compile"))
    } else {
        Ok(())
    })
}

/// Adds a section of definitions to the component that it stands in, which is the last of `levels`.
fn write_out(section: &Payload<'_>, levels: &mut [Level]) -> Result<(), String> {
    let broken = |error: wasmparser::BinaryReaderError| error.to_string();
    let mut written_out = section.as_section().map_or(0, |(_, range)| range.len() as u64);
    let mut named = Vec::new();
    // Indices that lead nowhere are for the validator to name.
    let known = |levels: &[Level], up: usize, index: u32| {
        let level = levels.iter().rev().nth(up)?;
        level.components.get(usize::try_from(index).ok()?).copied()
    };
    match section {
        Payload::ComponentInstanceSection(instances) => {
            for instance in instances.clone() {
                let ComponentInstance::Instantiate { component_index, .. } = instance.map_err(broken)? else {
                    continue;
                };
                let Some(bytes) = known(levels, 0, component_index).flatten() else {
                    return Err("it instantiates a component that is not part of it".to_owned());
                };
                written_out = written_out.saturating_add(bytes);
            }
        }
        Payload::ComponentAliasSection(aliases) => {
            for alias in aliases.clone() {
                match alias.map_err(broken)? {
                    ComponentAlias::Outer { kind: ComponentOuterAliasKind::Component, count, index } => {
                        let up = usize::try_from(count).unwrap_or(usize::MAX);
                        named.push(known(levels, up, index).flatten());
                    }
                    ComponentAlias::InstanceExport { kind: ComponentExternalKind::Component, .. } => {
                        named.push(None);
                    }
                    _ => {}
                }
            }
        }
        Payload::ComponentImportSection(imports) => {
            for import in imports.clone() {
                if import.map_err(broken)?.ty.kind() == ComponentExternalKind::Component {
                    named.push(None);
                }
            }
        }
        Payload::ComponentExportSection(exports) => {
            for export in exports.clone() {
                let export = export.map_err(broken)?;
                if export.kind == ComponentExternalKind::Component {
                    named.push(known(levels, 0, export.index).flatten());
                }
            }
        }
        _ => {}
    }
    let Some(level) = levels.last_mut() else { return Ok(()) };
    level.components.extend(named);
    level.bytes = level.bytes.saturating_add(written_out);
    if level.bytes > MAX_WRITTEN_OUT_BYTES {
        return Err(format!(
            "its components, written out as often as they are instantiated, have more than {MAX_WRITTEN_OUT_BYTES} bytes"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_and_bodies_are_bounded() {
        let nested =
            |levels: usize| wat::parse_str("(component ".repeat(levels) + &")".repeat(levels)).unwrap();
        assert_eq!(scan(&nested(MAX_NESTING)), Ok(()));
        assert!(scan(&nested(MAX_NESTING + 2)).unwrap_err().contains("more than 16 deep"));
        let body = |locals: usize, blocks: usize| {
            let text = format!(
                "(component (core module (func (local {}) {})))",
                "i64 ".repeat(locals),
                "(block (local.set 0 (i64.const 1)))".repeat(blocks)
            );
            wat::parse_str(text).unwrap()
        };
        assert_eq!(scan(&body(100, 1_000)), Ok(()));
        assert!(scan(&body(2_000, 20_000)).unwrap_err().contains("too large to compile"));
    }

    /// Components of which each instantiates the one before it twice.
    fn doubling(levels: usize) -> Vec<u8> {
        let level = |level: usize| {
            let before = level - 1;
            format!(
                "(component $level{level} (alias outer 1 $level{before} (component $before))
                    (instance (instantiate $before)) (instance (instantiate $before)))"
            )
        };
        let levels: String = (1..=levels).map(level).collect();
        wat::parse_str(format!(
            "(component (component $level0 (core module $m) (core instance (instantiate $m))) {levels})"
        ))
        .unwrap()
    }

    #[test]
    fn what_instantiates_itself_out_of_measure_is_refused() {
        assert_eq!(scan(&doubling(10)), Ok(()));
        assert!(doubling(60).len() < 6_000);
        assert!(scan(&doubling(60)).unwrap_err().contains("written out as often as they are instantiated"));
        let exported = "(component (component $inner)
            (component $outer (alias outer 1 $inner (component $named)) (export \"again\" (component $named)))
            (instance $i (instantiate $outer)) (alias export $i \"again\" (component $found))
            (instance (instantiate $found)))";
        let handed = "(component (component $inner)
            (component $outer (import \"any\" (component $any)) (instance (instantiate $any)))
            (instance (instantiate $outer (with \"any\" (component $inner)))))";
        for text in [exported, handed] {
            let error = scan(&wat::parse_str(text).unwrap()).unwrap_err();
            assert!(error.contains("not part of it"), "{error}");
        }
        let own = "(component (component $inner) (export $same \"same\" (component $inner)) (instance (instantiate $same)))";
        assert_eq!(scan(&wat::parse_str(own).unwrap()), Ok(()));
    }
}
