//! The items that need the person, each with a number to answer with, and how they are shown.

use super::lines::Palette;
use crate::base::limits;
use crate::base::sanitize;
use crate::base::text::count_of;
use crate::cli::show::row::cut;
use crate::query::pending::{self, PendingCount, PendingItem, PendingList, PendingRow, grouped};
use ratatui::text::{Line, Span};

/// The highest number of one digit.
const KEYS: u8 = 9;
/// The panel takes at most this part of the screen.
const PART: usize = 3;

/// An item with its number.
#[derive(Debug)]
pub(super) struct NumberedItem {
    pub(super) item: PendingItem,
    /// The number from 1 to 9, if one was free.
    pub(super) number: Option<u8>,
    /// True as long as it needs the person.
    pub(super) open: bool,
}

/// The items, most urgent first.
#[derive(Debug, Default)]
pub(super) struct ItemBoard {
    slots: Vec<NumberedItem>,
    /// The number that was given last.
    last: u8,
    count: Option<PendingCount>,
}

impl ItemBoard {
    /// Replaces the items. An open item keeps its number. While the person types, a number means
    /// the item that it meant when the line was empty, so that no answer reaches another item.
    pub(super) fn update(&mut self, list: PendingList, is_typing: bool) {
        self.count = Some(list.count());
        let mut before = std::mem::take(&mut self.slots);
        for item in list.items {
            let same = before.iter().position(|slot| slot.is(&item));
            let number = same.and_then(|at| before.swap_remove(at).number);
            self.slots.push(NumberedItem {
                item,
                number,
                open: true,
            });
        }
        let settled = before
            .into_iter()
            .filter(|slot| is_typing && slot.number.is_some());
        self.slots.extend(settled.map(|slot| NumberedItem {
            open: false,
            ..slot
        }));
        let alone = self.alone();
        for at in 0..self.slots.len() {
            let slot = &self.slots[at];
            if slot.number.is_none() && alone.contains(&(slot.item.seq, slot.item.kind)) {
                self.slots[at].number = self.free();
            }
        }
    }

    /// The items that have a row each.
    fn alone(&self) -> Vec<(u64, &'static str)> {
        let items: Vec<&PendingItem> = self.open().map(|slot| &slot.item).collect();
        let alone = grouped(&items).into_iter().filter_map(|row| match row {
            PendingRow::One(item) => Some((item.seq, item.kind)),
            PendingRow::Group(_) => None,
        });
        alone.collect()
    }

    // The next number after the last given one, so that a freed number is reused as late as possible.
    fn free(&mut self) -> Option<u8> {
        let next = (0..KEYS).map(|step| (self.last + step) % KEYS + 1);
        let free = next
            .into_iter()
            .find(|number| self.slots.iter().all(|slot| slot.number != Some(*number)))?;
        self.last = free;
        Some(free)
    }

    /// The item with this number of the list.
    pub(super) fn numbered(&self, number: u64) -> Option<&NumberedItem> {
        self.slots
            .iter()
            .find(|slot| slot.number.map(u64::from) == Some(number))
    }

    /// The item with this record number.
    pub(super) fn recorded(&self, seq: u64) -> Option<&NumberedItem> {
        self.slots
            .iter()
            .find(|slot| slot.item.seq == seq && seq > 0)
    }

    /// The open items, most urgent first.
    pub(super) fn open(&self) -> impl Iterator<Item = &NumberedItem> {
        self.slots.iter().filter(|slot| slot.open)
    }

    /// The count and the oldest age, for the line with the numbers of the room.
    pub(super) fn summary(&self) -> Option<String> {
        let count = self.count.as_ref()?;
        let items = count.items + count.older;
        let need = match items {
            0 => return None,
            1 => "needs",
            _ => "need",
        };
        let oldest = count
            .oldest
            .as_deref()
            .map(pending::age)
            .unwrap_or_default();
        Some(format!("! {items} {need} you, oldest {oldest}"))
    }

