//! Commands in the form of other mail programs: `mailbag message send`, `mailbag channel roster`.

use std::ffi::OsString;

/// The commands that may follow `message`, which is dropped.
const OF_MESSAGES: [&str; 8] = [
    "send", "inbox", "list", "read", "reply", "search", "thread", "trace",
];

/// The command line with these forms replaced by mailbag's own.
pub(super) fn understood(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.collect();
    let Some(at) = position_of_command(&words) else {
        return words;
    };
    let word = |at: usize| {
        words
            .get(at)
            .and_then(|word| word.to_str())
            .unwrap_or_default()
    };
    match (word(at), word(at + 1)) {
        ("message" | "messages", verb) if OF_MESSAGES.contains(&verb) => drop(words.remove(at)),
        ("roster", _) => words[at] = "who".into(),
        ("channel", "roster") => {
            drop(words.splice(at..at + 2, ["who", "--channel"].map(OsString::from)))
        }
        _ => {}
    }
    words
}

/// The word that seems to be the command. Only clap knows: this knows no option but `--room`.
pub(super) fn command(words: &[OsString]) -> Option<&str> {
    words.get(position_of_command(words)?)?.to_str()
}

/// The position of the command, after the global options.
fn position_of_command(words: &[OsString]) -> Option<usize> {
    let mut at = 1;
    loop {
        match words.get(at)?.to_str() {
            Some("--room") => at += 2,
            Some("--") => return None,
            Some(option) if option.starts_with('-') => at += 1,
            _ => return Some(at),
        }
    }
}
