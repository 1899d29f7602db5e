//! A Markdown text and the question whether a path exists enter; its relative links that lead nowhere leave. It follows no
//! link to another host and checks no anchor.

use super::Finding;

pub(super) fn check(file: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut fence: Option<&str> = None;
    let mut findings = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let start = line.trim_start();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark)) {
            match fence {
                None => fence = Some(mark),
                Some(open) if open == mark => fence = None,
                Some(_) => {}
            }
            continue;
        }
        if fence.is_some() {
            continue;
        }
        for target in targets(line) {
            let path = target.split(['#', '?']).next().unwrap_or_default().replace("%20", " ");
            if path.is_empty() || has_scheme(&target) {
                continue;
            }
            let resolved = resolve(folder, &path);
            if !resolved.as_deref().is_some_and(&exists) {
                let text = format!("the link to `{target}` leads nowhere: correct or remove it");
                findings.push(Finding::new(file, index + 1, text));
            }
        }
    }
    findings
}

/// The targets of inline links and of a reference definition in a line, without titles and angle brackets.
fn targets(line: &str) -> Vec<String> {
    // Every second part stands between backticks.
    let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
    let mut targets: Vec<&str> =
        prose.split("](").skip(1).map(|rest| rest.split(')').next().unwrap_or_default()).collect();
    if let Some((label, target)) = prose.trim_start().split_once("]: ")
        && label.starts_with('[')
        && !label.starts_with("[^")
    {
        targets.push(target);
    }
    targets.into_iter().map(bare).filter(|target| !target.is_empty()).collect()
}

fn bare(target: &str) -> String {
    let target = target.trim();
    if let Some(target) = target.strip_prefix('<') {
        return target.split('>').next().unwrap_or_default().to_owned();
    }
    target.split_whitespace().next().unwrap_or_default().to_owned()
}

fn has_scheme(target: &str) -> bool {
    target.starts_with("//") || target.split_once(':').is_some_and(|(scheme, _)| !scheme.contains('/'))
}

/// `path` seen from `folder`, relative to the root; a leading `/` starts from the root.
fn resolve(folder: &str, path: &str) -> Option<String> {
    let mut segments: Vec<&str> =
        if path.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop().filter(|segment| !segment.is_empty())?;
            }
            name => segments.push(name),
        }
    }
    Some(segments.join("/").trim_start_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_lines(text: &str, expected: &[usize]) {
        let known = ["", "README.md", "docs", "docs/a.md", "docs/a b.md"];
        let found = check("docs/index.md", text, |path| known.contains(&path));
        assert_eq!(found.iter().map(|finding| finding.line).collect::<Vec<_>>(), expected, "{found:?}");
    }

    #[test]
    fn relative_links_are_followed() {
        check_lines("[a](a.md) [b](./a.md#x) ![c](<a b.md>)\n[d](a%20b.md 'title') [e](../README.md)\n", &[]);
        check_lines("[a](../docs/) [b](/README.md) [c](..)\n[d](b.md)\n[e](../../README.md)\n", &[2, 3]);
        check_lines("[a]: a.md\n[b]: b.md \"title\"\n[^c]: note\n", &[2]);
    }

    #[test]
    fn other_hosts_anchors_and_code_are_not() {
        check_lines("[a](https://example.com) [b](mailto:x@example.com) [c](#d) `[e](f)`\n", &[]);
        check_lines("```\n[a](b)\n~~~\n[a](b)\n```\n[c](d)\n", &[6]);
    }
}
