//! The grammar of addresses: the kinds of address that `to` can contain.
//!
//! This module does not use a registry. [`Address::parse`] classifies a text by its form only, so a client without a
//! registry can check its own messages. [`crate::room::resolve`] looks up the names.

#![allow(
    clippy::result_large_err,
    reason = "a problem is built for rejected input only"
)]

use crate::base::error::Problem;
use crate::base::limits;
use crate::base::lookalike::name_skeleton;
pub use crate::base::text::quoted;
use crate::message::id;
use crate::message::subject::ClaimSubject;
use serde_json::json;
use std::fmt;

/// The longest glob. A name has at most [`limits::NAME`] bytes, so a longer pattern is probably a mistake.
pub const GLOB_BYTES: usize = 2 * limits::NAME;
/// The most wildcards (`*`, `?`, `[`, `{`) in one glob. Twelve `?` match a display name. With more of them, matching
/// 10,000 names takes tens of milliseconds (measured), although the time stays linear.
pub const GLOB_WILDCARDS: usize = limits::DISPLAY_NAME;
const _: () = assert!(GLOB_WILDCARDS < GLOB_BYTES);
/// The longest address. It also limits the nesting of `po:cap:…`.
pub const ADDRESS_BYTES: usize = 256;
const _: () = assert!(limits::NAME + 1 + GLOB_BYTES <= ADDRESS_BYTES);

/// The words before a colon that have a meaning of their own, in any letter case. No room can have such a tag.
pub const PREFIXES: [&str; 5] = ["cap", "owner", "task", "lane", "repo"];

/// An address as written: one recipient or a group.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// `all`, `@all`, `@channel`: every agent but the sender.
    All,
    /// `all_engineer`: every agent of a role.
    Role(String),
    /// `any_engineer`: one agent of a role.
    Any(String),
    /// `@planner`: an id, a display name, an alias or a role.
    At(String),
    /// `planner`: an id, a display name or an alias.
    Word(String),
    /// `engineer_*`: every agent with an id or display name that matches the pattern as a whole.
    Glob(String),
    /// `#auth-module`: the subscribers of a topic.
    Topic(String),
    /// `cap:has-telegram`: every agent with the capability.
    Capability(String),
    /// `owner:src/auth.rs`, `owner:lane:web`: the agents that own this work.
    Owner(String),
    /// `lane:web`: the owners of a lane in the room's charter.
    Lane(String),
    /// `po:Sintra`, `@po:Sintra`: an address in another room, with that room's tag.
    Remote {
        /// The tag of the other room.
        tag: String,
        /// The recipient in that room: an address, or `*`.
        who: String,
    },
}

impl Address {
    /// Classifies a text by its form. A text of no valid form gives a problem with the code `bad_address` and no
    /// position.
    pub fn parse(text: &str) -> Result<Address, Problem> {
        shape(text).map_err(|problem| {
            let several = parts(text);
            if problem.fix.is_empty() || several.len() > 1 {
                mended(problem, &several)
            } else {
                problem
            }
        })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::All => f.write_str("all"),
            Address::Role(role) => write!(f, "all_{role}"),
            Address::Any(role) => write!(f, "any_{role}"),
            Address::At(word) => write!(f, "@{word}"),
            Address::Word(word) | Address::Glob(word) => f.write_str(word),
            Address::Topic(topic) => write!(f, "#{topic}"),
            Address::Capability(capability) => write!(f, "cap:{capability}"),
            Address::Owner(subject) => write!(f, "owner:{subject}"),
            Address::Lane(lane) => write!(f, "lane:{lane}"),
            Address::Remote { tag, who } => write!(f, "{tag}:{who}"),
        }
    }
}

/// The reserved word or form that `name` matches or looks like, without dots and dashes: `all`, `all_*`, `any_*`, `channel`,
/// `human`, `mailbag` or `system`. No agent, display name, alias or tag of a room may use one, except the human itself.
pub fn reserved(name: &str) -> Option<&'static str> {
    const WORDS: [&str; 5] = ["all", "channel", id::HUMAN, id::MAILBAG, "system"];
    let prefixed = [("all_", "all_*"), ("any_", "any_*")]
        .into_iter()
        .find(|(p, _)| after(name, p).is_some());
    let bare = name.replace(['.', '-', '_'], "");
    // A capital I looks like l.
    let looks = [name_skeleton(&bare), name_skeleton(&bare.replace('I', "l"))];
    // Two digits are a number, such as in the eleventh agent of `a1`, `a2` and so on.
    let has_number = bare
        .as_bytes()
        .windows(2)
        .any(|two| two.iter().all(u8::is_ascii_digit));
    prefixed.map(|(_, form)| form).or_else(|| {
        WORDS
            .into_iter()
            .find(|word| !has_number && looks.iter().any(|look| look == word))
    })
}

