//! The metadata: a JSON object that describes the contents, after the name of the parameter set.
//!
//! The name is the first field, `{"parameters":"n14","level":3}`. It is removed before the other fields are
//! parsed, so the types of descriptions do not have it and can refuse unknown fields.

use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::container::METADATA_LIMIT_BYTES;
use super::error::FileError;

/// The beginning of metadata that name their parameters.
const NAME_FIELD: &str = "{\"parameters\":";

/// `description` as JSON, with `name` as its first field.
///
/// # Errors
/// `Metadata` for values that JSON cannot express, and for a name with a description that is not an object;
/// `TooLarge`.
pub(super) fn encode(description: &impl Serialize, name: Option<&str>) -> Result<Vec<u8>, FileError> {
    let unusable = |error: serde_json::Error| FileError::Metadata { reason: error.to_string() };
    let mut text = serde_json::to_string(description).map_err(unusable)?;
    if let Some(name) = name {
        let Some(fields) = text.strip_prefix('{') else {
            let reason = "a description that names its parameters must be an object with fields".to_owned();
            return Err(FileError::Metadata { reason });
        };
        let comma = if fields == "}" { "" } else { "," };
        text = format!("{NAME_FIELD}{}{comma}{fields}", serde_json::to_string(name).map_err(unusable)?);
    }
    if text.len() > METADATA_LIMIT_BYTES {
        let (value, limit) = (text.len() as u64, METADATA_LIMIT_BYTES as u64);
        return Err(FileError::TooLarge { what: "the metadata's length in bytes", value, limit });
    }
    Ok(text.into_bytes())
}

/// Metadata that were read.
#[derive(Debug)]
pub(super) struct Metadata {
    text: String,
    /// Start of the fields after the name, if there is a name; the `{` before them is missing.
    fields: Option<usize>,
}

impl Metadata {
    /// Checks that `bytes` are one JSON document, and finds the parameters' name.
    ///
    /// # Errors
    /// `Metadata`.
    pub(super) fn parse(bytes: Vec<u8>) -> Result<(Self, Option<String>), FileError> {
        let text =
            String::from_utf8(bytes).map_err(|error| FileError::Metadata { reason: error.to_string() })?;
        // Well-formed JSON has no raw control characters, so the text can be printed.
        from_text::<IgnoredAny>(&text)?;
        let (fields, name) = match name_of(&text) {
            Some((fields, name)) => (Some(fields), Some(name)),
            None => (None, None),
        };
        Ok((Self { text, fields }, name))
    }

    /// The stored text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The description, without the name.
    pub(super) fn description<T: DeserializeOwned>(&self) -> Result<T, FileError> {
        match self.fields {
            None => from_text(&self.text),
            Some(start) => from_text(&format!("{{{}", &self.text[start..])),
        }
    }
}

/// The name in well-formed metadata, and the start of the fields after it.
fn name_of(text: &str) -> Option<(usize, String)> {
    let rest = text.strip_prefix(NAME_FIELD)?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    let name = values.next()?.ok()?;
    let after = values.byte_offset();
    let comma = usize::from(rest[after..].starts_with(','));
    Some((NAME_FIELD.len() + after + comma, name))
}

fn from_text<T: DeserializeOwned>(text: &str) -> Result<T, FileError> {
    serde_json::from_str(text).map_err(|error| FileError::Metadata { reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn round_trip(description: &Value, name: Option<&str>) -> (String, Value, Option<String>) {
        let (metadata, found) = Metadata::parse(encode(description, name).unwrap()).unwrap();
        (metadata.text().to_owned(), metadata.description().unwrap(), found)
    }

    #[test]
    fn names_come_back_beside_unchanged_descriptions() {
        for description in
            [json!({}), json!({"level": 3}), json!({"scale": 1.1e21 / 3.0, "a": {"parameters": 5}})]
        {
            for name in ["n14", "", "quote \" backslash \\ escape \u{1b}[31m", "\u{20ac}"] {
                let (text, read, found) = round_trip(&description, Some(name));
                assert_eq!((&read, found.as_deref()), (&description, Some(name)), "{text}");
                assert!(!text.contains('\u{1b}'));
            }
            assert_eq!(round_trip(&description, None), (description.to_string(), description.clone(), None));
        }
        assert_eq!(encode(&json!({"level": 3}), Some("n14")).unwrap(), br#"{"parameters":"n14","level":3}"#);
    }

    #[test]
    fn fields_that_are_no_name_stay_in_the_description() {
        for text in [r#"{"level":3,"parameters":"n14"}"#, r#"{"parameters":5}"#, r#"["parameters"]"#, "null"]
        {
            let (metadata, name) = Metadata::parse(text.as_bytes().to_vec()).unwrap();
            assert_eq!(name, None, "{text}");
            assert_eq!(
                metadata.description::<Value>().unwrap(),
                serde_json::from_str::<Value>(text).unwrap()
            );
        }
        // The second of two such fields belongs to the description.
        let (metadata, name) = Metadata::parse(br#"{"parameters":"a","parameters":"b"}"#.to_vec()).unwrap();
        assert_eq!(
            (name.as_deref(), metadata.description::<Value>().unwrap()),
            (Some("a"), json!({"parameters": "b"}))
        );
    }

    #[test]
    fn names_beside_what_is_no_object_are_refused() {
        for description in [json!(null), json!([1]), json!("text")] {
            assert!(matches!(encode(&description, Some("n14")), Err(FileError::Metadata { .. })));
        }
        let long = "x".repeat(METADATA_LIMIT_BYTES);
        assert!(matches!(encode(&json!({}), Some(&long)), Err(FileError::TooLarge { .. })));
    }
}
