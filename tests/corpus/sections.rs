//! More core modules and instances for a component that is already encoded: its bytes and WebAssembly text enter, longer
//! bytes leave. A component's sections may follow in any order, so what is appended runs after what was there.

/// The component with these items appended, which may name no item of the component itself.
pub(crate) fn appended(mut component: Vec<u8>, items: &str) -> Vec<u8> {
    let modules = sections(&component).filter(|(id, _)| *id == MODULE).count();
    // Empty modules in front give the new items the numbers that they have behind the component's own.
    let text = format!("(component {} {items})", "(core module)".repeat(modules));
    let addition = wat::parse_str(&text).unwrap_or_else(|error| panic!("{error}"));
    let kept = sections(&addition).skip(modules).flat_map(|(_, bytes)| bytes.to_vec());
    component.extend(kept);
    component
}

/// Number of a core module's section.
const MODULE: u8 = 1;

/// A component's sections, with their headers.
fn sections(component: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = &component[8..];
    std::iter::from_fn(move || {
        let id = *rest.first()?;
        let (mut length, mut at) = (0_usize, 1);
        loop {
            let byte = rest[at];
            length |= usize::from(byte & 0x7f) << (7 * (at - 1));
            at += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (section, others) = rest.split_at(at + length);
        rest = others;
        Some((id, section))
    })
}