/// Returns true for a word with a special meaning before a colon.
pub fn is_prefix(tag: &str) -> bool {
    PREFIXES
        .iter()
        .any(|prefix| tag.eq_ignore_ascii_case(prefix))
}

/// Returns true for a display name: 1 to 12 ASCII letters.
pub fn is_display_name(text: &str) -> bool {
    (1..=limits::DISPLAY_NAME).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphabetic())
}

fn shape(text: &str) -> Result<Address, Problem> {
    if text.trim().is_empty() {
        return Err(bad("an address is empty".into()).fix("name an agent, or write `all`"));
    }
    if text.len() > ADDRESS_BYTES {
        return Err(bad(format!(
            "{} has {} bytes; an address has at most {ADDRESS_BYTES}",
            quoted(text),
            text.len()
        )));
    }
    if let Some(topic) = text.strip_prefix('#') {
        return name(text, topic, "a topic").map(Address::Topic);
    }
    if let Some(word) = text.strip_prefix('@') {
        if let Some((tag, who)) = word.split_once(':').filter(|(tag, _)| !is_prefix(tag)) {
            return remote(text, tag, who).map(with_at);
        }
        return word_of(text, word, Address::At);
    }
    if let Some((tag, who)) = text.split_once(':') {
        return match tag.to_ascii_lowercase().as_str() {
            "cap" => name(text, who, "a capability").map(Address::Capability),
            "owner" => ClaimSubject::parse(who)
                .map(|subject| Address::Owner(subject.to_string()))
                .map_err(|problem| Problem {
                    code: "bad_address".into(),
                    ..*problem
                }),
            "lane" => name(text, who, "a lane").map(Address::Lane),
            _ => remote(text, tag, who),
        };
    }
    if text.contains(['*', '?', '[', '{']) {
        return glob(text);
    }
    word_of(text, text, Address::Word)
}

/// A word with or without `@`: first the reserved words in any letter case, then `other`.
fn word_of(text: &str, word: &str, other: fn(String) -> Address) -> Result<Address, Problem> {
    let with_at = word.len() < text.len();
    if word.eq_ignore_ascii_case("all") || with_at && word.eq_ignore_ascii_case("channel") {
        return Ok(Address::All);
    }
    if let Some(role) = after(word, "all_") {
        return name(text, role, "a role").map(Address::Role);
    }
    if let Some(role) = after(word, "any_") {
        return name(text, role, "a role").map(Address::Any);
    }
    if with_at && word.contains(['*', '?', '[', '{', '#', ':', '@']) {
        let problem = bad(format!(
            "{} has an @ before a text that is not a name",
            quoted(text)
        ));
        return Err(match shape(word) {
            Ok(_) => problem
                .fix(format!("write it without the @: {}", quoted(word)))
                .example(json!(word)),
            Err(_) => problem,
        });
    }
    name(text, word, "an agent").map(other)
}

/// The text after a prefix. The prefix is lower case and matches in any letter case.
fn after<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix)
        .then(|| &text[prefix.len()..])
}

fn name(text: &str, name: &str, of: &str) -> Result<String, Problem> {
    if id::is_name(name) {
        return Ok(name.to_owned());
    }
    let what = format!(
        "{} is not a valid address: the name of {of} is 1 to {} of A-Z a-z 0-9 . _ -, beginning with a letter or digit",
        quoted(text),
        limits::NAME
    );
    Err(bad(what))
}

fn remote(text: &str, tag: &str, who: &str) -> Result<Address, Problem> {
    let tag = name(text, tag, "a room")?;
    if who.is_empty() {
        let what = format!("{} has a room and no address in it", quoted(text));
        let fix = format!(
            "write {0:?} for the agent {0}, or as in {0}:bob for the room {0}",
            tag
        );
        return Err(bad(what).fix(fix));
    }
    match shape(who) {
        Ok(Address::Remote { .. }) => Err(bad(format!(
            "{} contains the tags of two rooms",
            quoted(text)
        ))
        .fix("write one tag, as in `po:Sintra`")),
        Ok(_) => Ok(Address::Remote {
            tag,
            who: who.to_owned(),
        }),
        Err(problem) => Err(problem),
    }
}

