//! The guard: the files of an edit or a commit that another agent owns, and the warning about them.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::base::sanitize;
use crate::base::text::shell_word;
use crate::features::claims::{Claims, OwnedClaim};
use crate::room::repository::RepositoryPath;
use serde::Serialize;
use std::collections::BTreeSet;

/// A file that another agent owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OwnedFile {
    /// The path in its repository.
    pub path: String,
    /// The claim that covers the file.
    pub claim: OwnedClaim,
}

/// The result of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardVerdict {
    /// The files are free, or belong to the agent.
    Free,
    /// Other agents own files; the operation passes.
    Warn(Vec<OwnedFile>),
    /// Other agents own files; the operation stops.
    Stop(Vec<OwnedFile>),
}

/// The files that agents other than this one own. Each file has all its names.
pub fn owned<'f>(
    claims: &Claims,
    agent: Option<&str>,
    files: impl IntoIterator<Item = &'f [RepositoryPath]>,
) -> Vec<OwnedFile> {
    let mut owned = Vec::new();
    if claims.held().iter().all(|held| Some(&*held.owner) == agent) {
        return owned;
    }
    for names in files {
        let held = names.iter().find_map(|place| {
            let held = claims.owner(place.repository.as_deref(), &place.path)?;
            (Some(&*held.owner) != agent).then_some((place, held))
        });
        owned.extend(held.map(|(place, held)| OwnedFile {
            path: place.to_string(),
            claim: held.clone(),
        }));
    }
    owned
}

/// The owners, each once.
pub fn owners(owned: &[OwnedFile]) -> Vec<&str> {
    let all: BTreeSet<&str> = owned.iter().map(|one| &*one.claim.owner).collect();
    all.into_iter().collect()
}

/// A line for each file, at most [`limits::GUARD_LINES`].
pub fn lines(owned: &[OwnedFile]) -> Vec<String> {
    let mut lines: Vec<String> = owned
        .iter()
        .take(limits::GUARD_LINES)
        .map(OwnedFile::line)
        .collect();
    let more = owned.len().saturating_sub(limits::GUARD_LINES);
    if more > 0 {
        lines.push(format!(
            "and {more} more files of {}",
            owners(owned).join(", ")
        ));
    }
    lines
}

/// The commands that ask for the first of these files.
pub fn ask_for(owned: &[OwnedFile]) -> String {
    let Some(first) = owned.first() else {
        return String::new();
    };
    format!(
        "ask the owner with `mailbag send {} {}`, or wait for it with `mailbag claim --wait {}`",
        first.claim.owner,
        shell_word(&format!("May I change {}?", first.path)),
        shell_word(first.claim.subject.as_str())
    )
}

impl OwnedFile {
    fn line(&self) -> String {
        let purpose = self
            .claim
            .purpose
            .as_deref()
            .filter(|purpose| !purpose.trim().is_empty());
        let purpose = purpose
            .map(|purpose| format!(", {}", sanitize::quote(purpose, limits::BRIEFING_SUBJECT)))
            .unwrap_or_default();
        let (path, owner, claim) = (&self.path, &self.claim.owner, &self.claim.subject);
        let since = Stamp::from_micros(self.claim.since);
        sanitize::line(&format!(
            "{path} belongs to {owner} (claim {claim}, since {since}{purpose})"
        ))
        .into_owned()
    }
}
