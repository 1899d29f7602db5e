//! What a plugin asks for beside its tools, for a person: one line a request, and what an operator would write to grant it.

use std::io::{self, Write};

use airlock_core::{Capabilities, FileAccess, Permissions, Refusal, Target, text};

use crate::page::{self, ERROR, FAINT, GOOD, WARNING};

/// One request, and why it is not in force.
struct Line {
    capability: &'static str,
    target: String,
    refusal: Option<Refusal>,
    /// What of it is in force all the same; empty for nothing.
    part: String,
}

impl Line {
    fn new(capability: &'static str, target: String, refusal: Option<Refusal>, part: &str) -> Self {
        Self { capability, target, refusal, part: part.to_owned() }
    }
}

/// Writes the requests of one plugin.
pub(crate) fn show(
    output: &mut impl Write,
    asked: &Permissions,
    capabilities: &Capabilities,
) -> io::Result<()> {
    let lines = lines(asked, capabilities);
    if lines.is_empty() {
        return writeln!(output, "\n{FAINT}asks for nothing outside its sandbox{FAINT:#}");
    }
    writeln!(output, "\nasks for")?;
    for Line { capability, target, refusal, part } in lines {
        let (style, mark) = match &refusal {
            None => (GOOD, "✓"),
            Some(_) if part.is_empty() => (ERROR, "✗"),
            Some(_) => (WARNING, "~"),
        };
        writeln!(output, "  {style}{mark}{style:#} {capability:10}  {}", text::single_line(&target))?;
        if refusal.is_some() && !part.is_empty() {
            writeln!(output, "    {FAINT}in force: {}{FAINT:#}", text::single_line(&part))?;
        }
        if let Some(refusal) = refusal {
            writeln!(output, "    {FAINT}{}{FAINT:#}", text::single_line(&refusal.to_string()))?;
        }
    }
    Ok(())
}

fn lines(asked: &Permissions, capabilities: &Capabilities) -> Vec<Line> {
    let effective = capabilities.effective();
    let network = asked.network.iter().map(|request| {
        let endpoint = &request.endpoint;
        let target = |method: &String| Target {
            scheme: endpoint.scheme,
            host: endpoint.host.clone(),
            port: endpoint.port,
            method: method.clone(),
        };
        let refused =
            request.methods.iter().find_map(|method| capabilities.network.allows(&target(method)).err());
        let granted = effective.network.iter().filter(|granted| endpoint.covers(&granted.endpoint));
        let part = granted.map(|granted| granted.endpoint.to_string()).collect::<Vec<_>>().join(", ");
        let target = format!("{} {endpoint}", request.methods.join(", "));
        Line::new("network", target, refused, &part)
    });
    let secrets = asked.secrets.iter().map(|secret| {
        let target = format!("{} in `{}` of {}", secret.name, secret.header, secret.host);
        Line::new("secret", target, capabilities.secrets.allows(&secret.name).err(), "")
    });
    let key_value = asked.key_value.iter().map(|store| {
        let allowed = capabilities.key_value.allows();
        let bytes = allowed.as_ref().map_or(store.max_bytes.get(), |bytes| *bytes);
        Line::new("key-value", format!("a store of {}", page::bytes(bytes)), allowed.err(), "")
    });
    let filesystem = asked.filesystem.iter().map(|folder| {
        let access = if folder.access == FileAccess::Write { "write" } else { "read" };
        let refusal = capabilities.filesystem.allows(&folder.path, folder.access).err();
        let may_read = effective.filesystem.iter().any(|granted| granted.path == folder.path);
        let part = if may_read { "read" } else { "" };
        Line::new("filesystem", format!("{access} {}", folder.path), refusal, part)
    });
    network.chain(secrets).chain(key_value).chain(filesystem).collect()
}
