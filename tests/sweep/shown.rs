//! The final conversation: every letter once, in the order of the log.

use super::ledger::Figures;
use super::letters::Letter;
use super::scenario::{BATCH_COPIES, STAGE_MS, Setting};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::Path;

/// Checks the conversation of a room without waiting mail.
pub(crate) fn check(room: &Path, letters: &[Letter], setting: &Setting, figures: &mut Figures) -> io::Result<()> {
    // A conversation that is missing shows no letter, and each of them counts as lost.
    let bytes = match fs::read(room.join("channels/main/messages.ndjson")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        bytes => bytes?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let (mut shown, mut before): (HashMap<String, usize>, u64) = (HashMap::new(), 0);
    for line in text.split_inclusive('\n') {
        let said: Value = serde_json::from_str(line).unwrap_or_default();
        let seq = said["metadata"]["delivery"]["seq"].as_u64().unwrap_or(0);
        if seq <= before || !line.ends_with('\n') {
            figures.damaged(format!("the conversation has behind record {before}: {line:?}"));
        }
        before = seq;
        *shown.entry(said["metadata"]["token"].as_str().unwrap_or_default().to_owned()).or_default() += 1;
    }
    for letter in letters.iter().filter(|letter| !letter.recipients.is_empty()) {
        match shown.remove(&letter.token).unwrap_or(0) {
            0 => figures.lost(format!("{} in the conversation", letter.token)),
            1 => {}
            n => figures.duplicated(format!("{} stands {n} times in the conversation", letter.token)),
        }
    }
    shown.keys().for_each(|token| figures.damaged(format!("the conversation shows {token:?}, which nobody wrote")));
    if room.join("rejected/human").exists() {
        figures.damaged("a line of the router's was taken for somebody else's".into());
    }
    check_batches(&room.join("log"), setting, figures);
    Ok(())
}

/// Where batches are small, files of lines have to come in several of them: else nothing was tried.
fn check_batches(log: &Path, setting: &Setting, figures: &mut Figures) {
    let small = setting.env.iter().any(|(name, _)| [BATCH_COPIES, STAGE_MS].contains(name));
    if small && !fs::read_to_string(log.join("00000001.ndjson")).is_ok_and(|log| log.contains(r#""more":true"#)) {
        figures.damaged("no file of lines was routed in several batches".into());
    }
}
