//! Mentions: the `@names` in a text, without mail addresses, code and decorators.

use crate::message::address::{is_prefix, reserved};
use crate::message::id;

/// Blanks that are removed at the ends of a line or a text.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// The mentions in `text` as `@name` or, of another room, `@tag:name`, each once, in order. The names are not checked here;
/// the resolver ignores unknown ones.
pub fn mentions(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (at, end) in places(text) {
        if !found.iter().any(|f| f[1..] == text[at + 1..end]) {
            found.push(text[at..end].to_owned());
        }
    }
    found
}

/// The text without its mentions, and without the spaces after each.
pub fn without_mentions(text: &str) -> String {
    let (mut kept, mut from) = (String::with_capacity(text.len()), 0);
    for (at, end) in places(text) {
        kept.push_str(&text[from..at]);
        from = end + (text[end..].len() - text[end..].trim_start_matches(' ').len());
    }
    kept.push_str(&text[from..]);
    kept.trim_matches(BLANKS).to_owned()
}

/// The start and the end of each mention, with its `@`.
fn places(text: &str) -> Vec<(usize, usize)> {
    if !text.contains('@') {
        return Vec::new();
    }
    in_prose(&without_code(text))
}

/// `text` with each byte of code replaced by a backtick, so that all positions stay the same.
fn without_code(text: &str) -> String {
    let mut prose = String::with_capacity(text.len());
    for (stretch, is_code) in stretches(text) {
        if is_code {
            prose.extend(std::iter::repeat_n('`', stretch.len()));
        } else {
            blank_spans(stretch, &mut prose);
        }
    }
    prose
}

/// The parts of `text` inside and outside fenced code blocks. A fence that is not closed extends to the end.
fn stretches(text: &str) -> Vec<(&str, bool)> {
    let (mut stretches, mut start, mut at) = (Vec::new(), 0, 0);
    let mut open: Option<(u8, usize)> = None;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        match (open, fence(line)) {
            (None, Some((mark, length, _))) => {
                stretches.push((&text[start..at], false));
                (open, start) = (Some((mark, length)), at);
            }
            (Some((mark, length)), Some((m, l, true))) if m == mark && l >= length => {
                stretches.push((&text[start..next], true));
                (open, start) = (None, next);
            }
            _ => {}
        }
        at = next;
    }
    stretches.push((&text[start..], open.is_some()));
    stretches
}

/// The fence on a line: its character, its length, and whether the line has no other text. Only such a line closes a
/// block.
fn fence(line: &str) -> Option<(u8, usize, bool)> {
    let inner = line.trim_start_matches(' ');
    let mark = *inner.as_bytes().first()?;
    if line.len() - inner.len() > 3 || !matches!(mark, b'`' | b'~') {
        return None;
    }
    let length = inner.bytes().take_while(|b| *b == mark).count();
    let rest = &inner[length..];
    // "```a```" on one line is a code span and does not open a block.
    let is_fence = length >= 3 && !(mark == b'`' && rest.contains('`'));
    is_fence.then(|| (mark, length, rest.trim_matches(BLANKS).is_empty()))
}

/// Appends `text` with each code span blanked. A run of backticks is closed by a run of the same length.
fn blank_spans(text: &str, kept: &mut String) {
    let mut rest = text;
    while let Some(tick) = rest.find('`') {
        let run = rest[tick..].bytes().take_while(|b| *b == b'`').count();
        let after = &rest[tick + run..];
        kept.push_str(&rest[..tick]);
        let end = closing(after, run).unwrap_or_default();
        kept.extend(std::iter::repeat_n('`', run + end));
        rest = &after[end..];
    }
    kept.push_str(rest);
}

/// The end of the code span that a run of `length` backticks opened. `None` if nothing closes it.
fn closing(text: &str, length: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(tick) = text[at..].find('`') {
        let run = text[at + tick..].bytes().take_while(|b| *b == b'`').count();
        at += tick + run;
        if run == length {
            return Some(at);
        }
    }
    None
}

