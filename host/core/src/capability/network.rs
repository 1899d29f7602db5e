//! Requests over HTTP: scheme, host, port and method of one request enter; whether manifest and grants both have it leaves.

use super::Refusal;
use crate::id::PluginId;
use crate::manifest::{Endpoint, HostPattern, NetworkRequest, Scheme};

/// Where one request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// How.
    pub scheme: Scheme,
    /// The host, as a name or an address.
    pub host: HostPattern,
    /// The port.
    pub port: u16,
    /// The method.
    pub method: String,
}

/// Which endpoints a plugin may call.
#[derive(Debug, Clone)]
pub struct NetworkCapability {
    plugin: PluginId,
    asked: Vec<NetworkRequest>,
    granted: Vec<Endpoint>,
}

impl NetworkCapability {
    pub(super) fn new(plugin: &PluginId, asked: Vec<NetworkRequest>, granted: Vec<Endpoint>) -> Self {
        Self { plugin: plugin.clone(), asked, granted }
    }

    /// Whose it is.
    pub fn plugin(&self) -> &PluginId {
        &self.plugin
    }

    /// Whether a request may be made, before anybody knows which address its host has.
    ///
    /// # Errors
    /// Who does not want it: the manifest or the operator.
    pub fn allows(&self, target: &Target) -> Result<(), Refusal> {
        let endpoint = Endpoint { scheme: target.scheme, host: target.host.clone(), port: target.port };
        let is_asked = self
            .asked
            .iter()
            .any(|asked| asked.endpoint.covers(&endpoint) && asked.methods.contains(&target.method));
        if !is_asked {
            let what = format!("{} requests to `{endpoint}`", target.method);
            let line = format!(
                "`{{ \"host\": \"{endpoint}\", \"methods\": [\"{}\"] }}` to `permissions.network`",
                target.method
            );
            return Err(Refusal::not_requested(&self.plugin, &what, &line));
        }
        if !self.granted.iter().any(|granted| granted.covers(&endpoint)) {
            let (what, line) = (format!("requests to `{endpoint}`"), format!("network = [\"{endpoint}\"]"));
            return Err(Refusal::not_granted(&self.plugin, &what, &line));
        }
        Ok(())
    }

    /// Whether the operator granted exactly this address: a sandbox refuses addresses that are not public unless so.
    pub fn grants_address(&self, address: std::net::IpAddr) -> bool {
        self.granted.iter().any(|granted| granted.host.address() == Some(address))
    }

    /// Whether any request at all could be allowed.
    pub(super) fn is_effective(&self) -> bool {
        !self.effective().is_empty()
    }

    /// What is asked for and granted, both; where one is wider, the narrower of the two.
    pub(super) fn effective(&self) -> Vec<NetworkRequest> {
        let mut effective: Vec<NetworkRequest> = Vec::new();
        for asked in self.asked.iter().filter(|asked| !asked.methods.is_empty()) {
            for granted in &self.granted {
                let narrower = if granted.covers(&asked.endpoint) {
                    &asked.endpoint
                } else if asked.endpoint.covers(granted) {
                    granted
                } else {
                    continue;
                };
                let request = NetworkRequest { endpoint: narrower.clone(), methods: asked.methods.clone() };
                if !effective.contains(&request) {
                    effective.push(request);
                }
            }
        }
        effective
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capability(asked: &[(&str, &[&str])], granted: &[&str]) -> NetworkCapability {
        let asked = asked.iter().map(|(endpoint, methods)| NetworkRequest {
            endpoint: Endpoint::parse(endpoint).unwrap(),
            methods: methods.iter().map(ToString::to_string).collect(),
        });
        let granted = granted.iter().map(|endpoint| Endpoint::parse(endpoint).unwrap()).collect();
        NetworkCapability::new(&PluginId::parse("github").unwrap(), asked.collect(), granted)
    }

    fn target(method: &str, endpoint: &str) -> Target {
        let Endpoint { scheme, host, port } = Endpoint::parse(endpoint).unwrap();
        Target { scheme, host, port, method: method.to_owned() }
    }

    #[test]
    fn both_must_have_it_and_each_says_what_to_write() {
        let capability =
            capability(&[("api.github.com", &["GET", "POST"]), ("*.x.org", &["GET"])], &["api.github.com"]);
        assert_eq!(capability.allows(&target("POST", "api.github.com")), Ok(()));
        assert_eq!(
            capability.allows(&target("DELETE", "api.github.com")).unwrap_err().to_string(),
            "the manifest of `github` does not ask for DELETE requests to `api.github.com`; its author adds \
             `{ \"host\": \"api.github.com\", \"methods\": [\"DELETE\"] }` to `permissions.network`"
        );
        assert_eq!(
            capability.allows(&target("GET", "a.x.org")).unwrap_err().to_string(),
            "nobody granted `github` requests to `a.x.org`; an operator who wants that adds `network = [\"a.x.org\"]` \
             to [plugins.entries.github.grants]"
        );
        for refused in ["http://api.github.com", "api.github.com:8443", "github.com", "x.api.github.com"] {
            assert!(capability.allows(&target("GET", refused)).is_err(), "{refused}");
        }
    }

    #[test]
    fn what_is_effective_is_the_narrower_of_both() {
        let shown = |asked, granted| {
            let effective = capability(&[(asked, &["GET"])], &[granted]).effective();
            effective.iter().map(|request| request.endpoint.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(shown("*.a.b", "x.a.b"), ["x.a.b"]);
        assert_eq!(shown("x.a.b", "*.a.b"), ["x.a.b"]);
        assert_eq!(shown("a.b", "*.a.b"), [""; 0]);
        assert!(capability(&[("a.b", &[])], &["a.b"]).effective().is_empty(), "no method is none");
    }
}
