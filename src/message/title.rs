//! The title of a message: the first line of its subject, or else of its body.

use serde_json::{Map, Value};

/// The first line that is not empty, without surrounding space.
pub fn first_line(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// The title of a message with this subject and body.
pub fn title<'t>(subject: Option<&'t str>, body: Option<&'t str>) -> Option<&'t str> {
    [subject, body].into_iter().flatten().find_map(first_line)
}

/// The title of a message with these fields.
pub fn title_of_fields(fields: &Map<String, Value>) -> Option<&str> {
    let text = |field| fields.get(field).and_then(Value::as_str);
    title(text("subject"), text("body"))
}

#[cfg(test)]
mod tests {
    use super::title;

    #[test]
    fn a_title_is_the_first_line_with_text() {
        assert_eq!(title(Some("\n Port? \nmore"), Some("8080")), Some("Port?"));
        assert_eq!(title(Some("  "), Some("\n 8080\n")), Some("8080"));
        assert_eq!(title(None, Some(" \n")), None);
    }
}
