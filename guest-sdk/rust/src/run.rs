//! The run context as a plugin reads it: the host's record enters, answers to frequent questions leave. It never fills in
//! what the host did not say.

use crate::bindings::airlock::plugin::types::RunContext;

impl RunContext {
    /// Whether the host holds a usable credential for this provider, such as `slack`. The credential itself never reaches
    /// a plugin.
    pub fn is_authenticated(&self, provider: &str) -> bool {
        self.authenticated_providers.iter().any(|authenticated| authenticated == provider)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;

    #[test]
    fn a_credential_is_there_or_not() {
        let run = testing::run_context().authenticated_with("slack");
        assert!(run.is_authenticated("slack"));
        assert!(!run.is_authenticated("mail"));
    }
}
