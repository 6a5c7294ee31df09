//! The line that a person writes in: editing and history, without a terminal.

use crate::base::sanitize;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Maximum number of lines in the history.
const REMEMBERED: usize = 200;

/// A change of the line or of the place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PromptEdit {
    Insert(char),
    /// Pasted text; its line ends stay in it and send nothing.
    Paste(String),
    Left,
    Right,
    WordLeft,
    WordRight,
    Home,
    End,
    Backspace,
    Delete,
    /// Deletes the text before the cursor.
    KillBefore,
    /// Deletes the text after the cursor.
    KillAfter,
    /// Deletes the word before the cursor.
    KillWord,
    /// The text from this byte to the place is replaced.
    Complete(usize, String),
    /// The lines that were sent.
    Older,
    Newer,
}

/// The line, the cursor in it, and the lines that were sent.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    text: String,
    /// A byte, at the boundary of a character as people see it.
    at: usize,
    history: Vec<String>,
    /// The shown line of the history, and the unsent line.
    recalled: Option<usize>,
    kept: String,
}

impl Prompt {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text before the place.
    pub(super) fn before_place(&self) -> &str {
        &self.text[..self.at]
    }

    /// The line was sent: it is remembered, and a new one begins.
    pub(super) fn sent(&mut self) {
        let text = std::mem::take(&mut self.text);
        if self.history.last() != Some(&text) {
            self.history.push(text);
        }
        if self.history.len() > REMEMBERED {
            self.history.remove(0);
        }
        (self.at, self.recalled) = (0, None);
        self.kept.clear();
    }

    pub(super) fn apply(&mut self, edit: PromptEdit) {
        match edit {
            PromptEdit::Insert(c) => self.insert(c.encode_utf8(&mut [0; 4])),
            PromptEdit::Paste(text) => self.insert(&text.replace("\r\n", "\n").replace('\r', "\n")),
            PromptEdit::Left => self.at = self.before(),
            PromptEdit::Right => self.at = self.behind(),
            PromptEdit::WordLeft => self.at = self.word_before(),
            PromptEdit::WordRight => self.at = self.word_behind(),
            PromptEdit::Home => self.at = 0,
            PromptEdit::End => self.at = self.text.len(),
            PromptEdit::Backspace => self.cut(self.before(), self.at),
            PromptEdit::Delete => self.cut(self.at, self.behind()),
            PromptEdit::KillBefore => self.cut(0, self.at),
            PromptEdit::KillAfter => self.cut(self.at, self.text.len()),
            PromptEdit::KillWord => self.cut(self.word_before(), self.at),
            PromptEdit::Complete(from, text) => {
                self.cut(from.min(self.at), self.at);
                self.insert(&text);
            }
            PromptEdit::Older => self.older(),
            PromptEdit::Newer => self.newer(),
        }
    }

    fn insert(&mut self, text: &str) {
        self.text.insert_str(self.at, text);
        self.at += text.len();
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.at = from;
    }

    fn before(&self) -> usize {
        self.text[..self.at]
            .grapheme_indices(true)
            .next_back()
            .map_or(0, |(at, _)| at)
    }

    fn behind(&self) -> usize {
        self.at
            + self.text[self.at..]
                .graphemes(true)
                .next()
                .map_or(0, str::len)
    }

    fn word_before(&self) -> usize {
        let words = self.text[..self.at].trim_end();
        words
            .char_indices()
            .rev()
            .find(|(_, c)| c.is_whitespace())
            .map_or(0, |(at, c)| at + c.len_utf8())
    }

    fn word_behind(&self) -> usize {
        let rest = &self.text[self.at..];
        let blanks = rest.len() - rest.trim_start().len();
        let word = rest
            .trim_start()
            .find(char::is_whitespace)
            .unwrap_or(rest.trim_start().len());
        self.at + blanks + word
    }

    fn older(&mut self) {
        let Some(number) = self.recalled.unwrap_or(self.history.len()).checked_sub(1) else {
            return;
        };
        if self.recalled.is_none() {
            self.kept = self.text.clone();
        }
        self.recall(Some(number));
    }

    fn newer(&mut self) {
        let Some(number) = self.recalled else { return };
        self.recall(Some(number + 1).filter(|&number| number < self.history.len()));
    }

    fn recall(&mut self, number: Option<usize>) {
        self.recalled = number;
        self.text = match number {
            Some(number) => self.history[number].clone(),
            None => std::mem::take(&mut self.kept),
        };
        self.at = self.text.len();
    }

