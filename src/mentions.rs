//! Who a text mentions: the `@names` in it, leaving out mail addresses, code and decorators.

use crate::id;

/// The mentions in `text`, as `@name`, each once, in order. What the names mean is not known here: a handle that
/// nobody has is left for whoever resolves them to ignore.
pub fn mentions(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    if !text.contains('@') {
        return found;
    }
    for prose in outside_fences(text) {
        for name in in_prose(&outside_spans(prose)) {
            if !found.iter().any(|f| f[1..] == *name) {
                found.push(format!("@{name}"));
            }
        }
    }
    found
}

/// The stretches of `text` that are not in a fenced code block. A fence that is never closed runs to the end.
fn outside_fences(text: &str) -> Vec<&str> {
    let (mut stretches, mut start, mut at) = (Vec::new(), 0, 0);
    let mut open: Option<(u8, usize)> = None;
    for line in text.split_inclusive('\n') {
        let next = at + line.len();
        match (open, fence(line)) {
            (None, Some((mark, length, _))) => {
                stretches.push(&text[start..at]);
                open = Some((mark, length));
            }
            (Some((mark, length)), Some((m, l, true))) if m == mark && l >= length => {
                open = None;
                start = next;
            }
            _ => {}
        }
        at = next;
    }
    if open.is_none() {
        stretches.push(&text[start..]);
    }
    stretches
}

/// The fence that a line is: its mark, how many of it, and whether nothing else stands on the line (only such a line
/// closes a block).
fn fence(line: &str) -> Option<(u8, usize, bool)> {
    let inner = line.trim_start_matches(' ');
    let mark = *inner.as_bytes().first()?;
    if line.len() - inner.len() > 3 || !matches!(mark, b'`' | b'~') {
        return None;
    }
    let length = inner.bytes().take_while(|b| *b == mark).count();
    let rest = &inner[length..];
    // "```a```" on one line is a code span, not the opening of a block.
    let is_fence = length >= 3 && !(mark == b'`' && rest.contains('`'));
    is_fence.then(|| (mark, length, rest.trim().is_empty()))
}

/// `text` with its code spans cut out, a blank in the place of each. A run of backticks is closed by a run as long.
fn outside_spans(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(tick) = rest.find('`') {
        let run = rest[tick..].bytes().take_while(|b| *b == b'`').count();
        let after = &rest[tick + run..];
        kept.push_str(&rest[..tick]);
        match closing(after, run) {
            Some(end) => {
                kept.push('`');
                rest = &after[end..];
            }
            None => {
                kept.push_str(&rest[tick..tick + run]);
                rest = after;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Where the code ends that a run of `length` backticks opened, or `None` if nothing closes it.
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

fn in_prose(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let (mut names, mut last_end) = (Vec::new(), 0);
    for (at, _) in text.match_indices('@') {
        // `@a/@b` names two; `https://host/@user` names nobody.
        let follows_mention = at >= 1 && bytes[at - 1] == b'/' && last_end == at - 1 && last_end > 0;
        if !follows_mention && text[..at].chars().next_back().is_some_and(belongs_to_word) {
            continue;
        }
        let run = bytes[at + 1..].iter().take_while(|b| b.is_ascii_alphanumeric() || b"._-".contains(b)).count();
        let name = text[at + 1..at + 1 + run].trim_end_matches(['.', '-']);
        let end = at + 1 + name.len();
        if id::is_name(name) && !goes_on(&text[end..]) {
            names.push(name);
            last_end = end;
        }
    }
    names
}

/// Does a character before an `@` make it part of a mail address, a path or another word?
fn belongs_to_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '%' | '/' | '\\' | '@' | '=')
}

/// `@scope/package`, `@user@host` and names in other scripts are no handles of this room.
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
    use super::mentions;

    #[test]
    fn names_are_found_once_and_in_order() {
        assert_eq!(
            mentions("@planner please, and @Sintra. Also @planner, (@agent_1_a.b)!"),
            ["@planner", "@Sintra", "@agent_1_a.b"]
        );
        assert_eq!(mentions("cc @a/@b and @channel"), ["@a", "@b", "@channel"]);
        assert_eq!(mentions("**@bob**'s turn; \"@eve\"; @all: stop"), ["@bob", "@eve", "@all"]);
    }

    #[test]
    fn mail_addresses_paths_and_packages_are_no_mentions() {
        assert!(
            mentions("user@host, a.b+c@d.example, https://x.example/@user, @types/node, @u@host, @, @-x, @é")
                .is_empty()
        );
    }

    #[test]
    fn code_is_no_mention() {
        assert_eq!(mentions("`@a` and ``x ` @b`` but @c"), ["@c"]);
        assert_eq!(mentions("```py\n@app.route\n``` \n@c"), ["@c"]);
        assert_eq!(mentions("~~~\n```\n@a\n~~~\n@c"), ["@c"]);
        assert_eq!(mentions("@c\n```\n@a never closed"), ["@c"]);
        assert_eq!(mentions("a ` alone, @c"), ["@c"]);
    }
}
