//! Formats mail in one line: sender, type, subject, id.

use crate::base::limits;
use crate::base::sanitize::brief;
use crate::message::id;
use crate::query::inbox::{InboxMessage, PLACED_DIRECTLY, RECORD_LOST};
use crate::query::view::age_if_old;
use std::collections::BTreeMap;

/// The longest id in a text. For a longer id the text has the number of the message: a UUID costs more than the rest of
/// the line.
const BRIEFING_ID: usize = 16;
/// The number of messages in the text at the start of a session.
const BRIEFING_NEWEST: usize = 5;
/// The number of senders with a count in the text.
const BRIEFING_SENDERS: usize = 5;

/// Characters reserved for the digest after the lines.
const DIGEST: usize = 250;

/// Messages with the same line: the newest of them and their number.
#[derive(Clone, Copy)]
struct RepeatedLine<'a> {
    newest: &'a InboxMessage,
    times: usize,
}

/// The text at the start of a session: counts by sender, the newest messages, and those not announced before; the rest as
/// a count. At most `most` characters.
pub(super) fn summary(
    agent: &str,
    most: usize,
    unread: usize,
    mails: &[InboxMessage],
    is_new: impl Fn(&InboxMessage) -> bool,
) -> String {
    let each: Vec<RepeatedLine> = mails
        .iter()
        .rev()
        .map(|newest| RepeatedLine { newest, times: 1 })
        .collect();
    let (mut named, mut left) = (Vec::new(), Vec::new());
    for (n, one) in each.iter().enumerate() {
        let is_named = n < BRIEFING_NEWEST || is_new(one.newest);
        if is_named { &mut named } else { &mut left }.push(*one);
    }
    let order = if each.len() > 1 { ", newest first" } else { "" };
    let others = unread.saturating_sub(each.len());
    let mut text = format!(
        "mailbag: you are {agent}; {unread} unread ({}){order}:",
        senders(&each, others)
    );
    let shown_lines = put(&mut text, &named, most.saturating_sub(DIGEST));
    left.extend(&named[shown_lines..]);
    add_rest(&mut text, &left, others);
    text
}

/// The text later in a session: at most `most` lines, one for each message or group of equal messages, and the rest as a
/// digest. Also returns the number of lines.
pub(super) fn news(
    unread: usize,
    mails: &[InboxMessage],
    most: usize,
    most_characters: usize,
) -> (String, usize) {
    let each = alike(mails);
    let shown = &each[..each.len().min(most)];
    let new = if mails.len() < unread && !shown.is_empty() {
        format!(", {} new", mails.len())
    } else {
        String::new()
    };
    let mut text = format!("mailbag: {unread} unread{new}:");
    if let ([one], 1) = (shown, each.len()) {
        return (format!("{text} {}", line(one)), 1);
    }
    let shown_lines = put(&mut text, shown, most_characters.saturating_sub(DIGEST));
    match shown_lines {
        0 => text.push_str(&format!(" {} new, {}", count(&each), senders(&each, 0))),
        _ => add_rest(&mut text, &each[shown_lines..], 0),
    }
    (text, shown_lines)
}

/// Adds the remaining messages as a count by sender.
fn add_rest(text: &mut String, rest: &[RepeatedLine], others: usize) {
    let all = others + count(rest);
    if all > 0 {
        text.push_str(&format!("\nand {all} more"));
    }
    if !rest.is_empty() {
        text.push_str(&format!(", {}", senders(rest, others)));
    }
}

fn count(each: &[RepeatedLine]) -> usize {
    each.iter().map(|alike| alike.times).sum()
}

/// Adds lines up to the limit, and returns their number.
fn put(text: &mut String, each: &[RepeatedLine], most: usize) -> usize {
    let mut length = text.chars().count();
    for (n, alike) in each.iter().enumerate() {
        let line = line(alike);
        length += 1 + line.chars().count();
        if length > most {
            return n;
        }
        text.push('\n');
        text.push_str(&line);
    }
    each.len()
}

