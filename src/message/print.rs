//! How JSON is printed for people: indented, but only as deep as people look. A message of nothing but brackets would
//! otherwise have copies a hundred times its size.

use serde_json::Value;

/// Number of indented levels.
const LEVELS: usize = 4;

/// The value as people read it, without a newline at the end. It begins at this depth of a larger value.
pub(crate) fn pretty(value: &Value, depth: usize) -> String {
    let mut text = String::with_capacity(256);
    print(value, depth, &mut text);
    text
}

/// The fields of an object in this order, each on its own line, without the braces around them.
pub(super) fn pretty_fields<'m>(fields: impl Iterator<Item = (&'m str, &'m Value)>) -> String {
    let mut text = String::with_capacity(256);
    print_fields(fields, 1, &mut text);
    text
}

fn print(value: &Value, depth: usize, to: &mut String) {
    match value {
        Value::Object(fields) if depth < LEVELS && !fields.is_empty() => {
            to.push_str("{\n");
            let fields = fields.iter().map(|(name, value)| (name.as_str(), value));
            print_fields(fields, depth + 1, to);
            end_line(depth, to);
            to.push('}');
        }
        Value::Array(items) if depth < LEVELS && !items.is_empty() => {
            to.push('[');
            for (n, item) in items.iter().enumerate() {
                to.push_str(if n == 0 { "" } else { "," });
                end_line(depth + 1, to);
                print(item, depth + 1, to);
            }
            end_line(depth, to);
            to.push(']');
        }
        value => to.push_str(&value.to_string()),
    }
}

fn print_fields<'m>(
    fields: impl Iterator<Item = (&'m str, &'m Value)>,
    depth: usize,
    to: &mut String,
) {
    for (n, (name, value)) in fields.enumerate() {
        to.push_str(if n == 0 { "" } else { ",\n" });
        to.push_str(&"  ".repeat(depth));
        to.push_str(&Value::from(name).to_string());
        to.push_str(": ");
        print(value, depth, to);
    }
}

fn end_line(depth: usize, to: &mut String) {
    to.push('\n');
    to.push_str(&"  ".repeat(depth));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn shallow_values_print_as_serde_json_prints_them() {
        let value = json!({"a": [1, {"b": []}], "c": {}, "d": {"e": "f"}});
        assert_eq!(
            pretty(&value, 0),
            serde_json::to_string_pretty(&value).expect("JSON")
        );
    }

    #[test]
    fn a_hundred_levels_cost_no_more_than_a_few() {
        let deep = (0..100).fold(json!([1, 2, 3]), |inner, _| json!([inner]));
        let (text, compact) = (pretty(&deep, 0), deep.to_string());
        assert!(text.len() < 3 * compact.len(), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), deep);
    }
}
