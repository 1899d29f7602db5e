//! A Markdown text enters; its headings, links and anchors leave, each with its line. It never judges a link.

use std::collections::BTreeSet;

use pulldown_cmark::BrokenLink;
use pulldown_cmark::Event;
use pulldown_cmark::LinkType;
use pulldown_cmark::Options;
use pulldown_cmark::Parser;
use pulldown_cmark::Tag;
use pulldown_cmark::TagEnd;

use crate::anchor::Anchors;

/// What a text holds that its tools look at.
pub(crate) struct Document {
    pub(crate) headings: Vec<Heading>,
    /// Links and images, reference links included, in order.
    pub(crate) links: Vec<Link>,
    /// `[text][reference]` without a definition.
    pub(crate) undefined_references: Vec<Link>,
    /// Everything that a link within the text can lead to, without `#`.
    pub(crate) anchors: BTreeSet<String>,
}

pub(crate) struct Heading {
    pub(crate) level: u8,
    pub(crate) text: String,
    pub(crate) line: usize,
    pub(crate) anchor: String,
}

pub(crate) struct Link {
    pub(crate) target: String,
    pub(crate) line: usize,
}

impl Document {
    pub(crate) fn parse(text: &str) -> Self {
        let lines = Lines::new(text);
        let mut undefined_references = Vec::new();
        let mut note = |broken: BrokenLink<'_>| {
            // A shortcut, `[text]`, is far more often just text.
            if matches!(broken.link_type, LinkType::Reference | LinkType::Collapsed) {
                let line = lines.number(broken.span.start);
                undefined_references.push(Link { target: broken.reference.to_string(), line });
            }
            None
        };
        let options = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            // Otherwise the last line of front matter reads as a heading.
            | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
        let mut collector = Collector::default();
        for (event, range) in
            Parser::new_with_broken_link_callback(text, options, Some(&mut note)).into_offset_iter()
        {
            collector.take(event, lines.number(range.start));
        }
        collector.anchors.extend(collector.headings.iter().map(|heading| heading.anchor.clone()));
        let Collector { headings, links, anchors, .. } = collector;
        Self { headings, links, undefined_references, anchors }
    }
}

#[derive(Default)]
struct Collector {
    headings: Vec<Heading>,
    links: Vec<Link>,
    anchors: BTreeSet<String>,
    heading_anchors: Anchors,
    /// The heading that is being read: its level and line, and its text so far.
    open: Option<(u8, usize, String)>,
    /// An image's alternative text is not a part of the heading.
    images: usize,
}

impl Collector {
    fn take(&mut self, event: Event<'_>, line: usize) {
        match event {
            Event::Start(Tag::Heading { level, .. }) => self.open = Some((level as u8, line, String::new())),
            Event::End(TagEnd::Heading(_)) => {
                if let Some((level, line, text)) = self.open.take() {
                    let text = text.trim().to_owned();
                    let anchor = self.heading_anchors.next(&text);
                    self.headings.push(Heading { level, text, line, anchor });
                }
            }
            Event::Start(Tag::Link { dest_url, .. }) => {
                self.links.push(Link { target: dest_url.to_string(), line });
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                self.links.push(Link { target: dest_url.to_string(), line });
                self.images += 1;
            }
            Event::End(TagEnd::Image) => self.images = self.images.saturating_sub(1),
            Event::Text(text) | Event::Code(text) => self.heading_text(&text),
            Event::SoftBreak | Event::HardBreak => self.heading_text(" "),
            Event::Html(html) | Event::InlineHtml(html) => self.anchors.extend(html_anchors(&html)),
            _ => {}
        }
    }

    fn heading_text(&mut self, text: &str) {
        if let (Some((.., heading)), 0) = (&mut self.open, self.images) {
            heading.push_str(text);
        }
    }
}

/// The values of `id` and `name` attributes in a piece of HTML.
fn html_anchors(html: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('=') {
        let attribute = before.trim_end().rsplit([' ', '\t', '\n']).next().unwrap_or_default();
        let value = after.trim_start();
        let (value, end) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                value.get(1..).and_then(|value| value.split_once(quote)).unwrap_or((value, ""))
            }
            _ => {
                let end = value.find([' ', '\t', '\n', '>']).unwrap_or(value.len());
                value.split_at(end)
            }
        };
        if attribute.eq_ignore_ascii_case("id") || attribute.eq_ignore_ascii_case("name") {
            anchors.push(value.to_owned());
        }
        rest = end;
    }
    anchors
}

/// Where the lines of a text start.
struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: &str) -> Self {
        let starts = text.match_indices('\n').map(|(position, _)| position + 1);
        Self { starts: std::iter::once(0).chain(starts).collect() }
    }

    /// The number, from 1, of the line that holds the byte at `offset`.
    fn number(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_headings(text: &str, expected: &[(u8, &str, usize)]) {
        let document = Document::parse(text);
        let found: Vec<_> = document
            .headings
            .iter()
            .map(|heading| (heading.level, heading.text.as_str(), heading.line))
            .collect();
        assert_eq!(found, expected);
    }

    #[track_caller]
    fn check_links(text: &str, expected: &[(&str, usize)]) {
        let document = Document::parse(text);
        let found: Vec<_> = document.links.iter().map(|link| (link.target.as_str(), link.line)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn headings_of_both_kinds() {
        check_headings(
            "# A `b` *c*\n\nTwo\nlines\n=====\n\n## D ##\n",
            &[(1, "A b c", 1), (1, "Two lines", 3), (2, "D", 7)],
        );
        check_headings("#no space\n\n####### seven\n", &[]);
        check_headings(
            "# ![logo](logo.png) Name\r\n\r\n> ## Quoted\r\n",
            &[(1, "Name", 1), (2, "Quoted", 3)],
        );
    }

    #[test]
    fn code_and_front_matter_are_not_headings() {
        check_headings("---\ntitle: x\n---\n\n# A\n", &[(1, "A", 5)]);
        check_headings("````\n```\n# A\n```\n# B\n````\n\n    # C\n\n~~~ sh\n# D\n", &[]);
    }

    #[test]
    fn links_of_every_kind() {
        check_links(
            "[a](b.md 'title')\n![c](<d e.png>)\n\n[f][g] [g][] [g]\n\n[g]: h.md\n",
            &[("b.md", 1), ("d e.png", 2), ("h.md", 4), ("h.md", 4), ("h.md", 4)],
        );
        check_links("`[a](b)`\n\n```\n[c](d)\n```\n", &[]);
    }

    #[test]
    fn references_need_a_definition() {
        let document = Document::parse("[a][b]\n\n[c][] and [ ] and [d]\n");
        let found: Vec<_> =
            document.undefined_references.iter().map(|link| (link.target.as_str(), link.line)).collect();
        assert_eq!(found, [("b", 1), ("c", 3)]);
    }

    #[test]
    fn html_has_anchors_too() {
        assert_eq!(html_anchors(r#"<a id="x" class='y' NAME='z'>"#), ["x", "z"]);
        assert_eq!(html_anchors("<p id=q>a=b"), ["q"]);
        assert_eq!(html_anchors("<p id=\"open"), ["\"open"]);
        let document = Document::parse("<a name=\"top-1\"></a>\n\n# Title\n");
        assert_eq!(document.anchors.iter().map(String::as_str).collect::<Vec<_>>(), ["title", "top-1"]);
    }
}
