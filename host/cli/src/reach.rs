//! What a plugin asks for beside its tools, for a person: one line a request, and what an operator would write to grant it.

use std::io::{self, Write};

use airlock_core::{Capabilities, FileAccess, Permissions, Refusal, Target, text};

use crate::page::{self, ERROR, FAINT, GOOD};

/// One request, and why it is not in force.
struct Line {
    capability: &'static str,
    target: String,
    refusal: Option<Refusal>,
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
    for Line { capability, target, refusal } in lines {
        let (style, mark) = if refusal.is_some() { (ERROR, "✗") } else { (GOOD, "✓") };
        writeln!(output, "  {style}{mark}{style:#} {capability:10}  {}", text::single_line(&target))?;
        if let Some(refusal) = refusal {
            writeln!(output, "    {FAINT}{}{FAINT:#}", text::single_line(&refusal.to_string()))?;
        }
    }
    Ok(())
}

fn lines(asked: &Permissions, capabilities: &Capabilities) -> Vec<Line> {
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
        Line {
            capability: "network",
            target: format!("{} {endpoint}", request.methods.join(", ")),
            refusal: refused,
        }
    });
    let secrets = asked.secrets.iter().map(|secret| Line {
        capability: "secret",
        target: format!("{} in `{}` of {}", secret.name, secret.header, secret.host),
        refusal: capabilities.secrets.allows(&secret.name).err(),
    });
    let key_value = asked.key_value.iter().map(|store| Line {
        capability: "key-value",
        target: format!("a store of {}", page::bytes(store.max_bytes.get())),
        refusal: capabilities.key_value.allows().err(),
    });
    let filesystem = asked.filesystem.iter().map(|folder| {
        let access = if folder.access == FileAccess::Write { "write" } else { "read" };
        let refusal = capabilities.filesystem.allows(&folder.path, folder.access).err();
        Line { capability: "filesystem", target: format!("{access} {}", folder.path), refusal }
    });
    network.chain(secrets).chain(key_value).chain(filesystem).collect()
}
