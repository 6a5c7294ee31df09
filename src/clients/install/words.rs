//! What is said of a change: the difference, and what the person has to know or do.

use super::clients::{Homes, Scope, Wanted};
use super::{Asked, Hooks, standing};
use crate::base::error::Error;
use crate::clients::kind::Client;
use crate::room::{self, Room};
use similar::TextDiff;
use std::path::Path;

/// How the program is called.
pub(super) const NAME: &str = "mailbag";

/// A change as a unified diff.
pub(super) fn diff(path: &Path, before: Option<&str>, after: Option<&str>) -> String {
    let name = path.display().to_string();
    let side = |text: Option<&str>| text.map_or_else(|| "/dev/null".to_owned(), |_| name.clone());
    let (old, new) = (side(before), side(after));
    let changes = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default());
    changes.unified_diff().header(&old, &new).to_string()
}

/// What stays because somebody else needs it.
pub(super) fn still_used(path: &Path, other: Client) -> String {
    format!("{} keeps its section: {} is plugged in here as well", path.display(), other.name())
}

/// What stays because it is not the same any more.
pub(super) fn kept(backup: &Path) -> String {
    format!("the file was changed meanwhile; {} is how it was before, remove it when you like", backup.display())
}

/// What stays because a person put it there.
pub(super) fn theirs(path: &Path) -> String {
    format!(
        "{} has a mailbag entry that was there before; it stays as it is, and `mailbag uninstall` leaves it there",
        path.display()
    )
}

/// What to know after plugging in.
pub(super) fn on_install(
    asked: &Asked<'_>,
    homes: &Homes,
    wanted: &Wanted,
    room: Result<&Room, &Error>,
) -> Vec<String> {
    let mut notes = Vec::new();
    if wanted.program != NAME {
        notes.push(format!(
            "the PATH doesn't lead to this {NAME}, so {} is called; for agents to find it in their shell, put it on the PATH",
            wanted.program
        ));
    }
    match room {
        Err(e @ Error::Untrusted { .. }) => notes.push(e.to_string()),
        Err(_) => notes.push(
            "there is no room here yet: `mailbag init` makes one; until then the hooks have nothing to say".into(),
        ),
        Ok(room) if room::find(None, asked.from).ok().as_deref() != Some(room.dir.path()) => notes.push(format!(
            "this room is not found from here without help: start {} with MAILBAG_ROOM={}",
            asked.client.name(),
            room.dir.path().display()
        )),
        Ok(_) => {}
    }
    let other = if asked.scope == Scope::Project { Scope::User } else { Scope::Project };
    if standing(asked.client, other, homes).hooks != Hooks::Absent {
        let flag = if other == Scope::User { "--user" } else { "--project" };
        notes.push(format!(
            "the hooks are there with {flag} as well; once is enough, and `mailbag uninstall {} {flag}` takes those out",
            asked.client.as_str()
        ));
    }
    match asked.client {
        Client::Claude => claude(asked.scope, &mut notes),
        Client::Codex => {
            codex(asked.scope, homes, room.ok(), &mut notes);
            let agent = wanted.agent.as_deref().unwrap_or("AGENT");
            notes.push(format!(
                "to have a session woken that idles: `mailbag agent set {agent} --wake codex`, and a router that runs \
                 (`mailbag run`)"
            ));
        }
        Client::Gemini => gemini(asked.scope, &mut notes),
    }
    notes
}

fn claude(scope: Scope, notes: &mut Vec<String>) {
    if scope == Scope::Project {
        notes.push("Claude Code asks once whether it may use the server of .mcp.json: choose yes, which is not the answer that it \
             proposes. It reads .claude/settings.json only where it is started, so start it here".into());
    }
    notes.push("sessions that run already know of it after a restart".into());
}

fn codex(scope: Scope, homes: &Homes, room: Option<&Room>, notes: &mut Vec<String>) {
    if scope == Scope::Project {
        notes.push("Codex reads .codex/ only in a project that you trust: start `codex` here once and say so".into());
    }
    notes.push(
        "Codex runs a hook only after you trusted it, and says nothing of those that it leaves out: start `codex`, give \
         `/hooks`, and trust them; do so again after each change of them. `codex exec` doesn't ask"
            .into(),
    );
    let outside = room.map(|room| room.dir.path()).filter(|path| !path.starts_with(&homes.project));
    match outside {
        Some(room) => notes.push(format!(
            "the room is outside the project, where Codex's sandbox may not write: put `writable_roots = [{:?}]` below \
             `[sandbox_workspace_write]` in config.toml",
            room.display().to_string()
        )),
        None if scope == Scope::User => notes.push(
            "Codex's sandbox may write below the directory it is started in; a room elsewhere has to stand in \
             `writable_roots` below `[sandbox_workspace_write]` in config.toml"
                .into(),
        ),
        None => notes.push("Codex's sandbox may write the room only where it is started, so start it here".into()),
    }
}

fn gemini(scope: Scope, notes: &mut Vec<String>) {
    if scope == Scope::Project {
        notes.push("Gemini CLI runs a project's hooks only in a folder that you trust: say so when it asks".into());
    }
    notes.push("sessions that run already know of it after a restart".into());
}
