//! Our lines in a hook of git: between two markers, after the first line of a shell script.
//!
//! They do nothing on a machine without the program, and only the status [`STOPPED`] stops a commit: a program that fails
//! stops nothing.

use crate::base::text::{posix_shell_word, unquoted_shell_word};
use crate::clients::install::{EditError, marked};

/// The exit status of a check that stops a commit. No other failure has it.
pub const STOPPED: u8 = 10;

const BEGIN: &str = "# mailbag:begin";
const END: &str = "# mailbag:end";
/// The first line of a new hook.
pub(super) const FIRST_LINE: &str = "#!/bin/sh\n";

/// Shells with scripts that can be extended.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "zsh", "ksh", "ash"];

/// The call of the program in a hook.
pub(super) fn call(program: &str, hook: &str) -> String {
    format!("{} hook git {hook}", posix_shell_word(program))
}

/// The lines in a shell script.
pub(super) fn lines(program: &str, hook: &str) -> String {
    let (name, call) = (posix_shell_word(program), call(program, hook));
    let unless = format!("|| [ $? -ne {STOPPED} ] || exit 1");
    format!("if command -v {name} >/dev/null 2>&1; then\n    {call} {unless}\nfi\n")
}

/// The lines in one line, for files that have a shell command as a value.
pub(super) fn one_line(program: &str, hook: &str) -> String {
    lines(program, hook)
        .trim_end()
        .replace("then\n    ", "then ")
        .replace("\nfi", "; fi")
}

/// The text with our lines. `None` if it is not a script that can be extended.
pub(super) fn put(text: &str, program: &str, hook: &str) -> Result<Option<String>, EditError> {
    let (start, end) = match (place(text)?, end_of_first_line(text)) {
        (Some(place), _) => place,
        (None, Some(end)) => (end, end),
        (None, None) => return Ok(None),
    };
    Ok(Some(format!(
        "{}{BEGIN} (`mailbag uninstall git` removes these lines)\n{}{END}\n{}",
        &text[..start],
        lines(program, hook),
        &text[end..]
    )))
}

/// The text without our lines.
pub(super) fn take_out(text: &str) -> Result<String, EditError> {
    Ok(place(text)?.map_or_else(
        || text.to_owned(),
        |(start, end)| format!("{}{}", &text[..start], &text[end..]),
    ))
}

/// The program that our lines call.
pub(super) fn program(text: &str) -> Result<Option<String>, EditError> {
    Ok(place(text)?.and_then(|(start, end)| {
        let (_, rest) = text[start..end].split_once("command -v ")?;
        let (word, _) = rest.split_once(" >/dev/null")?;
        Some(unquoted_shell_word(word))
    }))
}

fn place(text: &str) -> Result<Option<(usize, usize)>, EditError> {
    marked(text, BEGIN, END)
}

/// The end of the `#!` line of a plain shell script.
fn end_of_first_line(text: &str) -> Option<usize> {
    let (first, rest) = text.split_once('\n')?;
    let interpreter = first.strip_prefix("#!")?;
    let words = interpreter
        .split_whitespace()
        .map(|word| word.rsplit('/').next().unwrap_or_default());
    // `env` may have options.
    let shell = words
        .filter(|word| !word.starts_with('-'))
        .find(|word| *word != "env" && *word != "busybox")?;
    let is_plain =
        SHELLS.contains(&shell) && !first.ends_with('\r') && !starts_another_program(rest);
    is_plain.then_some(first.len() + 1)
}

/// Returns true if a script runs another program on itself. Such a file is read in two languages.
fn starts_another_program(rest: &str) -> bool {
    rest.lines()
        .take(5)
        .any(|line| line.contains("exec") && line.contains("$0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_gets_our_lines_after_its_first_line_and_loses_them_again_to_the_byte() {
        for script in [
            "#!/bin/sh\n",
            "#!/usr/bin/env -S bash -e\necho a\nexit 0",
            "#!/bin/busybox sh\n\n\tx\r\n",
        ] {
            let put = |text: &str, program: &str| {
                let changed = put(text, program, "pre-commit").expect("both marks or none");
                changed.expect("a shell script")
            };
            let with = put(script, "mailbag");
            assert_eq!(put(&with, "mailbag"), with, "a second time");
            assert_eq!(
                (take_out(&with), program(&with)),
                (Ok(script.to_owned()), Ok(Some("mailbag".to_owned())))
            );
            let moved = put(&with, "/a b/it's/mailbag");
            assert_eq!(
                (take_out(&moved), program(&moved)),
                (
                    Ok(script.to_owned()),
                    Ok(Some("/a b/it's/mailbag".to_owned()))
                )
            );
        }
    }

    #[test]
    fn what_is_no_plain_shell_script_is_left_alone() {
        let polyglot = "#!/bin/sh\n''''exec python3 \"$0\" \"$@\" # '''\n";
        for other in [
            "",
            "echo a\n",
            "#!/usr/bin/env python3\n",
            "#!/bin/sh",
            "#!/bin/sh\r\necho\r\n",
            polyglot,
        ] {
            assert_eq!(put(other, "mailbag", "pre-commit"), Ok(None), "{other:?}");
        }
    }
}
