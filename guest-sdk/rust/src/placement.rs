//! The lists of `plugin!` enter, the first mistake in them leaves as a sentence, while the plugin is compiled. Nothing here
//! is in a component.

use crate::Exposure;
use crate::FactoryEntry;
use crate::HandlerEntry;
use crate::ToolEntry;

/// The first mistake, if there is one. A constant function has no `String`, hence the array: room for every sentence
/// below with the longest names.
#[derive(Debug, Clone, Copy)]
pub struct Mistake {
    bytes: [u8; 512],
    length: usize,
}

impl Mistake {
    const NONE: Self = Self { bytes: [0; 512], length: 0 };

    /// Whether there is one.
    pub const fn is_there(&self) -> bool {
        self.length > 0
    }

    /// What it is, and how to mend it.
    pub const fn text(&self) -> &str {
        let (text, _) = self.bytes.split_at(self.length);
        match core::str::from_utf8(text) {
            Ok(text) => text,
            Err(_) => "a tool or a handler is listed in the wrong place",
        }
    }

    /// The sentence that these parts make; a part for which there is no room is left out.
    #[expect(clippy::indexing_slicing, reason = "a constant function has neither iterators nor `get`")]
    const fn of(parts: &[&str]) -> Self {
        let mut mistake = Self::NONE;
        let mut next = 0;
        while next < parts.len() {
            let part = parts[next].as_bytes();
            let mut position = 0;
            while position < part.len() && mistake.length + part.len() - position <= mistake.bytes.len() {
                mistake.bytes[mistake.length] = part[position];
                mistake.length += 1;
                position += 1;
            }
            next += 1;
        }
        mistake
    }
}

/// Looks for the first tool or handler that stands where it cannot.
pub const fn mistake(tools: &[ToolEntry], factories: &[FactoryEntry], handlers: &[HandlerEntry]) -> Mistake {
    let mistake = mistake_of_tools(tools, factories);
    if mistake.is_there() { mistake } else { mistake_of_handlers(handlers) }
}

/// A handler that is listed twice would run twice. Two of one name on one hook are taken for that.
#[expect(clippy::indexing_slicing, reason = "a constant function has neither iterators nor `get`")]
const fn mistake_of_handlers(handlers: &[HandlerEntry]) -> Mistake {
    let mut index = 0;
    while index < handlers.len() {
        let mut earlier = 0;
        while earlier < index {
            let (one, other) = (&handlers[earlier], &handlers[index]);
            let same_hook = one.hook() as u8 == other.hook() as u8;
            if same_hook && is_equal(one.name().as_bytes(), other.name().as_bytes()) {
                return Mistake::of(&[
                    "`hooks` lists `",
                    one.name(),
                    "` for `",
                    one.hook().as_str(),
                    "` twice: list it once, or give one of two functions another name",
                ]);
            }
            earlier += 1;
        }
        index += 1;
    }
    Mistake::NONE
}

#[expect(clippy::indexing_slicing, reason = "a constant function has neither iterators nor `get`")]
const fn mistake_of_tools(tools: &[ToolEntry], factories: &[FactoryEntry]) -> Mistake {
    let mut index = 0;
    while index < tools.len() {
        let tool = &tools[index];
        if tool.needs_binding() {
            return Mistake::of(&[
                "`",
                tool.name(),
                "` takes a binding, which only a factory gives: take it out of `tools` and list its factory in `factories`",
            ]);
        }
        if stands_in(tools, tool.name(), index) {
            return Mistake::of(&[
                "two tools of this plugin have the name `",
                tool.name(),
                "`: give one of them another with `#[tool(name = \"…\")]`",
            ]);
        }
        index += 1;
    }
    let mut index = 0;
    while index < factories.len() {
        let mistake = mistake_of_factory(tools, factories, index);
        if mistake.is_there() {
            return mistake;
        }
        index += 1;
    }
    Mistake::NONE
}

