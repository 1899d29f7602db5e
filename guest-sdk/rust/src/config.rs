//! The operator's configuration for this plugin enters as JSON, the author's own type leaves. It never validates
//! against the manifest's `configSchema`: the host did.

use serde::de::DeserializeOwned;

use crate::ToolError;
use crate::arguments;
use crate::host;

/// The plugin's configuration as a `T`, usually a struct under [`#[config]`](macro@crate::config).
///
/// Natively it is what [`testing::set_config`](crate::testing::set_config) was given, or the empty object.
///
/// # Errors
///
/// [`ToolError::Failed`] if the configuration does not fit `T`: then the manifest's `configSchema` allows more than the
/// type does.
pub fn config<T: DeserializeOwned>() -> Result<T, ToolError> {
    arguments::parse(&host::config()).map_err(|cause| {
        ToolError::failed(format_args!(
            "the plugin's configuration does not fit: {cause}; align `configSchema` with it"
        ))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing;

    #[crate::config]
    #[derive(Debug, PartialEq)]
    struct Settings {
        #[serde(default)]
        organisation: String,
    }

    #[test]
    fn it_is_typed() {
        assert_eq!(config::<Settings>(), Ok(Settings { organisation: String::new() }));
        testing::set_config(json!({ "organisation": "tides" }));
        assert_eq!(config::<Settings>(), Ok(Settings { organisation: "tides".to_owned() }));
    }

    #[test]
    fn a_misfit_names_the_place() {
        testing::set_config(json!({ "organisation": 7 }));
        assert!(config::<Settings>().unwrap_err().to_string().contains("at `/organisation`: invalid type"));
    }
}
