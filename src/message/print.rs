//! How JSON is printed for people: indented, but only as deep as people look. A message of nothing but brackets would
//! otherwise have copies a hundred times its size.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// Number of indented levels.
const LEVELS: usize = 4;

/// The value as people read it, without a newline at the end.
pub(crate) fn pretty(value: &impl Serialize) -> String {
    let mut text = Vec::with_capacity(256);
    let shallow = ShallowFormatter {
        pretty: PrettyFormatter::new(),
        depth: 0,
    };
    value
        .serialize(&mut Serializer::with_formatter(&mut text, shallow))
        .expect("JSON values print");
    String::from_utf8(text).expect("JSON is text")
}

struct ShallowFormatter {
    pretty: PrettyFormatter<'static>,
    depth: usize,
}

// Calls the same method of the formatter that this level is printed with.
macro_rules! by_level {
    ($self:ident . $method:ident ( $($argument:expr),* )) => {
        if $self.depth <= LEVELS { $self.pretty.$method($($argument),*) } else { CompactFormatter.$method($($argument),*) }
    };
}

impl Formatter for ShallowFormatter {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        by_level!(self.begin_array(to))
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        let ended = by_level!(self.end_array(to));
        self.depth -= 1;
        ended
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        by_level!(self.begin_array_value(to, first))
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        by_level!(self.end_array_value(to))
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.depth += 1;
        by_level!(self.begin_object(to))
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        let ended = by_level!(self.end_object(to));
        self.depth -= 1;
        ended
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        by_level!(self.begin_object_key(to, first))
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        by_level!(self.begin_object_value(to))
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        by_level!(self.end_object_value(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn shallow_values_print_as_serde_json_prints_them() {
        let value = json!({"a": [1, {"b": []}], "c": {}, "d": {"e": "f"}});
        assert_eq!(
            pretty(&value),
            serde_json::to_string_pretty(&value).expect("JSON")
        );
    }

    #[test]
    fn a_hundred_levels_cost_no_more_than_a_few() {
        let deep = (0..100).fold(json!([1, 2, 3]), |inner, _| json!([inner]));
        let (text, compact) = (pretty(&deep), deep.to_string());
        assert!(text.len() < 3 * compact.len(), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), deep);
    }
}
