//! The guard: which files of an edit or a commit another agent owns, and what to tell about it.

use crate::base::clock::Stamp;
use crate::base::limits;
use crate::base::sanitize;
use crate::log::state::Claims;
use crate::room::repository::Place;
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A file that another agent owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Owned {
    /// The path as it is shown: in its repository.
    pub path: String,
    /// The owner.
    pub owner: Arc<str>,
    /// The claim that covers the file.
    pub claim: String,
    /// Since when, RFC 3339.
    pub since: String,
    /// The owner's reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What the guard found, and what it does about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The files are free, or belong to the agent.
    Free,
    /// Other agents own files; the operation passes.
    Warn(Vec<Owned>),
    /// Other agents own files; the operation stops.
    Stop(Vec<Owned>),
}

/// The files that agents other than this one own. Each file has all its names.
pub fn owned<'f>(
    claims: &Claims,
    agent: Option<&str>,
    files: impl IntoIterator<Item = &'f [Place]>,
) -> Vec<Owned> {
    let mut owned = Vec::new();
    if claims.held().iter().all(|held| Some(&*held.owner) == agent) {
        return owned;
    }
    for names in files {
        let held = names.iter().find_map(|place| {
            let held = claims.owner(place.repository.as_deref(), &place.path)?;
            (Some(&*held.owner) != agent).then_some((place, held))
        });
        owned.extend(held.map(|(place, held)| Owned {
            path: place.to_string(),
            owner: held.owner.clone(),
            claim: held.subject.to_string(),
            since: Stamp::from_micros(held.since).to_string(),
            why: held.why.clone(),
        }));
    }
    owned
}

/// The owners, each once.
pub fn owners(owned: &[Owned]) -> Vec<&str> {
    let all: BTreeSet<&str> = owned.iter().map(|one| &*one.owner).collect();
    all.into_iter().collect()
}

/// A line for each file, at most [`limits::GUARD_LINES`].
pub fn lines(owned: &[Owned]) -> Vec<String> {
    let mut lines: Vec<String> = owned
        .iter()
        .take(limits::GUARD_LINES)
        .map(Owned::line)
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
pub fn ask_for(owned: &[Owned]) -> String {
    let Some(first) = owned.first() else {
        return String::new();
    };
    let (owner, claim) = (&first.owner, quoted(&first.claim));
    format!(
        "ask the owner with `mailbag send {owner} 'May I change {}?'`, or wait for it with `mailbag claim --wait {claim}`",
        plain(&first.path)
    )
}

impl Owned {
    fn line(&self) -> String {
        let why = self.why.as_deref().filter(|why| !why.trim().is_empty());
        let why = why
            .map(|why| format!(", {}", sanitize::quote(why, limits::BRIEFING_SUBJECT)))
            .unwrap_or_default();
        let Owned {
            path,
            owner,
            claim,
            since,
            ..
        } = self;
        sanitize::line(&format!(
            "{path} belongs to {owner} (claim {claim}, since {since}{why})"
        ))
        .into_owned()
    }
}

/// A word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", plain(text))
}

/// A text that can be copied between single quotes of a shell.
pub fn plain(text: &str) -> String {
    sanitize::line(&text.replace('\'', "?")).into_owned()
}
