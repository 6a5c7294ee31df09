//! The configuration files of agent clients, in a project and for a user. These are the only paths outside a room.

use crate::base::hash::{hash, hex};
use crate::disk::paths::PathQuestions;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The instructions for agents in a project's directory. Most clients read this file.
pub const AGENTS: &str = "AGENTS.md";

/// A file in a client's or a project's directory, or a room that a person names relative to it.
pub fn of_client(directory: &Path, name: impl AsRef<Path>) -> PathBuf {
    directory.join(name)
}

/// The backup of a file's original content, in the user's state directory: in a repository it could be committed.
/// Without a state directory it is beside the file.
pub fn backup(file: &Path) -> PathBuf {
    let mut name = file.file_name().map(OsString::from).unwrap_or_default();
    name.push(".before-mailbag");
    let Some(state) = state_directory() else {
        return file.with_file_name(name);
    };
    let digest = hex(&hash(file.as_os_str().as_encoded_bytes()));
    state
        .join("originals")
        .join(digest.get(..32).unwrap_or(&digest))
        .join(name)
}

/// The variable that sets the directory for recorded consent.
pub const TRUST_DIRECTORY: &str = "MAILBAG_TRUST_DIR";
/// The rooms that the user created, and recorded consent.
pub const KNOWN_ROOMS: &str = "rooms.json";
/// The lock file for changes of recorded consent.
pub const TRUST_LOCK: &str = "trust.lock";
/// The key that signs decisions of the person, in [`key_directory`].
pub const KEY: &str = "decision.key";

/// The directory for recorded consent: below the user's data directory, unless a variable sets another. Relative paths
/// are ignored: they would depend on the current directory, and so on a repository.
pub fn trust_directory() -> Option<PathBuf> {
    let data = user_directory("XDG_DATA_HOME", ".local/share");
    absolute(std::env::var_os(TRUST_DIRECTORY)).or(data.map(|data| data.join("mailbag")))
}

/// A directory of the XDG Base Directory Specification: from a variable, or else below the home directory.
fn user_directory(variable: &str, below_home: &str) -> Option<PathBuf> {
    absolute(std::env::var_os(variable)).or_else(|| Some(home()?.join(below_home)))
}

fn home() -> Option<PathBuf> {
    absolute(std::env::home_dir())
}

fn absolute(path: Option<impl Into<PathBuf>>) -> Option<PathBuf> {
    path.map(Into::into)
        .filter(|path: &PathBuf| path.is_absolute())
}

/// The directory for state that survives a restart and needs no backup.
pub fn state_directory() -> Option<PathBuf> {
    Some(user_directory("XDG_STATE_HOME", ".local/state")?.join("mailbag"))
}

/// The lock file for changes of the state of pages.
pub const PAGE_LOCK: &str = "web.lock";

/// The state of a room's page, by the digest of the room's path.
pub fn page_state(digest: &str) -> String {
    format!("web-{}.json", digest.get(..32).unwrap_or(digest))
}

/// A path as a person writes it: `~/` means the home directory.
pub fn of_person(path: &str) -> PathBuf {
    let below_home = path.strip_prefix("~/").zip(std::env::home_dir());
    below_home.map_or_else(|| PathBuf::from(path), |(below, home)| home.join(below))
}

/// The directory for the key that signs decisions, in the home directory that the user database names. No variable sets
/// another, because an agent could set it.
pub fn key_directory(home: &Path) -> PathBuf {
    home.join(".local/share/mailbag")
}

/// The path of the key that signs decisions.
pub fn key_file(directory: &Path) -> PathBuf {
    directory.join(KEY)
}

/// The file or directory that marks the top of a git repository.
pub const REPOSITORY: &str = ".git";

/// Returns true for the top of a project: of a git repository, or a directory with a room.
pub fn is_project(directory: &Path) -> bool {
    directory.join(REPOSITORY).is_there() || directory.join(super::ROOM).leads_to_directory()
}
