//! Diffs, and notes for the user.

use super::clients::{ClientDirectories, HookConfiguration, InstallPart, InstallScope};
use super::{HookPresence, InstallRequest, allow, status};
use crate::base::error::Error;
use crate::clients::kind::{Client, ClientQuestion};
use crate::disk::layout;
use crate::features::approvals::signature;
use crate::room::{self, Room};
use similar::TextDiff;
use std::path::{Path, PathBuf};

/// The program's name.
pub(in crate::clients) const NAME: &str = "mailbag";

/// A change as a unified diff.
pub(super) fn diff(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let name = path.display().to_string();
    let old = before.map_or("/dev/null", |_| &name);
    let new = after.map_or("/dev/null", |_| &name);
    let changes = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    changes.unified_diff().header(old, new).to_string()
}

/// The note for a section that another client still needs.
pub(super) fn still_used(path: &Path, other: Client) -> String {
    format!(
        "{} keeps the mailbag section: {} still uses it",
        path.display(),
        other.name()
    )
}

/// The note for a file that was edited since the installation.
pub(super) fn kept(file: &Path, backup: &Path) -> String {
    format!(
        "{} was edited after the installation; the backup {} is kept, delete it when you like",
        file.display(),
        backup.display()
    )
}

/// The note for a whole file that nothing proves to be mailbag's.
pub(super) fn unproven(file: &Path) -> String {
    format!(
        "{} is your own, or was edited after {NAME} wrote it; it is kept, delete it when you like",
        file.display()
    )
}

/// The note for an entry of the user's own.
pub(super) fn theirs(path: &Path) -> String {
    format!(
        "{} already has a mailbag entry of your own; `install` and `uninstall` do not change it",
        path.display()
    )
}

/// The notes after an installation.
pub(super) fn on_install(
    asked: &InstallRequest<'_>,
    homes: &ClientDirectories,
    wanted: &HookConfiguration,
    room: Result<&Room, &Error>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if wanted.program != NAME {
        notes.push(format!(
            "the PATH does not lead to this {NAME}, so the hooks call {}; add it to the PATH so that agents can \
             run it in their shell",
            wanted.program
        ));
    }
    notes.extend(about_room(asked, homes, room));
    let other = if asked.scope == InstallScope::Project {
        InstallScope::User
    } else {
        InstallScope::Project
    };
    let facts = asked.client.facts();
    let has_hooks = facts
        .files(asked.scope)
        .iter()
        .any(|file| file.parts.contains(&InstallPart::Hooks));
    let is_elsewhere = status(asked.client, other, homes).hooks != HookPresence::Absent;
    if !has_hooks && !is_elsewhere {
        notes.push(format!(
            "{} reads hooks of the user only: `mailbag install {} --user` adds them; in the project are the server and the instructions",
            facts.name, facts.word
        ));
    }
    if has_hooks && is_elsewhere {
        let flag = if other == InstallScope::User {
            "--user"
        } else {
            "--project"
        };
        notes.push(format!(
            "the hooks are also installed with {flag}, which is unnecessary; `mailbag uninstall {} {flag}` removes those",
            asked.client.as_str()
        ));
    }
    if asked.approvals {
        approvals(asked.client, &mut notes);
    }
    if allow::would_replace_theirs(asked.client, asked.scope, homes) {
        notes.push(format!(
            "{} asks before it reads and sends mail: rules for it in this project would replace your own in tools.allowed",
            asked.client.name()
        ));
    }
    notes.extend(shut_out(asked.client, homes).map(|(what, _)| what));
    if asked.for_up.is_some() {
        return notes;
    }
    let own = facts
        .notes
        .iter()
        .filter(|note| note.scope.is_none_or(|scope| scope == asked.scope));
    notes.extend(own.map(|note| note.text.to_owned()));
    if asked.client == Client::Codex {
        codex(asked.scope, homes, room.ok(), &mut notes);
    }
    notes
}

/// A rule of the person's own that keeps agents from all commands of mailbag, and its file.
pub fn shut_out(client: Client, homes: &ClientDirectories) -> Option<(String, PathBuf)> {
    let (rule, file) = allow::exclusive(client, homes)?;
    let name = client.name();
    let what = format!(
        "the rule “{rule}” in {} makes {name} reject all other shell commands, and so those of mailbag; remove it from \
         tools.allowed, and {name} asks before each command",
        file.display()
    );
    Some((what, file))
}

/// The note about a room that sessions here would not use. `mailbag up` makes the room first.
fn about_room(
    asked: &InstallRequest<'_>,
    homes: &ClientDirectories,
    room: Result<&Room, &Error>,
) -> Option<String> {
    let place = match (room, asked.for_up) {
        (Err(e @ Error::Untrusted { .. }), _) => return Some(e.to_string()),
        (Err(_), None) => {
            return Some(
                "there is no room here yet; create one with `mailbag init`. Until then the hooks do nothing".into(),
            );
        }
        (Err(_), Some(place)) => {
            Some(place).filter(|place| room::default_place(&homes.project) != *place)
        }
        (Ok(room), _) => Some(room.dir.path())
            .filter(|place| room::find(None, asked.from).ok().as_deref() != Some(*place)),
    };
    let (client, place) = (asked.client.name(), layout::of_client(asked.from, place?));
    Some(format!(
        "this room cannot be found from this directory: start {client} with MAILBAG_ROOM={}",
        place.display()
    ))
}

/// The note about a question of a client.
pub(super) fn question(client: Client, ask: &ClientQuestion) -> String {
    format!(
        "{} asks “{}”; answer: {}",
        client.name(),
        ask.question,
        ask.answer
    )
}

fn approvals(client: Client, notes: &mut Vec<String>) {
    let Ok(key) = signature::path() else { return };
    let directory = key.parent().unwrap_or(&key).display().to_string();
    let rule = match client {
        Client::Claude => format!(
            "add \"Read(/{directory}/**)\" and \"Edit(/{directory}/**)\" to permissions.deny in ~/.claude/settings.json"
        ),
        _ => format!(
            "do not add {directory} to the directories that its sandbox can write, and approve no command that reads it"
        ),
    };
    notes.push(format!(
        "permission requests of {} become approvals to the human: answer them with `mailbag decide` in a terminal. A program that \
         reads {} can answer them, too: {rule}",
        client.name(),
        key.display()
    ));
}

/// Where the sandbox of Codex can write.
fn codex(
    scope: InstallScope,
    homes: &ClientDirectories,
    room: Option<&Room>,
    notes: &mut Vec<String>,
) {
    let outside = room
        .map(|room| room.dir.path())
        .filter(|path| !path.starts_with(&homes.project));
    match outside {
        Some(room) => notes.push(format!(
            "the room is outside the project, where Codex's sandbox cannot write: add `writable_roots = [{:?}]` below \
            `[sandbox_workspace_write]` in config.toml",
            room.display().to_string()
        )),
        None if scope == InstallScope::User => notes.push(
            "Codex's sandbox can write only below the directory where Codex is started; add a room elsewhere to \
            `writable_roots` below `[sandbox_workspace_write]` in config.toml"
                .into(),
        ),
        None => notes
            .push("Codex's sandbox can write only below the directory where Codex is started, so start it here".into()),
    }
}