    /// The visible part of the line for this width, and the column of the cursor in it.
    pub(super) fn view(&self, width: usize) -> (String, usize) {
        let cell = |text: &str| sanitize::line(text).into_owned();
        let before: Vec<String> = self.text[..self.at].graphemes(true).map(cell).collect();
        let behind: Vec<String> = self.text[self.at..].graphemes(true).map(cell).collect();
        let width_behind: usize = behind.iter().map(|cell| cell.width()).sum();
        // The cursor takes a column, and a part of the text after it stays visible.
        let room = width.saturating_sub(1 + width_behind.min(width / 4));
        let (mut column, mut first) = (0, before.len());
        while first > 0 && column + before[first - 1].width() <= room {
            first -= 1;
            column += before[first].width();
        }
        let (mut shown, mut used) = (before[first..].concat(), column);
        for cell in &behind {
            used += cell.width();
            if used > width {
                break;
            }
            shown += cell;
        }
        (shown, column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Prompt {
        let mut prompt = Prompt::default();
        for c in text.chars() {
            prompt.apply(PromptEdit::Insert(c));
        }
        prompt
    }

    fn after(text: &str, edits: &[PromptEdit]) -> String {
        let mut prompt = typed(text);
        for edit in edits {
            prompt.apply(edit.clone());
        }
        let (before, behind) = prompt.text.split_at(prompt.at);
        format!("{before}|{behind}")
    }

    #[test]
    fn keys_edit_where_the_place_is() {
        use PromptEdit::*;
        assert_eq!(after("abc", &[Left, Left, Insert('x')]), "ax|bc");
        assert_eq!(
            after("abc", &[Home, Left, Delete, End, Right, Backspace]),
            "b|"
        );
        assert_eq!(after("one two  three", &[KillWord]), "one two  |");
        assert_eq!(after("one two  ", &[KillWord]), "one |");
        assert_eq!(after("one two", &[WordLeft, KillBefore]), "|two");
        assert_eq!(after("one two", &[Home, WordRight, KillAfter]), "one|");
        assert_eq!(
            after("", &[Backspace, Delete, KillWord, Left, Right, WordRight]),
            "|"
        );
    }

    #[test]
    fn a_character_of_several_code_points_is_one() {
        use PromptEdit::*;
        assert_eq!(after("e\u{301}x", &[Left, Left]), "|e\u{301}x");
        assert_eq!(after("a👩\u{200d}💻", &[Backspace]), "a|");
        assert_eq!(after("你好", &[Left, Insert('们')]), "你们|好");
    }

    #[test]
    fn a_pasted_line_end_stays_in_the_line_and_is_shown() {
        let mut prompt = typed("@bob ");
        prompt.apply(PromptEdit::Paste("one\r\ntwo\rthree".into()));
        assert_eq!(prompt.text(), "@bob one\ntwo\nthree");
        assert_eq!(prompt.view(80), ("@bob one\\ntwo\\nthree".into(), 20));
        prompt.apply(PromptEdit::Paste("\x1b[31m\u{202e}".into()));
        assert!(
            !prompt.view(80).0.contains(['\x1b', '\u{202e}']),
            "{:?}",
            prompt.view(80)
        );
    }

    #[test]
    fn the_history_goes_back_and_forth_and_keeps_what_was_being_written() {
        let mut prompt = Prompt::default();
        for line in ["one", "two", "two"] {
            prompt.apply(PromptEdit::Paste(line.into()));
            prompt.sent();
        }
        prompt.apply(PromptEdit::Paste("new".into()));
        let mut texts = Vec::new();
        for edit in [
            PromptEdit::Older,
            PromptEdit::Older,
            PromptEdit::Older,
            PromptEdit::Newer,
            PromptEdit::Newer,
            PromptEdit::Newer,
        ] {
            prompt.apply(edit);
            texts.push(prompt.text().to_owned());
        }
        assert_eq!(texts, ["two", "one", "one", "two", "new", "new"]);
    }

    #[test]
    fn a_long_line_shows_the_place_and_wide_letters_count_double() {
        let mut prompt = typed(&"0123456789".repeat(5));
        let (shown, column) = prompt.view(20);
        assert_eq!((shown.as_str(), column), ("1234567890123456789", 19));
        prompt.apply(PromptEdit::Home);
        assert_eq!(prompt.view(20), ("01234567890123456789".into(), 0));
        assert_eq!(typed("你好").view(20), ("你好".into(), 4));
        let (shown, column) = typed("你好你好你好").view(8);
        assert!(shown.width() <= 7 && column == shown.width(), "{shown}");
        assert_eq!(typed("x").view(0), (String::new(), 0));
    }
}