fn in_prose(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let (mut places, mut last_end) = (Vec::new(), 0);
    for (at, _) in text.match_indices('@') {
        // `@a/@b` is two mentions; `https://host/@user` is none.
        let follows_mention =
            at >= 1 && bytes[at - 1] == b'/' && last_end == at - 1 && last_end > 0;
        if !follows_mention && text[..at].chars().next_back().is_some_and(belongs_to_word) {
            continue;
        }
        let near = name_at(text, at + 1);
        if let Some(end) = near.and_then(|end| remote_end(text, at + 1, end)).or(near) {
            places.push((at, end));
            last_end = end;
        }
    }
    places
}

/// The end of the name that begins here.
fn name_at(text: &str, begin: usize) -> Option<usize> {
    let run = text.as_bytes()[begin..]
        .iter()
        .take_while(|b| b.is_ascii_alphanumeric() || b"._-".contains(b))
        .count();
    let name = text[begin..begin + run].trim_end_matches(['.', '-']);
    let end = begin + name.len();
    (id::is_name(name) && !goes_on(&text[end..])).then_some(end)
}

/// If the name between `begin` and `end` can be the tag of a room, and a name follows it: the end of that name.
fn remote_end(text: &str, begin: usize, end: usize) -> Option<usize> {
    let tag = &text[begin..end];
    let is_followed = text[end..].starts_with(':') && !is_prefix(tag) && reserved(tag).is_none();
    is_followed.then(|| name_at(text, end + 1)).flatten()
}

/// Returns true if a character before an `@` makes it part of a mail address, a path or another
/// word.
fn belongs_to_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '%' | '/' | '\\' | '@' | '=')
}

/// `@scope/package`, `@user@host` and names in other scripts are not handles of this room.
fn goes_on(rest: &str) -> bool {
    let mut chars = rest.chars();
    match chars.next() {
        Some('/') => chars.next().is_some_and(char::is_alphanumeric),
        Some(c) => c == '@' || c.is_alphanumeric(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{mentions, without_mentions};

    #[test]
    fn names_are_found_once_and_in_order() {
        assert_eq!(
            mentions("@planner please, and @Sintra. Also @planner, (@agent_1_a.b)!"),
            ["@planner", "@Sintra", "@agent_1_a.b"]
        );
        assert_eq!(mentions("cc @a/@b and @channel"), ["@a", "@b", "@channel"]);
        assert_eq!(
            mentions("**@bob**'s turn; \"@eve\"; @all: stop"),
            ["@bob", "@eve", "@all"]
        );
    }

    #[test]
    fn a_letter_of_any_script_continues_a_word_and_a_sign_does_not() {
        assert_eq!(
            mentions("“@bob”，@eve！👋@carol… и@dave @éva @bobé 山@ann ½@x"),
            ["@bob", "@eve", "@carol"]
        );
    }

    #[test]
    fn a_name_of_another_room_has_its_tag() {
        assert_eq!(
            mentions("@po:Sintra, @po:all_engineer: go. @bob: hi"),
            ["@po:Sintra", "@po:all_engineer", "@bob"]
        );
        assert_eq!(
            mentions("@all:x @lane:web @human:x @po:a/b @po:é @po:a@b"),
            ["@all", "@lane", "@human", "@po"]
        );
    }

    #[test]
    fn mail_addresses_paths_and_packages_are_not_mentions() {
        assert!(
            mentions("user@host, a.b+c@d.example, https://x.example/@user, @types/node, @u@host, @, @-x, @é")
                .is_empty()
        );
    }

    #[test]
    fn a_text_is_returned_without_its_mentions() {
        let cases = [
            ("@bob please look", "please look"),
            ("please @bob and @carol look", "please and look"),
            ("all of it, @bob", "all of it,"),
            ("`@a` @b ünï x@y", "`@a` ünï x@y"),
            ("```\n@a\n```\n@b ok", "```\n@a\n```\nok"),
            ("@bob", ""),
            ("nobody", "nobody"),
        ];
        for (text, left) in cases {
            assert_eq!(without_mentions(text), left, "{text:?}");
        }
    }

    #[test]
    fn code_has_no_mentions() {
        assert_eq!(mentions("`@a` and ``x ` @b`` but @c"), ["@c"]);
        assert_eq!(mentions("```py\n@app.route\n``` \n@c"), ["@c"]);
        assert_eq!(mentions("~~~\n```\n@a\n~~~\n@c"), ["@c"]);
        assert_eq!(mentions("@c\n```\n@a never closed"), ["@c"]);
        assert_eq!(mentions("a ` alone, @c"), ["@c"]);
    }
}