/// `@po:engineers` is `@engineers` in the other room, which can be a role.
fn with_at(address: Address) -> Address {
    match address {
        Address::Remote { tag, who } if id::is_name(&who) => Address::Remote {
            tag,
            who: format!("@{who}"),
        },
        other => other,
    }
}

fn glob(text: &str) -> Result<Address, Problem> {
    let known = |c: char| c.is_ascii_alphanumeric() || "._-*?[]{}!^,".contains(c);
    let wildcards = text.matches(['*', '?', '[', '{']).count();
    if let Some(odd) = text.chars().find(|c| !known(*c)) {
        let what = format!(
            "the pattern {} contains {odd:?}, which cannot occur in a name",
            quoted(text)
        );
        return Err(bad(what));
    }
    if text.len() > GLOB_BYTES {
        let what = format!(
            "the pattern {} has {} characters; the limit is {GLOB_BYTES}",
            quoted(text),
            text.len()
        );
        return Err(bad(what).fix("write a shorter pattern"));
    }
    if wildcards > GLOB_WILDCARDS {
        let what = format!(
            "the pattern {} has {wildcards} wildcards; the limit is {GLOB_WILDCARDS}",
            quoted(text)
        );
        return Err(bad(what).fix("write a simpler pattern"));
    }
    if let Some(form @ ("all_*" | "any_*")) = reserved(text) {
        let what = format!(
            "{} is not a valid address: {form} takes a role name, not a pattern",
            quoted(text)
        );
        return Err(bad(what).fix("write `all` for all agents, or a role as in `all_engineer`"));
    }
    compiled(text).map(|_| Address::Glob(text.to_owned()))
}

/// The matcher of a glob. It takes linear time and matches whole names only.
pub(crate) fn compiled(pattern: &str) -> Result<globset::GlobMatcher, Problem> {
    let glob = globset::GlobBuilder::new(pattern)
        .case_insensitive(true)
        .backslash_escape(false)
        .build();
    glob.map(|g| g.compile_matcher()).map_err(|e| {
        bad(format!(
            "the pattern {} is not valid: {}",
            quoted(pattern),
            e.kind()
        ))
        .fix("use * ? [ab] or {one,two}")
    })
}

fn bad(what: String) -> Problem {
    Problem::new("bad_address", what)
}

/// The addresses in a text that was meant as one or several: in a list, or with words and punctuation between them.
fn parts(text: &str) -> Vec<String> {
    if let Ok(list) = serde_json::from_str::<Vec<String>>(text) {
        return list;
    }
    let around = ['<', '>', '(', ')', '"', '\'', '`'];
    let words = text
        .split([',', ';', ' ', '&', '+'])
        .map(|word| word.trim().trim_matches(around));
    words
        .filter(|word| !word.is_empty() && !word.eq_ignore_ascii_case("and"))
        .map(str::to_owned)
        .collect()
}

/// Suggests a correction of common mistakes: several addresses in one string, or other characters around an address.
fn mended(problem: Problem, parts: &[String]) -> Problem {
    const MOST: usize = 20;
    let whole = parts.iter().all(|part| shape(part).is_ok());
    match parts {
        [one] if whole => problem
            .fix(format!(
                "write {} without other characters around it",
                quoted(one)
            ))
            .example(json!(one)),
        [_, _, ..] if whole && parts.len() <= MOST => problem
            .fix(format!(
                "write several addresses as an array: {}",
                json!(parts)
            ))
            .example(json!(parts)),
        _ if !problem.fix.is_empty() => problem,
        _ => problem.fix("run `mailbag agent list` to list the registered agents"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_addresses_in_one_text_are_suggested_as_an_array() {
        for text in [
            "@bob, @carol",
            "bob,carol",
            "bob; carol",
            "@bob @carol",
            "bob and carol",
            "@bob & @carol",
            "[\"bob\", \"carol\"]",
            "@bob, all_engineers, #auth-module",
            " bob ",
            "@bob*",
            "@#auth-module",
            "@@bob",
            "@bob,",
            "<bob>",
        ] {
            let problem = Address::parse(text).expect_err(text);
            let example = problem
                .example
                .clone()
                .unwrap_or_else(|| panic!("{text}: {problem:#?}"));
            let all = example.as_array().cloned().unwrap_or_else(|| vec![example]);
            for one in &all {
                Address::parse(one.as_str().expect("a text"))
                    .unwrap_or_else(|e| panic!("{text}: {one}: {e:#?}"));
            }
            assert_eq!(
                all.len() > 1,
                text.contains("carol") || text.contains("engineers"),
                "{text}: {all:?}"
            );
        }
    }
}