    /// The most urgent rows in the order of their numbers, and the number of items in the other rows.
    fn rows(&self, most: usize) -> (Vec<BoardRow<'_>>, usize) {
        let items: Vec<&PendingItem> = self.open().map(|slot| &slot.item).collect();
        let rows = grouped(&items);
        let shown = if rows.len() > most {
            most.saturating_sub(1)
        } else {
            rows.len()
        };
        let hidden = rows[shown..].iter().map(|row| match row {
            PendingRow::One(_) => 1,
            PendingRow::Group(equal) => equal.len(),
        });
        let hidden = hidden.sum();
        let mut rows: Vec<BoardRow<'_>> = rows
            .into_iter()
            .take(shown)
            .filter_map(|row| match row {
                PendingRow::One(item) => {
                    let mut slots = self.open();
                    slots
                        .find(|slot| std::ptr::eq(&slot.item, item))
                        .map(BoardRow::Slot)
                }
                PendingRow::Group(equal) => Some(BoardRow::Group(equal)),
            })
            .collect();
        rows.sort_by_key(|row| match row {
            BoardRow::Slot(slot) => slot.number.unwrap_or(KEYS + 1),
            BoardRow::Group(_) => KEYS + 2,
        });
        (rows, hidden)
    }

    /// The most urgent items, one line each, for a screen of this size.
    pub(super) fn panel(
        &self,
        width: usize,
        height: usize,
        palette: Palette,
    ) -> Vec<Line<'static>> {
        let most = (height / PART).saturating_sub(1).min(usize::from(KEYS));
        let (rows, hidden) = self.rows(most);
        let mut lines: Vec<Line<'static>> =
            rows.iter().map(|row| row.line(width, palette)).collect();
        if hidden > 0 && most > 0 {
            lines.push(more(hidden, width, palette));
        }
        lines
    }

    /// The open items of this sender, each in a few words.
    pub(super) fn marks_of(&self, sender: &str) -> Vec<String> {
        let own = self.open().filter(|slot| slot.item.from == sender);
        own.map(NumberedItem::head).collect()
    }
}

fn more(hidden: usize, width: usize, palette: Palette) -> Line<'static> {
    let more = format!("  and {hidden} more; `mailbag pending` lists them");
    Line::from(Span::styled(cut(&more, width), palette.hint()))
}

/// A row of the items.
enum BoardRow<'b> {
    Slot(&'b NumberedItem),
    Group(Vec<&'b PendingItem>),
}

impl BoardRow<'_> {
    fn line(&self, width: usize, palette: Palette) -> Line<'static> {
        match self {
            BoardRow::Slot(slot) => slot.row(width, palette),
            BoardRow::Group(equal) => {
                let oldest = equal.iter().map(|item| &*item.since).min();
                let oldest = oldest.map(pending::age).unwrap_or_default();
                let count = count_of(equal.len(), equal[0].kind);
                let text = format!("-   {count}, oldest {oldest}; `mailbag pending` lists them");
                Line::from(Span::styled(cut(&text, width), palette.hint()))
            }
        }
    }
}

impl NumberedItem {
    fn is(&self, item: &PendingItem) -> bool {
        let NumberedItem { item: own, .. } = self;
        (own.kind, own.seq, &own.message, &own.from)
            == (item.kind, item.seq, &item.message, &item.from)
    }

    fn is_urgent(&self) -> bool {
        matches!(self.item.kind, "approval" | "escalation")
    }

    /// The text before an answer to the item.
    pub(super) fn handle(&self) -> String {
        match self.number {
            Some(number) => number.to_string(),
            None => format!("#{}", self.item.seq),
        }
    }

    /// The item in words of ours and a quotation.
    pub(super) fn name(&self) -> String {
        let PendingItem {
            kind,
            seq,
            from,
            title,
            ..
        } = &self.item;
        let number = if *seq == 0 {
            String::new()
        } else {
            format!(" #{seq}")
        };
        let from = sanitize::line(from);
        format!(
            "{kind}{number} of {from} {}",
            sanitize::quote(title, limits::TITLE)
        )
    }

    /// The options as they are shown.
    pub(super) fn options(&self) -> Vec<String> {
        self.item
            .options
            .iter()
            .map(|option| sanitize::path(option, limits::TITLE))
            .collect()
    }

