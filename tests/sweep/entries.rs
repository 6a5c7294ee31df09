//! The final content of the files for people: each milestone once, and only content that the log gives again.

use super::ledger::Figures;
use super::letters::Letter;
use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The mark of another program's file that the worklog kept.
const KEPT: &str = ".kept-";

/// The text of a queue without unread mail.
const NOTHING_UNREAD: &str = "\n- 0 unread messages\n";

/// Removes files that an earlier room has left beside this one.
pub(crate) fn remove(room: &Path) -> io::Result<()> {
    beside(room)?.iter().try_for_each(fs::remove_file)
}

/// Checks the files of a room without waiting mail. `made_again` runs a router pass.
pub(crate) fn check(
    room: &Path,
    letters: &[Letter],
    made_again: impl Fn() -> io::Result<()>,
    figures: &mut Figures,
) -> io::Result<()> {
    let worklog = room.with_file_name("WORKLOG.md");
    check_entries(&fs::read_to_string(&worklog)?, letters, figures);
    for path in beside(room)?.into_iter().filter(|path| path.to_string_lossy().contains(KEPT)) {
        let text = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        figures.damaged(format!("{} was taken for somebody else's: {text:?}", path.display()));
    }
    let mut files = vec![worklog, room.join("MAILBOX.md")];
    let queues = fs::read_dir(room.join("queue"))?.map(|entry| Ok(entry?.path()));
    let queues = queues.collect::<io::Result<Vec<_>>>()?;
    // A power cut can leave a draft.
    let is_draft = |path: &Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    files.extend(queues.into_iter().filter(|path| !is_draft(path)));
    let texts = files.iter().map(fs::read_to_string).collect::<io::Result<Vec<_>>>()?;
    files.iter().try_for_each(fs::remove_file)?;
    made_again()?;
    for (file, text) in files.iter().zip(texts) {
        let again = fs::read_to_string(file).unwrap_or_default();
        // Only an agent with unread mail gets a new queue.
        let is_gone = again.is_empty() && text.contains(NOTHING_UNREAD);
        if without_check(&again) != without_check(&text) && !is_gone {
            let name = file.display();
            figures.damaged(format!("{name} is another one when it is made again:\n{text}\n---\n{again}"));
        }
    }
    Ok(())
}

/// The text of a file without the line with its check, because each file that is made again has a new edition there.
pub(crate) fn without_check(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.contains(" Check: ")).collect()
}

fn check_entries(text: &str, letters: &[Letter], figures: &mut Figures) {
    let entries = text.split_once("\n## Entries\n\n").map(|(_, entries)| entries).unwrap_or_default();
    let mut shown: HashMap<&str, usize> = HashMap::new();
    for entry in entries.lines().filter(|entry| entry.contains(" · milestone · ")) {
        let text = entry.rsplit(" · ").next().unwrap_or_default();
        *shown.entry(text.split(':').next().unwrap_or_default()).or_default() += 1;
    }
    for letter in letters.iter().filter(|letter| letter.is_milestone() && !letter.recipients.is_empty()) {
        match shown.remove(&*letter.subject()).unwrap_or(0) {
            0 => figures.lost(format!("{} in the worklog", letter.subject())),
            1 => {}
            n => figures.duplicated(format!("{} stands {n} times in the worklog", letter.subject())),
        }
    }
    shown.keys().for_each(|subject| figures.damaged(format!("the worklog shows {subject:?}, which nobody wrote")));
}

/// The files beside the room.
fn beside(room: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(room.parent().unwrap_or(room)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.is_file()).collect())
}
