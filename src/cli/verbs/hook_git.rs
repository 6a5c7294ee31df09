//! `mailbag hook git`: answers a hook of git.

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, IdentityArgs, here};
use crate::clients::git_hooks::events;
use crate::clients::install::DRY_RUN;
use crate::commands::switch;
use crate::query::committer::Committer;
use crate::query::guard::{self, GuardVerdict, OwnedFile};
use crate::room::Room;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// A hook of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum GitHook {
    /// Before a commit
    PreCommit,
    /// After a commit
    PostCommit,
}

pub(super) fn run(
    hook: Option<GitHook>,
    identity: &IdentityArgs,
    cx: &mut CommandContext,
) -> Result<Exit> {
    let directory = here()?;
    let found = cx.room_of_hook(&directory);
    if std::env::var_os(DRY_RUN).is_some() {
        return dry_run(found?.as_ref(), &directory, cx);
    }
    let Some(hook) = hook else {
        return Ok(Exit::Ok);
    };
    let given = identity.given().map(str::to_owned);
    let answer = match found {
        // No file has an owner.
        Ok(None) => return Ok(Exit::Ok),
        Ok(Some(room)) => answer_in_time(hook, room, directory, given),
        Err(e) => Err(e),
    };
    match answer {
        Ok(GuardVerdict::Free) => Ok(Exit::Ok),
        Ok(GuardVerdict::Warn(owned)) => {
            cx.out.note(&format!(
                "mailbag: this commit changes files of other agents:\n{}",
                listed(&owned)
            ));
            Ok(Exit::Ok)
        }
        Ok(GuardVerdict::Stop(owned)) => {
            cx.out.note(&format!(
                "mailbag: the commit was stopped: it changes files of other agents\n{}",
                listed(&owned)
            ));
            cx.out.note(&format!(
                "{}. To commit anyway, and tell the owner: MAILBAG_GUARD=off git commit …",
                sentence(&guard::ask_for(&owned))
            ));
            Ok(Exit::Stopped)
        }
        Err(e) => {
            let what = match hook {
                GitHook::PreCommit => {
                    "cannot check who owns the files of this commit: the commit passes, but its files may belong to other \
                     agents"
                }
                GitHook::PostCommit => "cannot record this commit",
            };
            cx.out.note(&format!("mailbag: {what}: {e}"));
            Ok(Exit::Ok)
        }
    }
}

/// As [`answer`], within a time limit: a hook that hangs would block all work in the repository.
fn answer_in_time(
    hook: GitHook,
    room: Room,
    directory: PathBuf,
    given: Option<String>,
) -> Result<GuardVerdict> {
    let (tell, heard) = mpsc::channel();
    std::thread::spawn(move || tell.send(answer(hook, &room, &directory, given.as_deref())));
    heard.recv_timeout(limits::GUARD_TIME).unwrap_or_else(|_| {
        let what = format!(
            "the check took longer than {} seconds",
            limits::GUARD_TIME.as_secs()
        );
        Err(Error::timeout(what, "run `mailbag doctor`"))
    })
}

fn answer(
    hook: GitHook,
    room: &Room,
    directory: &Path,
    given: Option<&str>,
) -> Result<GuardVerdict> {
    let committer = Committer::of(room, given, directory)?;
    match hook {
        GitHook::PreCommit if switch::is_off() => Ok(GuardVerdict::Free),
        GitHook::PreCommit => events::pre_commit(room, directory, &committer),
        GitHook::PostCommit => {
            events::post_commit(room, directory, &committer).map(|()| GuardVerdict::Free)
        }
    }
}

/// The answer of the test by `mailbag install git`.
fn dry_run(room: Option<&Room>, directory: &Path, cx: &mut CommandContext) -> Result<Exit> {
    let Some(room) = room else {
        cx.out
            .line("mailbag: no room here; the hooks do nothing until `mailbag init`")?;
        return Ok(Exit::Ok);
    };
    let guard = room.settings()?.guard.as_str();
    let who = match Committer::of(room, None, directory)? {
        Committer::Agent(name) => format!("commits here are by {name}"),
        Committer::Human | Committer::Unknown(_) => {
            "the session that commits names the agent".to_owned()
        }
    };
    let path = room.dir.path().display();
    cx.out.line(format!(
        "mailbag: found the room {path}; guard = \"{guard}\"; {who}"
    ))?;
    cx.out.flush()?;
    Ok(Exit::Ok)
}

fn listed(owned: &[OwnedFile]) -> String {
    guard::lines(owned)
        .iter()
        .map(|line| format!("  {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
