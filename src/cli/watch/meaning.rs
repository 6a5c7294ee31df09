//! The meaning of a typed line: an answer to an item, or a message.

use super::board::{ItemBoard, NumberedItem};
use crate::base::error::{Error, Result};
use crate::base::text::quoted;
use crate::base::{limits, sanitize};
use crate::commands::answer::ItemAction;
use crate::commands::approval::chosen;
use crate::commands::chat_input;
use crate::message::decision;
use crate::query::timeline::ChannelSelection;

/// The meaning of a typed line.
#[derive(Debug)]
pub(super) enum InputMeaning<'b> {
    /// A message.
    Message,
    /// An item, without an answer.
    Item(&'b NumberedItem),
    /// An answer to an item.
    Answer(&'b NumberedItem, ItemAction),
}

/// A line that begins with a number of an item, or with one agent that waits for an answer, can be an answer. A line that
/// looks like an answer and is none is an error: it must not become a message to others. A line that begins with a blank is
/// always a message.
pub(super) fn meaning<'b>(
    line: &str,
    board: &'b ItemBoard,
    channels: &ChannelSelection,
    id_of: impl Fn(&str) -> Option<String>,
) -> Result<InputMeaning<'b>> {
    if line.starts_with(char::is_whitespace) {
        return Ok(InputMeaning::Message);
    }
    let line = line.trim_end();
    if let Some((name, text)) = to_one_agent(line) {
        return match board.open().next().and_then(|_| id_of(name)) {
            Some(agent) => answer_to_agent(board, &agent, text),
            None => Ok(InputMeaning::Message),
        };
    }
    let Some(numbered) = NumberedInput::read(line) else {
        return Ok(InputMeaning::Message);
    };
    let is_also_a_message = !numbered.explicit && chat_input::draft(line, channels).is_ok();
    match numbered.slot(board) {
        Some(slot) => numbered.answer(slot, is_also_a_message),
        None if numbered.is_surely_an_answer() => Err(numbered.not_open()),
        None => Ok(InputMeaning::Message),
    }
}

/// The agent and the text of `@agent text`, if there is one agent in front.
fn to_one_agent(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.strip_prefix('@')?.split_once(char::is_whitespace)?;
    let text = text.trim();
    (!text.is_empty() && !text.starts_with('@'))
        .then(|| (name.trim_end_matches([',', ':', ';']), text))
}

fn answer_to_agent<'b>(board: &'b ItemBoard, agent: &str, text: &str) -> Result<InputMeaning<'b>> {
    let action = |slot: &NumberedItem| match slot.item.kind {
        "question" => Some(ItemAction::Reply(text.to_owned())),
        "approval" => decision::option(&slot.item.options, text).map(|option| decide(slot, option)),
        _ => None,
    };
    let of_agent = board.open().filter(|slot| slot.item.from == agent);
    let mut possible: Vec<(&NumberedItem, ItemAction)> = of_agent
        .filter_map(|slot| Some((slot, action(slot)?)))
        .collect();
    match possible.len() {
        0 => Ok(InputMeaning::Message),
        1 => Ok(possible
            .pop()
            .map_or(InputMeaning::Message, |(slot, action)| {
                InputMeaning::Answer(slot, action)
            })),
        many => {
            let names: Vec<String> = possible
                .iter()
                .map(|(slot, _)| format!("{} ({})", slot.handle(), slot.name()))
                .collect();
            Err(Error::usage(
                format!(
                    "this could answer {many} items of {agent}: {}",
                    names.join(", ")
                ),
                "begin with the number instead of the name, or with a blank for a message that answers none",
            ))
        }
    }
}

/// A line that begins with a number.
struct NumberedInput<'t> {
    number: u64,
    /// True for `#12`.
    explicit: bool,
    /// True if the text is separated from the number.
    separated: bool,
    text: &'t str,
}

