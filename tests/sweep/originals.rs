//! The originals of the senders: each is once in `sent/` or in the archive, unchanged.

use super::ledger::Figures;
use super::letters::{AGENTS, Letter};
use super::scenario::files;
use crate::archive::packs;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Every original, even if it was dropped again, is in `sent/` or in the archive, unchanged.
pub(crate) fn check(room: &Path, letters: &[Letter], figures: &mut Figures) -> io::Result<()> {
    let mut wanted: BTreeMap<(&str, String, Vec<u8>), usize> = BTreeMap::new();
    for letter in letters.iter().filter(|letter| !letter.rides) {
        *wanted.entry((letter.sender, letter.file.clone(), letter.bytes.clone())).or_default() += 1;
    }
    // A killed archiver may pack an original twice, or leave it in its place.
    let mut kept: BTreeSet<(PathBuf, Vec<u8>)> = BTreeSet::new();
    for (path, contents) in packs::files(room, "sent") {
        let path = PathBuf::from(std::ffi::OsString::from_vec(path));
        kept.extend(contents.into_iter().map(|content| (room.join(&path), content)));
    }
    for (agent, _) in AGENTS {
        for path in files(&room.join("sent").join(agent))? {
            let content = fs::read(&path)?;
            kept.insert((path, content));
        }
    }
    for (path, content) in kept {
        let agent = AGENTS.iter().map(|(agent, _)| *agent).find(|agent| path.iter().any(|part| part == *agent));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let original = name.split_once('~').map_or("", |(_, original)| original).to_owned();
        match wanted.get_mut(&(agent.unwrap_or_default(), original, content)).filter(|n| **n > 0) {
            Some(n) => *n -= 1,
            None => figures.damaged(format!("{} is none of the originals left", path.display())),
        }
    }
    for ((agent, file, _), n) in wanted.into_iter().filter(|(_, n)| *n > 0) {
        figures.lost(format!("{n} of the original {file} of {agent}, which is not in sent/"));
    }
    Ok(())
}
