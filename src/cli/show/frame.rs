//! The frame around a message: its facts stand at the edge, and what its sender wrote stands further in, line by line,
//! so that no text can be taken for the head of another message.

use super::output::{BOLD, DIM, Output};
use crate::base::error::Result;
use crate::base::sanitize;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// How far what a sender wrote stands from the edge.
pub(crate) const INDENT: &str = "    ";

/// A fact: its name and its value, in one line that is continued further in where a terminal would fold it.
pub(crate) fn fact(out: &mut Output, name: &str, value: &str) -> Result<()> {
    let text = format!("{name}: {}", sanitize::line(value));
    let lines = folded(&text, out.width(), INDENT);
    let painted = out.paint(BOLD, &format!("{name}:"));
    for (n, line) in lines.iter().enumerate() {
        match line.strip_prefix(name).and_then(|rest| rest.strip_prefix(':')).filter(|_| n == 0) {
            Some(rest) => out.line(format!("{painted}{rest}"))?,
            None => out.line(line)?,
        }
    }
    Ok(())
}

/// A text of its sender, each line of it further in.
pub(crate) fn text(out: &mut Output, text: &str, indent: &str) -> Result<()> {
    let text = sanitize::block(text.trim_end_matches('\n'));
    if text.is_empty() {
        return Ok(());
    }
    text.split('\n').try_for_each(|line| {
        // A tab is as wide as the terminal likes.
        let line = if out.width().is_some() { line.replace('\t', INDENT) } else { line.to_owned() };
        let lines = folded(&format!("{indent}{line}"), out.width(), indent);
        lines.iter().try_for_each(|line| out.line(line))
    })
}

/// A line that matters less, continued further in.
pub(crate) fn dim(out: &mut Output, text: &str, indent: &str) -> Result<()> {
    for line in folded(&sanitize::line(text), out.width(), indent) {
        let line = out.paint(DIM, &line);
        out.line(line)?;
    }
    Ok(())
}

/// A text with a title, such as a file that came with a message.
pub(crate) fn titled(out: &mut Output, title: &str, content: &str) -> Result<()> {
    // A name of nothing but blanks would leave a line that says nothing.
    let title = if sanitize::line(title).trim().is_empty() { "\"\"" } else { title };
    out.line("")?;
    dim(out, &format!("--- {title}"), INDENT)?;
    text(out, content, INDENT)
}

/// A line as a terminal of that width shows it without folding it by itself.
fn folded(line: &str, width: Option<usize>, indent: &str) -> Vec<String> {
    let Some(width) = width.filter(|width| *width > indent.len() * 2) else { return vec![line.to_owned()] };
    let options = Options::new(width)
        .subsequent_indent(indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::wrap(line, options).into_iter().map(|line| line.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_fold_to_the_edge_is_folded_further_in() {
        let line = format!("{INDENT}{}from: human", "x".repeat(20));
        assert_eq!(folded(&line, Some(24), INDENT), ["    xxxxxxxxxxxxxxxxxxxx", "    from: human"]);
        assert_eq!(folded(&line, None, INDENT), [line]);
    }
}