    fn row(&self, width: usize, palette: Palette) -> Line<'static> {
        let deadline = self.item.deadline.as_deref();
        let time = deadline.map_or_else(
            || format!("{} ago", pending::age(&self.item.since)),
            pending::left,
        );
        let inactive = if self.item.inactive { ", inactive" } else { "" };
        let options = if self.item.options.is_empty() {
            String::new()
        } else {
            format!(" [{}]", self.options().join(", "))
        };
        let from = sanitize::line(&self.item.from);
        let title = sanitize::quote(&self.item.title, limits::TITLE);
        let text = format!("{} {from}, {time}{inactive} {title}{options}", self.head());
        let style = if self.is_urgent() {
            palette.trouble()
        } else {
            palette.hint()
        };
        Line::from(Span::styled(cut(&text, width), style))
    }

    /// The mark, the number, the kind and the record.
    fn head(&self) -> String {
        let sign = if self.is_urgent() { "!" } else { "-" };
        let number = self
            .number
            .map_or(String::new(), |number| number.to_string());
        let record = if self.item.seq == 0 {
            String::new()
        } else {
            format!(" #{}", self.item.seq)
        };
        format!("{sign} {number:>1} {}{record}", self.item.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Priority;

    fn list(seqs: &[u64]) -> PendingList {
        let item = |seq: &u64| PendingItem {
            kind: "question",
            seq: *seq,
            message: format!("planner/{seq}"),
            from: "planner".into(),
            title: String::new(),
            since: "2026-11-21T10:00:00Z".into(),
            deadline: None,
            options: Vec::new(),
            digest: None,
            text: None,
            priority: Priority::default(),
            blocked: true,
            inactive: false,
            command: String::new(),
            owned: None,
        };
        PendingList {
            agent: "human".into(),
            at: String::new(),
            older: 0,
            items: seqs.iter().map(item).collect(),
        }
    }

    /// The items as `number:record`, settled ones in brackets.
    fn shown(board: &ItemBoard) -> String {
        let slot = |slot: &NumberedItem| {
            let text = format!(
                "{}:{}",
                slot.number
                    .map_or("-".to_owned(), |number| number.to_string()),
                slot.item.seq
            );
            if slot.open { text } else { format!("[{text}]") }
        };
        board.slots.iter().map(slot).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn rows_are_in_the_order_of_their_numbers_and_reports_are_a_group() {
        let mut board = ItemBoard::default();
        board.update(list(&[20, 21]), false);
        // A more urgent item keeps the numbers of the others, and is below them.
        let mut newer = list(&[30, 20, 21, 40, 41, 42]);
        for item in &mut newer.items[3..] {
            (item.kind, item.from) = ("rejection", "mailbag".into());
        }
        board.update(newer, false);
        let lines = board.panel(80, 24, Palette { colour: false });
        let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let begins: Vec<&str> = shown.iter().map(|line| &line[..14]).collect();
        assert_eq!(
            begins,
            [
                "- 1 question #",
                "- 2 question #",
                "- 3 question #",
                "-   3 rejectio"
            ]
        );
        assert!(
            board
                .slots
                .iter()
                .all(|slot| slot.number.is_none() == (slot.item.seq >= 40))
        );
    }

    #[test]
    fn an_item_keeps_its_number_and_a_free_number_is_given_last() {
        // P185
        let mut board = ItemBoard::default();
        let steps: [(&[u64], &str); 5] = [
            (&[20, 21], "1:20 2:21"),
            (&[22, 21], "3:22 2:21"),
            (&[], ""),
            (
                &[23, 24, 25, 26, 27, 28, 29, 30, 31, 32],
                "4:23 5:24 6:25 7:26 8:27 9:28 1:29 2:30 3:31 -:32",
            ),
            (&[24, 32], "5:24 4:32"),
        ];
        for (seqs, wanted) in steps {
            board.update(list(seqs), false);
            assert_eq!(shown(&board), wanted);
        }
    }

    #[test]
    fn while_the_person_types_no_number_changes_its_item() {
        // P185
        let mut board = ItemBoard::default();
        board.update(list(&[20, 21, 22, 23, 24, 25, 26, 27, 28, 29]), false);
        board.update(list(&[29, 30]), true);
        assert!(
            shown(&board).starts_with("-:29 -:30 [1:20]"),
            "{}",
            shown(&board)
        );
        assert_eq!(
            board.numbered(1).map(|slot| (slot.item.seq, slot.open)),
            Some((20, false))
        );
        board.update(list(&[29, 30]), false);
        assert_eq!(shown(&board), "1:29 2:30");
    }
}
