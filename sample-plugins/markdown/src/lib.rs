//! A Markdown text enters; its outline, its table of contents or its dead links leave. It never reads a file: which ones
//! exist is what the caller says.

use airlock_plugin::prelude::*;

mod anchor;
mod document;
mod link;

use crate::document::Document;

#[arguments]
struct Text {
    /// The Markdown text.
    text: String,
}

#[arguments]
struct ContentsOf {
    /// The Markdown text.
    text: String,
    /// The deepest heading level to list, from 1 to 6.
    #[serde(default = "deepest")]
    #[schemars(range(min = 1, max = 6))]
    max_level: u8,
}

fn deepest() -> u8 {
    6
}

#[arguments]
struct LinksOf {
    /// The Markdown text.
    text: String,
    /// The paths of all files that exist, relative to the root of the folder that holds them.
    files: Vec<String>,
    /// The path of the text itself, relative to the same root; links start from its folder.
    #[serde(default)]
    path: String,
}

#[details]
struct Outline {
    /// The headings, in order.
    headings: Vec<Heading>,
}

#[details]
struct Heading {
    /// From 1 to 6.
    level: u8,
    /// The heading without its markup.
    text: String,
    /// The line on which it starts, from 1.
    line: usize,
    /// The anchor that a link to it uses, without `#`.
    anchor: String,
}

#[details]
struct Links {
    /// How many links within the folder and the text were looked at.
    checked: usize,
    /// The links that lead nowhere, in order.
    dead: Vec<DeadLink>,
}

#[details]
struct DeadLink {
    /// The line on which the link starts, from 1.
    line: usize,
    /// Where the link says it leads.
    target: String,
    /// Why it leads nowhere.
    reason: String,
}

/// Lists the headings of a Markdown text with their levels and line numbers.
#[tool(title = "Outline a Markdown text")]
fn markdown_outline(arguments: Text) -> Output<Outline> {
    let headings = Document::parse(&arguments.text).headings;
    let lines: Vec<String> = headings
        .iter()
        .map(|heading| {
            format!("{}: {} {}", heading.line, "#".repeat(usize::from(heading.level)), heading.text)
        })
        .collect();
    let content = if lines.is_empty() { "no headings".to_owned() } else { lines.join("\n") };
    let headings = headings.into_iter().map(|heading| Heading {
        level: heading.level,
        text: heading.text,
        line: heading.line,
        anchor: heading.anchor,
    });
    Output::new(content, Outline { headings: headings.collect() })
}

/// Writes a table of contents for a Markdown text, with the anchors that GitHub gives its headings.
#[tool(title = "Table of contents")]
fn markdown_toc(arguments: ContentsOf) -> Result<String, ToolError> {
    if !(1..=6).contains(&arguments.max_level) {
        return Err(ToolError::invalid_params("`max_level` must be from 1 to 6"));
    }
    let mut headings = Document::parse(&arguments.text).headings;
    headings.retain(|heading| heading.level <= arguments.max_level && !heading.text.is_empty());
    let mut open: Vec<u8> = Vec::new();
    let mut contents = String::new();
    for heading in &headings {
        // A level that the text skips does not indent, or the list would become a code block.
        while open.last().is_some_and(|level| *level >= heading.level) {
            open.pop();
        }
        let indent = "  ".repeat(open.len());
        let text = heading.text.replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]");
        contents.push_str(&format!("{indent}- [{text}](#{})\n", heading.anchor));
        open.push(heading.level);
    }
    if contents.is_empty() {
        contents.push_str("no headings");
    }
    Ok(contents)
}

/// Finds the links of a Markdown text that lead nowhere: to files that do not exist, to headings that the text does not
/// have, or to references that it does not define. Links to other hosts are not followed.
#[tool(title = "Find dead links")]
fn markdown_links(arguments: LinksOf) -> Output<Links> {
    let document = Document::parse(&arguments.text);
    let files = link::Files::new(&arguments.files, &arguments.path);
    let mut links = Links { checked: 0, dead: Vec::new() };
    for found in &document.links {
        match link::check(&found.target, &document, &files) {
            link::Verdict::Elsewhere => {}
            link::Verdict::Alive => links.checked += 1,
            link::Verdict::Dead(reason) => {
                links.checked += 1;
                links.dead.push(DeadLink { line: found.line, target: found.target.clone(), reason });
            }
        }
    }
    for reference in &document.undefined_references {
        links.checked += 1;
        let reason = "the reference is not defined in this text".to_owned();
        links.dead.push(DeadLink { line: reference.line, target: format!("[{}]", reference.target), reason });
    }
    links.dead.sort_by_key(|dead| dead.line);
    let lines = links.dead.iter().map(|dead| format!("line {}: {}: {}", dead.line, dead.target, dead.reason));
    let summary = format!("{} of {} links are dead", links.dead.len(), links.checked);
    let content = std::iter::once(summary).chain(lines).collect::<Vec<_>>().join("\n");
    Output::new(content, links)
}

plugin!(tools: [markdown_outline, markdown_toc, markdown_links]);

#[cfg(test)]
mod tests {
    use airlock_plugin::serde_json::json;
    use airlock_plugin::testing;

    use super::*;

    #[test]
    fn the_manifest_declares_what_the_plugin_has() {
        assert_eq!(testing::check_manifest::<Plugin>(include_str!("../airlock.plugin.json")), Ok(()));
    }

    #[test]
    fn outline() {
        let text = "# One\n\n```\n# not a heading\n```\n\nTwo *words*\n---\n";
        let result = testing::call::<markdown_outline>(json!({ "text": text })).unwrap();
        assert_eq!(result.text(), "1: # One\n7: ## Two words");
        assert_eq!(
            result.json_details().unwrap(),
            json!({ "headings": [
                { "level": 1, "text": "One", "line": 1, "anchor": "one" },
                { "level": 2, "text": "Two words", "line": 7, "anchor": "two-words" },
            ] })
        );
    }

    #[test]
    fn table_of_contents() {
        let text = "# A [b]\n### Deep\n## Same\n## Same\n# Same\n";
        let result = testing::call::<markdown_toc>(json!({ "text": text })).unwrap();
        let expected = "- [A \\[b\\]](#a-b)\n  - [Deep](#deep)\n  - [Same](#same)\n  - [Same](#same-1)\n- [Same](#same-2)\n";
        assert_eq!(result.text(), expected);
        let shallow = testing::call::<markdown_toc>(json!({ "text": text, "max_level": 1 })).unwrap();
        assert_eq!(shallow.text(), "- [A \\[b\\]](#a-b)\n- [Same](#same-2)\n");
        let error = testing::call::<markdown_toc>(json!({ "text": text, "max_level": 7 })).unwrap_err();
        assert_eq!(error, ToolError::invalid_params("`max_level` must be from 1 to 6"));
    }

    #[test]
    fn dead_links() {
        let text = "[a](b.md) [c](gone.md#x)\n\n[d](#here) [e][nowhere] <https://example.com>\n\n# Here\n";
        let arguments = json!({ "text": text, "files": ["docs/b.md"], "path": "docs/a.md" });
        let result = testing::call::<markdown_links>(arguments).unwrap();
        let expected = "2 of 4 links are dead\n\
            line 1: gone.md#x: no file `docs/gone.md`\n\
            line 3: [nowhere]: the reference is not defined in this text";
        assert_eq!(result.text(), expected);
    }
}