impl NumberedInput<'_> {
    fn read(line: &str) -> Option<NumberedInput<'_>> {
        let digits = line.strip_prefix('#').unwrap_or(line);
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        let number = digits[..end].parse().ok()?;
        let rest = digits[end..]
            .strip_prefix([':', ','])
            .unwrap_or(&digits[end..]);
        let separated = rest.len() < digits[end..].len()
            || rest.is_empty()
            || rest.starts_with(char::is_whitespace);
        Some(NumberedInput {
            number,
            explicit: digits.len() < line.len(),
            separated,
            text: rest.trim(),
        })
    }

    /// A number of one digit is the number in the list: a record number of one digit could mean another item.
    fn slot<'b>(&self, board: &'b ItemBoard) -> Option<&'b NumberedItem> {
        if self.explicit || self.number > 9 {
            board.recorded(self.number)
        } else {
            board.numbered(self.number)
        }
    }

    fn is_one_word(&self) -> bool {
        !self.text.is_empty() && !self.text.contains(char::is_whitespace)
    }

    /// Returns true if this is an answer even if no item has the number.
    fn is_surely_an_answer(&self) -> bool {
        let is_in_list = (1..=9).contains(&self.number);
        self.explicit
            || self.is_one_word() && (is_in_list || self.separated)
            || is_in_list && self.separated
    }

    fn not_open(&self) -> Error {
        let sign = if self.explicit || self.number > 9 {
            "#"
        } else {
            ""
        };
        Error::not_found(
            format!("no open item has the number {sign}{}", self.number),
            "the list above the line has the numbers; begin with a blank to send the line as a message",
        )
    }

    fn answer<'b>(
        &self,
        slot: &'b NumberedItem,
        is_also_a_message: bool,
    ) -> Result<InputMeaning<'b>> {
        let NumberedInput {
            text, separated, ..
        } = *self;
        if text.is_empty() {
            return Ok(InputMeaning::Item(slot));
        }
        if let Some(action) = word(slot, text) {
            return Ok(InputMeaning::Answer(slot, action));
        }
        let takes_text = matches!(slot.item.kind, "question" | "escalation");
        match () {
            () if takes_text && !is_also_a_message => Ok(InputMeaning::Answer(
                slot,
                ItemAction::Reply(text.to_owned()),
            )),
            () if !separated && !self.is_one_word() => Ok(InputMeaning::Message),
            () if takes_text => Err(Error::usage(
                format!("this is either a message or a reply to the {}", slot.name()),
                format!(
                    "begin with #{} for the reply, or with a blank for the message",
                    slot.item.seq
                ),
            )),
            () => Err(Error::usage(
                format!("{} does not answer the {}", quoted(text), slot.name()),
                format!(
                    "{}; begin with a blank to send the line as a message",
                    forms(slot)
                ),
            )),
        }
    }
}

/// The action that a word or a beginning of one means for this item.
fn word(slot: &NumberedItem, text: &str) -> Option<ItemAction> {
    let lower = text.to_lowercase();
    let begins = |word: &str| word.starts_with(&lower);
    match slot.item.kind {
        "approval" => {
            let options = &slot.item.options;
            let exact = decision::option(options, text).map(|option| decide(slot, option));
            exact
                .or_else(|| dismissal(&lower))
                .or_else(|| chosen(options, text).map(|option| decide(slot, option)))
        }
        "offer" if begins("accept") => Some(ItemAction::Accept),
        "offer" if begins("decline") => Some(ItemAction::Decline),
        "claim" if begins("release") => Some(ItemAction::Release(None)),
        "question" | "escalation" | "rejection" => dismissal(&lower),
        _ => None,
    }
}

fn decide(slot: &NumberedItem, option: &str) -> ItemAction {
    ItemAction::Decide {
        option: option.to_owned(),
        digest: slot.item.digest.clone().unwrap_or_default(),
    }
}

fn dismissal(text: &str) -> Option<ItemAction> {
    (text == "dismiss").then_some(ItemAction::Dismiss)
}

/// The words that answer an item, as a person types them.
pub(super) fn words(slot: &NumberedItem) -> Vec<String> {
    let more: &[&str] = match slot.item.kind {
        "approval" | "question" | "escalation" | "rejection" => &["dismiss"],
        "offer" => &["accept", "decline"],
        "claim" => &["release"],
        _ => &[],
    };
    slot.item
        .options
        .iter()
        .cloned()
        .chain(more.iter().map(|word| (*word).to_owned()))
        .collect()
}

/// How to answer an item.
pub(super) fn forms(slot: &NumberedItem) -> String {
    let handle = slot.handle();
    let more = match slot.item.kind {
        "approval" => "dismiss",
        "question" | "escalation" => "a reply, or dismiss",
        "offer" => "accept or decline",
        "claim" => "release",
        "rejection" => "dismiss",
        _ => return format!("run `{}` in another terminal", slot.item.command),
    };
    let words = [slot.options(), vec![more.to_owned()]].concat().join(", ");
    format!("write {handle} and one of: {words}")
}

