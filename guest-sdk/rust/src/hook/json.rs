//! A JSON document of the contract enters, its value and its text leave. It never changes the text, which has every digit.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::arguments;

/// Both forms of a document: the value is for reading, and the text is what a large number survives in.
#[derive(Debug, Clone)]
pub(crate) struct Json {
    text: String,
    value: Value,
}

impl Json {
    /// # Errors
    ///
    /// The text is no JSON, or has a number that no value can hold. A handler that would have to guess fails instead.
    pub(crate) fn read(what: &str, text: String) -> Result<Self, String> {
        let value = arguments::parse(&text).map_err(|cause| format!("{what} cannot be read: {cause}"))?;
        Ok(Self { text, value })
    }

    pub(crate) fn value(&self) -> &Value {
        &self.value
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }

    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, String> {
        arguments::parse(&self.text)
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Self {
        Self { text: value.to_string(), value }
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_keeps_every_digit() {
        let text = r#"{"id": 123456789012345678901234567890}"#;
        let json = Json::read("it", text.to_owned()).unwrap();
        assert_eq!(json.text(), text);
        assert!(json.value()["id"].is_number());
    }

    #[test]
    fn equal_documents_need_not_be_spelt_alike() {
        assert_eq!(Json::read("it", "{ \"a\": 1 }".to_owned()).unwrap(), Json::from(json!({ "a": 1 })));
    }

    #[test]
    fn what_cannot_be_read_says_what_it_is() {
        let problem = Json::read("the arguments of `exec`", "{".to_owned()).unwrap_err();
        assert!(problem.starts_with("the arguments of `exec` cannot be read: "), "{problem}");
    }
}