fn alike(mails: &[InboxMessage]) -> Vec<RepeatedLine<'_>> {
    let mut each: Vec<RepeatedLine> = Vec::new();
    let mut at = BTreeMap::new();
    for mail in mails {
        let line = (
            &mail.from,
            &mail.kind,
            mail.priority,
            &mail.closed,
            about(mail),
        );
        let n = *at.entry(line).or_insert(each.len());
        match each.get_mut(n) {
            Some(alike) => {
                alike.newest = mail;
                alike.times += 1;
            }
            None => each.push(RepeatedLine {
                newest: mail,
                times: 1,
            }),
        }
    }
    each
}

fn line(alike: &RepeatedLine) -> String {
    let mail = alike.newest;
    if let Some(problem) = &mail.problem {
        let file = brief(&mail.file.to_string_lossy(), limits::FILE_NAME);
        return if problem == PLACED_DIRECTLY || problem == RECORD_LOST {
            format!("a file {problem}, {file}")
        } else {
            format!("a file that is not a message, {file}")
        };
    }
    let times = if alike.times > 1 {
        format!("{} × ", alike.times)
    } else {
        String::new()
    };
    let priority = if mail.priority.is_normal() {
        String::new()
    } else {
        format!("{} ", mail.priority.as_str())
    };
    let closed = mail
        .closed
        .as_ref()
        .map(|closed| format!(" ({closed})"))
        .unwrap_or_default();
    let (kind, from) = (
        brief(&mail.kind, limits::NAME),
        brief(&mail.from, limits::NAME),
    );
    let about = about(mail)
        .map(|about| format!(", “{about}”"))
        .unwrap_or_default();
    let wanted = if mail.requires_response && mail.kind != "question" {
        ", answer expected"
    } else {
        ""
    };
    let newest = if alike.times > 1 { "newest " } else { "" };
    let age = age_if_old(&mail.accepted_at)
        .map(|age| format!(", {age}"))
        .unwrap_or_default();
    format!(
        "{times}{priority}{kind}{closed} from {from}{about}{wanted}, {newest}{}{age}",
        reference(mail)
    )
}

/// A reference for commands: the id, or if the id is long, the record number.
fn reference(mail: &InboxMessage) -> String {
    match mail.seq {
        Some(seq) if mail.id.len() > BRIEFING_ID => format!("#{seq}"),
        _ => brief(&mail.id, limits::MESSAGE_ID),
    }
}

/// How a command names the message: its record number, or its id. `None` if that could be read as something else.
pub(super) fn named(mail: &InboxMessage) -> Option<String> {
    mail.seq.map(|seq| seq.to_string()).or_else(|| {
        Some(mail.id.clone()).filter(|id| id::is_message_id(id) && id.len() <= BRIEFING_ID)
    })
}

/// The subject, else the beginning of the body, else the change of claims.
fn about(mail: &InboxMessage) -> Option<String> {
    let about = mail
        .subject
        .as_deref()
        .or(mail.preview.as_deref())
        .or(mail.change.as_deref())?;
    Some(brief(about, limits::BRIEFING_SUBJECT)).filter(|about| !about.is_empty())
}

/// The sender of a line. `None` for a file that is not mail.
fn sender(mail: &InboxMessage) -> &str {
    if mail.from.is_empty() {
        "no known sender"
    } else {
        &mail.from
    }
}

/// The senders, in descending order of their number of messages, and the number of other messages.
fn senders(each: &[RepeatedLine], others: usize) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for alike in each {
        *counts.entry(sender(alike.newest)).or_default() += alike.times;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(from, count)| (std::cmp::Reverse(count), from));
    let more = counts.split_off(counts.len().min(BRIEFING_SENDERS));
    if let ([(from, _)], 0) = (counts.as_slice(), others) {
        return format!("from {}", brief(from, limits::DISPLAY_NAME * 2));
    }
    let mut parts: Vec<String> = counts
        .iter()
        .map(|(from, count)| format!("{count} from {}", brief(from, limits::DISPLAY_NAME * 2)))
        .collect();
    if !more.is_empty() {
        let messages: usize = more.iter().map(|(_, count)| count).sum();
        parts.push(format!("{messages} from {} more senders", more.len()));
    }
    match others {
        0 => {}
        1 => parts.push(format!("{others} other")),
        _ => parts.push(format!("{others} others")),
    }
    parts.join(", ")
}
