//! A look over a component before it is compiled: what would take a compiler far more memory than the file has bytes is
//! refused. One pass, no recursion, nothing kept.

use wasmparser::{Parser, Payload};

/// How deep components and modules may stand in each other. Composed guests have 2 or 3; each level costs the compiler
/// all levels above it.
const MAX_NESTING: usize = 16;

/// Size of one function's body in bytes: the largest of real guests, an interpreter's loop, have a few hundred thousand.
const MAX_BODY_BYTES: u64 = 4 << 20;

/// Locals of a function times its bytes: what the compiler's tables of live values grow with. An interpreter's loop has
/// a hundred or two of locals: JavaScript's engine stays below ten million.
const MAX_BODY_WORK: u64 = 100_000_000;

/// Says why the component is not compiled, if so.
pub(crate) fn scan(bytes: &[u8]) -> Result<(), String> {
    let mut nesting = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(|error| error.to_string())? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => {
                nesting += 1;
                if nesting > MAX_NESTING {
                    return Err(format!(
                        "components and modules stand in each other more than {MAX_NESTING} deep"
                    ));
                }
            }
            Payload::End(_) => nesting = nesting.saturating_sub(1),
            Payload::CodeSectionEntry(body) => {
                let size = body.range().len() as u64;
                let reader = body.get_locals_reader().map_err(|error| error.to_string())?;
                let mut locals = 0_u64;
                for group in reader {
                    let (count, _) = group.map_err(|error| error.to_string())?;
                    locals = locals.saturating_add(count.into());
                }
                if size > MAX_BODY_BYTES || size.saturating_mul(locals) > MAX_BODY_WORK {
                    return Err(format!(
                        "a function of {size} bytes and {locals} locals is too large to compile"
                    ));
                }
            }
            _ => {}
        }
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
}