/// The answer that the enter key gives to the item on this line. An approval is decided after its text was shown.
pub(super) fn preview(meaning: &InputMeaning<'_>, is_shown: bool) -> Option<String> {
    match meaning {
        InputMeaning::Message => None,
        InputMeaning::Item(slot) | InputMeaning::Answer(slot, _) if !slot.open => {
            Some(format!("{} is settled: {}", slot.handle(), slot.name()))
        }
        InputMeaning::Item(slot) => Some(format!("{}: {}", slot.name(), forms(slot))),
        InputMeaning::Answer(slot, action) => {
            let does = match action {
                ItemAction::Decide { option, .. } => {
                    let verb = if is_shown {
                        "decides"
                    } else {
                        "shows the text, then decides"
                    };
                    format!("{verb} {}:", sanitize::path(option, limits::TITLE))
                }
                ItemAction::Reply(_) => "replies to".to_owned(),
                ItemAction::Accept => "accepts".to_owned(),
                ItemAction::Decline => "declines".to_owned(),
                ItemAction::Release(_) => "releases the work that blocks the".to_owned(),
                ItemAction::Dismiss => "dismisses".to_owned(),
            };
            Some(format!("Enter {does} {}", slot.name()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Priority;
    use crate::query::pending::{PendingItem, PendingList};

    fn item(kind: &'static str, seq: u64, options: &[&str]) -> PendingItem {
        let text = str::to_owned;
        PendingItem {
            kind,
            seq,
            message: format!("planner/{seq}"),
            from: text("planner"),
            title: text("Title"),
            since: text("2026-11-21T10:00:00Z"),
            deadline: None,
            options: options.iter().map(|option| text(option)).collect(),
            digest: None,
            text: None,
            priority: Priority::default(),
            blocked: true,
            inactive: false,
            command: text("mailbag release src --of bob"),
            owned: None,
        }
    }

    /// The meaning of a line in a view with an approval (1, #12), a question (2, #14), a rejection (3, #5), a claim (4, #7)
    /// and an offer (5, #9).
    fn means(line: &str, channels: &[&str]) -> String {
        let mut board = ItemBoard::default();
        let (approval, question) = (
            item("approval", 12, &["roll back", "yes", "dismissal"]),
            item("question", 14, &[]),
        );
        let others = [
            item("rejection", 5, &[]),
            item("claim", 7, &[]),
            item("offer", 9, &[]),
        ];
        let items = [vec![approval, question], others.to_vec()].concat();
        board.update(
            PendingList {
                agent: "human".into(),
                at: String::new(),
                older: 0,
                items,
            },
            false,
        );
        let channels = ChannelSelection(channels.iter().map(|&name| name.to_owned()).collect());
        match meaning(line, &board, &channels, |name| {
            (name.to_lowercase() == "planner").then(|| "planner".to_owned())
        }) {
            Err(_) => "error".into(),
            Ok(InputMeaning::Message) => "message".into(),
            Ok(InputMeaning::Item(slot)) => format!("item {}", slot.item.seq),
            Ok(InputMeaning::Answer(slot, ItemAction::Decide { option, .. })) => {
                format!("{} Decide({option:?})", slot.item.seq)
            }
            Ok(InputMeaning::Answer(slot, action)) => format!("{} {action:?}", slot.item.seq),
        }
    }

    #[test]
    fn numbers_name_items_and_words_answer_them() {
        let yes = "12 Decide(\"yes\")";
        for line in [
            "1 yes", "1y", "1 Y", "1: y", "1 2", "#12 yes", "#12: yes", "12 y", "1 yes ", "#12yes",
        ] {
            assert_eq!(means(line, &["main"]), yes, "{line}");
        }
        let others = [
            ("1 roll back", "12 Decide(\"roll back\")"),
            ("1r", "12 Decide(\"roll back\")"),
            ("1 dismiss", "12 Dismiss"),
            ("1 dismissal", "12 Decide(\"dismissal\")"),
            ("2 port 8080", "14 Reply(\"port 8080\")"),
            ("2 dismiss", "14 Dismiss"),
            ("3 dismiss", "5 Dismiss"),
            ("5a", "9 Accept"),
            ("5 decline", "9 Decline"),
            ("1", "item 12"),
            ("#14 ", "item 14"),
            ("@planner yes", "error"),
            ("@planner port 8080", "14 Reply(\"port 8080\")"),
            ("@Planner: port 8080", "14 Reply(\"port 8080\")"),
        ];
        for (line, wanted) in others {
            assert_eq!(means(line, &[]), wanted, "{line}");
        }
    }

    #[test]
    fn what_looks_like_an_answer_and_is_none_is_an_error() {
        // P186
        for line in [
            "6 yes",
            "6y",
            "#6 yes",
            "6 things to do",
            "1 maybe",
            "12 no",
            "7 yes",
            "0 yes",
            "4 yes",
            "3 maybe later",
            "#99",
        ] {
            for channels in [&[][..], &["main"]] {
                assert_eq!(means(line, channels), "error", "{line}");
            }
        }
        // In a channel, a text to a question by its short number could as well be a message.
        for line in ["2 port 8080", "2 for @planner"] {
            assert_eq!(means(line, &["main"]), "error", "{line}");
        }
        assert_eq!(means("#14 port 8080", &["main"]), "14 Reply(\"port 8080\")");
    }

    #[test]
    fn other_lines_are_messages() {
        let lines = [
            " 1 yes",
            "\t#12 yes",
            "hello",
            "2026 was long",
            "2026",
            "1st draft is done",
            "10x faster",
            "@writer yes",
            "@planner @writer yes",
            "@planner",
            "#topic yes",
            "yes 1",
            "",
            "99999999999999999999 yes",
            "#",
        ];
        for line in lines {
            assert_eq!(means(line, &["main"]), "message", "{line}");
        }
    }
}
