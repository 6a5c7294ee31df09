//! Where agent clients keep what they are told, in a project and for a user. The only paths outside a room.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Instructions for agents, in a project's directory; most clients read it.
pub const AGENTS: &str = "AGENTS.md";
/// The variable that names another directory for a user's Claude Code settings.
pub const CLAUDE_HOME: &str = "CLAUDE_CONFIG_DIR";
/// The variable that names another directory for a user's Codex settings.
pub const CODEX_HOME: &str = "CODEX_HOME";
/// The variable that names another directory to have `.gemini` in.
pub const GEMINI_HOME: &str = "GEMINI_CLI_HOME";

/// A file by its name in a client's or a project's directory.
pub fn of_client(directory: &Path, name: &str) -> PathBuf {
    directory.join(name)
}

/// Where a file's content from before the first change is kept: beside it.
pub fn backup(file: &Path) -> PathBuf {
    let mut name = file.file_name().map(OsString::from).unwrap_or_default();
    name.push(".before-mailbag");
    file.with_file_name(name)
}

/// The variable that names another directory for what a person agreed to.
pub const TRUST_DIRECTORY: &str = "MAILBAG_TRUST_DIR";
/// What a person agreed to.
pub const TRUST: &str = "trust.json";
/// Held by whoever changes that.
pub const TRUST_LOCK: &str = "trust.lock";

/// Where a person's consent is kept: below the user's data (XDG Base Directory Specification), unless the person names
/// another place. A path that is not absolute would depend on where a command is run, and so on a repository.
pub fn trust_directory() -> Option<PathBuf> {
    let named = |variable| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || std::env::home_dir().filter(|home| home.is_absolute()).map(|home| home.join(".local/share"));
    named(TRUST_DIRECTORY).or_else(|| Some(named("XDG_DATA_HOME").or_else(home)?.join("mailbag")))
}

/// The file of a person's consent in its directory.
pub fn trust_file(directory: &Path) -> PathBuf {
    directory.join(TRUST)
}

/// What the top of a git repository has, a directory or a file.
pub const REPOSITORY: &str = ".git";

/// Is this the top of a project: a git repository's, or a directory with a room?
pub fn is_project(directory: &Path) -> bool {
    directory.join(REPOSITORY).exists() || directory.join(super::ROOM).is_dir()
}