#[expect(clippy::indexing_slicing, reason = "a constant function has neither iterators nor `get`")]
const fn mistake_of_factory(tools: &[ToolEntry], factories: &[FactoryEntry], index: usize) -> Mistake {
    let factory = &factories[index];
    let own = factory.tools();
    let mut position = 0;
    while position < own.len() {
        let name = own[position].name();
        if stands_in(tools, name, tools.len()) {
            return Mistake::of(&[
                "`",
                name,
                "` is listed in `tools` and by the factory `",
                factory.name(),
                "`: it is there for every run or made for each, so take it out of one",
            ]);
        }
        if stands_in(own, name, position) {
            return Mistake::of(&[
                "the factory `",
                factory.name(),
                "` lists `",
                name,
                "` twice: list it once",
            ]);
        }
        let mut earlier = 0;
        while earlier < index {
            if stands_in(factories[earlier].tools(), name, factories[earlier].tools().len()) {
                return Mistake::of(&[
                    "`",
                    name,
                    "` is listed by the factories `",
                    factories[earlier].name(),
                    "` and `",
                    factory.name(),
                    "`: a tool has one factory",
                ]);
            }
            earlier += 1;
        }
        if matches!(own[position].exposure(), Exposure::Optional)
            && !matches!(factory.exposure(), Exposure::Optional)
        {
            return Mistake::of(&[
                "`",
                name,
                "` is optional and its factory `",
                factory.name(),
                "` is not: the factory decides for all of its tools, so write `optional` in `#[factory(…)]`",
            ]);
        }
        position += 1;
    }
    Mistake::NONE
}

/// Whether one of the first `end` tools has this name.
#[expect(clippy::indexing_slicing, reason = "a constant function has neither iterators nor `get`")]
const fn stands_in(tools: &[ToolEntry], name: &str, end: usize) -> bool {
    let mut index = 0;
    while index < end {
        if is_equal(tools[index].name().as_bytes(), name.as_bytes()) {
            return true;
        }
        index += 1;
    }
    false
}

#[expect(clippy::indexing_slicing, reason = "a constant function has neither iterators nor `get`")]
const fn is_equal(left: &[u8], right: &[u8]) -> bool {
    let mut position = 0;
    while position < left.len() && position < right.len() && left[position] == right[position] {
        position += 1;
    }
    position == left.len() && position == right.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::*;

    #[binding]
    struct Room {
        room: u8,
    }

    /// Walks.
    #[tool]
    fn walk() -> &'static str {
        "walked"
    }

    /// Also walks.
    #[tool(name = "walk", optional)]
    fn stroll() -> &'static str {
        "strolled"
    }

    /// Enters.
    #[tool]
    fn enter(#[bound] room: Room) -> String {
        room.room.to_string()
    }

    #[factory(tools = [walk, enter])]
    fn ways() -> Option<BoundTool> {
        None
    }

    #[factory(tools = [enter])]
    fn doors() -> Option<BoundTool> {
        None
    }

    #[factory(tools = [stroll])]
    fn parks() -> Option<BoundTool> {
        None
    }

    #[factory(tools = [walk, stroll], optional)]
    fn paths() -> Option<BoundTool> {
        None
    }

    const WALK: ToolEntry = ToolEntry::of::<walk>();
    const WAYS: FactoryEntry = FactoryEntry::of::<ways>();

    #[track_caller]
    fn check(tools: &[ToolEntry], factories: &[FactoryEntry], expected: &str) {
        assert_eq!(mistake(tools, factories, &[]).text(), expected);
    }

    #[hook(host_start)]
    fn noted() {}

    #[test]
    fn a_handler_runs_once() {
        const NOTED: HandlerEntry = HandlerEntry::of::<noted>();
        assert_eq!(mistake(&[], &[], &[NOTED]).text(), "");
        assert_eq!(
            mistake(&[], &[], &[NOTED, NOTED]).text(),
            "`hooks` lists `noted` for `host-start` twice: list it once, or give one of two functions another name"
        );
    }

    #[test]
    fn every_tool_has_one_place() {
        check(&[], &[], "");
        check(&[WALK], &[FactoryEntry::of::<doors>()], "");
        check(&[], &[WAYS], "");
    }

    #[test]
    fn a_second_place_is_named() {
        check(
            &[WALK, ToolEntry::of::<stroll>()],
            &[],
            "two tools of this plugin have the name `walk`: give one of them another with `#[tool(name = \"…\")]`",
        );
        check(
            &[WALK],
            &[WAYS],
            "`walk` is listed in `tools` and by the factory `ways`: it is there for every run or made for each, so take it out of one",
        );
        check(
            &[],
            &[WAYS, FactoryEntry::of::<doors>()],
            "`enter` is listed by the factories `ways` and `doors`: a tool has one factory",
        );
        check(&[], &[FactoryEntry::of::<paths>()], "the factory `paths` lists `walk` twice: list it once");
    }

    #[test]
    fn a_place_that_does_not_suit_is_named() {
        check(
            &[ToolEntry::of::<enter>()],
            &[],
            "`enter` takes a binding, which only a factory gives: take it out of `tools` and list its factory in `factories`",
        );
        check(
            &[],
            &[FactoryEntry::of::<parks>()],
            "`walk` is optional and its factory `parks` is not: the factory decides for all of its tools, so write `optional` in `#[factory(…)]`",
        );
    }
}
