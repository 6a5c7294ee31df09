//! Text in Markdown files.

use crate::base::sanitize;

/// The start of a text on one line, as plain text in Markdown: it shows as written, and begins no heading, list, link,
/// table or HTML.
pub fn brief(text: &str, most: usize) -> String {
    escaped(&sanitize::brief(text, most))
}

/// One line without hidden characters. Characters with a meaning in Markdown are escaped, except an underscore inside a
/// word.
fn escaped(line: &str) -> String {
    let mut escaped = String::with_capacity(line.len());
    let (mut before, mut rest) = (None, line.chars().peekable());
    while let Some(c) = rest.next() {
        let has_meaning = match c {
            '_' => {
                !before.is_some_and(char::is_alphanumeric)
                    || !rest.peek().is_some_and(|next| next.is_alphanumeric())
            }
            '#' | '+' | '-' | '=' => before.is_none(),
            c => matches!(
                c,
                '\\' | '`' | '*' | '[' | ']' | '<' | '>' | '|' | '~' | '&' | '$' | '!'
            ),
        };
        if has_meaning {
            escaped.push('\\');
        }
        escaped.push(c);
        before = Some(c);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_shows_as_text_and_no_second_line_is_possible() {
        let hostile = "# Done\n- [x](http://a) `code` *b* _c_ snake_case <b>|x| &amp; ~~d~~ $e$ ![i](j)\r\n\u{202e}";
        let wanted = r"\# Done - \[x\](http://a) \`code\` \*b\* \_c\_ snake_case \<b\>\|x\| \&amp; \~\~d\~\~ \$e\$ \!\[i\](j) \\u{202e}";
        assert_eq!(brief(hostile, 200), wanted);
        assert_eq!(brief("- a", 9), r"\- a");
        assert_eq!(brief("a\\", 9), r"a\\");
    }
}
