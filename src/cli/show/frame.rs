//! The frame around a message: its facts start at the left edge, and each line of its sender is indented, so that no text
//! can look like the head of another message.

pub(crate) use super::fit::{INDENT, folded, source};
use super::output::{BOLD, CommandOutput, DIM};
use crate::base::error::Result;
use crate::base::sanitize;

/// A fact: its name and its value in one line, which continues indented where a terminal would wrap it.
pub(crate) fn fact(out: &mut CommandOutput, name: &str, value: &str) -> Result<()> {
    let text = format!("{name}: {}", sanitize::line(value));
    let lines = folded(&text, out.width(), INDENT);
    let painted = out.paint(BOLD, &format!("{name}:"));
    for (n, line) in lines.iter().enumerate() {
        let rest = line.strip_prefix(name);
        match rest.and_then(|rest| rest.strip_prefix(':')) {
            Some(rest) if n == 0 => out.line(format!("{painted}{rest}"))?,
            _ => out.line(line)?,
        }
    }
    Ok(())
}

/// A text from a sender, each line indented.
pub(crate) fn text(out: &mut CommandOutput, text: &str, indent: &str) -> Result<()> {
    let text = sanitize::block(text.trim_end_matches('\n'));
    if text.is_empty() {
        return Ok(());
    }
    text.split('\n').try_for_each(|line| {
        // The width of a tab depends on the terminal.
        let line = if out.width().is_some() {
            line.replace('\t', INDENT)
        } else {
            line.to_owned()
        };
        let lines = folded(&format!("{indent}{line}"), out.width(), indent);
        lines.iter().try_for_each(|line| out.line(line))
    })
}

/// A line of minor details, continued with an indent.
pub(crate) fn dim(out: &mut CommandOutput, text: &str, indent: &str) -> Result<()> {
    for line in folded(&sanitize::line(text), out.width(), indent) {
        let line = out.paint(DIM, &line);
        out.line(line)?;
    }
    Ok(())
}

/// A text with a title, such as an attached file.
pub(crate) fn titled(out: &mut CommandOutput, title: &str, content: &str) -> Result<()> {
    // A name of blanks only would leave an empty title.
    let title = if sanitize::line(title).trim().is_empty() {
        "\"\""
    } else {
        title
    };
    out.line("")?;
    dim(out, &format!("--- {title}"), INDENT)?;
    text(out, content, INDENT)
}
