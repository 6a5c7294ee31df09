//! Completion with Tab: names of agents, numbers of items, and the words that answer the chosen item.

use super::board::{ItemBoard, NumberedItem};
use super::meaning::words;
use crate::room::registry::Registry;

/// The beginning of the line up to the cursor, completed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Completion {
    /// Where the completed word begins.
    pub(super) from: usize,
    /// The new text.
    pub(super) text: String,
    /// The possible words, if there are several.
    pub(super) choices: Vec<String>,
}

/// Completes the word before the cursor. `None` if nothing begins so.
pub(super) fn complete(before: &str, board: &ItemBoard, registry: &Registry) -> Option<Completion> {
    let (from, choices) = candidates(before, board, registry);
    let typed = &before[from..];
    let mut fitting: Vec<String> = choices
        .into_iter()
        .filter(|word| begins(word, typed))
        .collect();
    fitting.dedup();
    match fitting.as_slice() {
        [] => None,
        [one] => Some(Completion {
            from,
            text: format!("{one} "),
            choices: Vec::new(),
        }),
        [first, others @ ..] => {
            let common = others.iter().fold(first.as_str(), |common, other| {
                common_beginning(common, other)
            });
            // The typed text stays if the words differ in letter case.
            let text = if common.len() > typed.len() {
                common
            } else {
                typed
            }
            .to_owned();
            Some(Completion {
                from,
                text,
                choices: fitting,
            })
        }
    }
}

/// Where the word begins, and the words that are possible there.
fn candidates(before: &str, board: &ItemBoard, registry: &Registry) -> (usize, Vec<String>) {
    let word = before.rfind(char::is_whitespace).map_or(0, |at| {
        at + before[at..].chars().next().map_or(1, char::len_utf8)
    });
    if before[word..].starts_with('@') {
        return (word, names(registry));
    }
    let first = before.split(char::is_whitespace).next().unwrap_or_default();
    if first.len() < before.len() {
        let number = first.trim_end_matches([':', ',']);
        let slot = match number.strip_prefix('#') {
            Some(seq) => seq.parse().ok().and_then(|seq| board.recorded(seq)),
            None => number
                .parse()
                .ok()
                .and_then(|n| board.numbered(n).or_else(|| board.recorded(n))),
        };
        let from = before.len() - before[first.len()..].trim_start().len();
        return slot.map_or((word, Vec::new()), |slot| (from, words(slot)));
    }
    if first.starts_with('#') {
        return (
            0,
            board
                .open()
                .filter(|slot| slot.item.seq > 0)
                .map(|slot| format!("#{}", slot.item.seq))
                .collect(),
        );
    }
    let is_number = first.starts_with(|c: char| c.is_ascii_digit()) || first.is_empty();
    (
        0,
        if is_number {
            board.open().map(NumberedItem::handle).collect()
        } else {
            names(registry)
        },
    )
}

fn names(registry: &Registry) -> Vec<String> {
    let there = registry.agents().iter().filter(|agent| !agent.is_retired());
    let mut names: Vec<String> = there.map(|agent| format!("@{}", agent.id)).collect();
    names.extend(
        registry
            .roles()
            .keys()
            .flat_map(|role| [format!("@all_{role}"), format!("@any_{role}")]),
    );
    names.extend(
        registry
            .lanes()
            .iter()
            .map(|lane| format!("@{}", lane.name)),
    );
    names.push("@all".into());
    names
}

// A name is completed also without its sign.
fn begins(word: &str, typed: &str) -> bool {
    let word = if typed.starts_with('@') {
        word
    } else {
        word.trim_start_matches('@')
    };
    word.to_lowercase().starts_with(&typed.to_lowercase())
}

fn common_beginning<'w>(one: &'w str, other: &str) -> &'w str {
    let end = one
        .char_indices()
        .zip(other.chars())
        .find(|((_, a), b)| a != b)
        .map(|((at, _), _)| at);
    &one[..end.unwrap_or_else(|| one.len().min(other.len()))]
}
