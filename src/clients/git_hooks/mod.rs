//! The hooks of git that check a commit and record it: adds them to a repository, removes them, shows where they are, and
//! answers them.
//!
//! Only a missing hook and a plain shell script are written. For everything else the lines to add are part of the plan.

mod block;
pub mod events;
mod holder;

pub use block::STOPPED;

use super::install::{
    BackupAction, FileChange, HookCall, HookPresence, InstallPlan, InstallScope, ManualEdit,
    changing, program, read_backup, read_file, refused, text,
};
use crate::base::error::Result;
use crate::base::written_path::write_path;
use crate::disk::{layout, machine};
use holder::{HOOKS, HookOwner, HookRepository};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The name on the command line.
pub const NAME: &str = "git";

/// The installed hooks of a repository.
#[derive(Debug, Clone, Serialize)]
pub struct GitHookStatus {
    /// The installed hooks.
    pub hooks: HookPresence,
    /// The hooks that are missing, if others are installed.
    pub missing: Vec<&'static str>,
    /// The directory of hooks that git uses.
    #[serde(serialize_with = "write_path")]
    pub directory: PathBuf,
    /// The program that the hooks call.
    pub command: Option<String>,
    /// The path of that program, if it exists and is executable.
    #[serde(serialize_with = "write_path")]
    pub executable: Option<PathBuf>,
    /// The files that were examined.
    #[serde(serialize_with = "write_path")]
    pub files: Vec<PathBuf>,
    /// Files that could not be read.
    pub problems: Vec<String>,
}

/// Plans the installation into the repository around a directory.
pub fn install(from: &Path, asked: Option<&Path>) -> Result<InstallPlan> {
    let (repository, program) = (HookRepository::around(from)?, program(asked)?);
    let (mut files, mut manual_edits) = (Vec::new(), Vec::new());
    for hook in HOOKS {
        match repository.holder(hook, &program)? {
            HookOwner::Ours(path) => files.extend(put(&path, &program, hook)?),
            HookOwner::Other {
                path,
                reason,
                lines,
            } if !calls(&path, hook) => manual_edits.push(ManualEdit {
                path,
                reason,
                lines,
            }),
            HookOwner::Other { .. } => {}
        }
    }
    Ok(plan(repository, files, manual_edits, program))
}

/// Plans the removal from the repository around a directory.
pub fn uninstall(from: &Path) -> Result<InstallPlan> {
    let repository = HookRepository::around(from)?;
    let (mut files, mut manual_edits) = (Vec::new(), Vec::new());
    for hook in HOOKS {
        // Another program may have become the owner of the hooks since the installation.
        let usual = layout::of_client(&repository.usual, hook);
        let change = if holder::is_link(&repository.usual) || holder::is_link(&usual) {
            None
        } else {
            take_out(&usual, hook)?
        };
        let (HookOwner::Ours(path) | HookOwner::Other { path, .. }) =
            repository.holder(hook, super::install::NAME)?;
        if calls(&path, hook) && (path != usual || change.is_none()) {
            let reason = "our lines were added by hand; remove them".to_owned();
            manual_edits.push(ManualEdit {
                path,
                reason,
                lines: String::new(),
            });
        }
        files.extend(change);
    }
    Ok(plan(repository, files, manual_edits, String::new()))
}

/// Examines the repository around a directory. `None` if there is none.
pub fn status(from: &Path) -> Option<GitHookStatus> {
    let repository = HookRepository::around(from).ok()?;
    let (mut missing, mut files, mut problems) = (Vec::new(), Vec::new(), Vec::new());
    let mut command = None;
    for hook in HOOKS {
        let (found, path) = match repository.holder(hook, super::install::NAME) {
            Ok(HookOwner::Ours(path)) => (find_program(&path), path),
            Ok(HookOwner::Other { path, .. }) => (find_program(&path).or(Ok(None)), path),
            Err(e) => (Err(e), layout::of_client(&repository.hooks, hook)),
        };
        match found {
            Ok(found) => command = command.or(found),
            Err(e) => problems.push(e.to_string()),
        }
        if !calls(&path, hook) {
            missing.push(hook);
        }
        files.push(path);
    }
    let hooks = match missing.len() {
        0 => HookPresence::Installed,
        n if n == HOOKS.len() => HookPresence::Absent,
        _ => HookPresence::Partly,
    };
    // Lines that were added by hand may call the program in any way.
    let command = command
        .or_else(|| (hooks != HookPresence::Absent).then(|| super::install::NAME.to_owned()));
    let executable = command.as_deref().and_then(machine::program);
    let missing = if hooks == HookPresence::Partly {
        missing
    } else {
        Vec::new()
    };
    Some(GitHookStatus {
        hooks,
        missing,
        directory: repository.hooks,
        command,
        executable,
        files,
        problems,
    })
}

fn plan(
    repository: HookRepository,
    files: Vec<FileChange>,
    manual_edits: Vec<ManualEdit>,
    program: String,
) -> InstallPlan {
    let command = block::call(&program, HOOKS[0]);
    let test = HookCall {
        command,
        program,
        from: repository.top,
        input: String::new(),
        event: None,
    };
    let (directory, notes) = (repository.hooks, Vec::new());
    InstallPlan {
        client: NAME,
        name: NAME,
        scope: InstallScope::Project,
        directory,
        files,
        manual_edits,
        questions: Vec::new(),
        notes,
        test,
        needs_key: false,
    }
}

fn put(path: &Path, program: &str, hook: &str) -> Result<Option<FileChange>> {
    let original = read_file(path)?.as_program();
    let before = text(&original)?;
    let now = before.unwrap_or(block::FIRST_LINE);
    let after = block::put(now, program, hook).map_err(|wrong| refused(&original, wrong))?;
    let is_ours = block::take_out(now).is_ok_and(|rest| rest != now);
    let is_by_hand = !is_ours && has_call(now, hook);
    let Some(after) = after.filter(|after| before != Some(after) && !is_by_hand) else {
        return Ok(None);
    };
    original.check_writable()?;
    let keep = if before.is_some() && !is_ours {
        BackupAction::Make
    } else {
        BackupAction::Leave
    };
    changing(path, &original, Some(after), keep).map(Some)
}

fn take_out(path: &Path, hook: &str) -> Result<Option<FileChange>> {
    let original = read_file(path)?;
    let Some(now) = text(&original)? else {
        return Ok(None);
    };
    let rest = block::take_out(now).map_err(|wrong| refused(&original, wrong))?;
    if rest == now {
        return Ok(None);
    }
    original.check_writable()?;
    let program = block::program(now).unwrap_or_default().unwrap_or_default();
    let backup = read_backup(path)?;
    let (after, keep) = match text(&backup)? {
        Some(before) if block::put(before, &program, hook) == Ok(Some(now.to_owned())) => {
            (Some(before.to_owned()), BackupAction::Drop)
        }
        // The person has changed the hook since: their copy stays.
        Some(_) => (Some(rest), BackupAction::Leave),
        // Lines that the person wrote between our marks: the file is reported, not removed.
        None if rest == block::FIRST_LINE
            && block::put(&rest, &program, hook) != Ok(Some(now.to_owned())) =>
        {
            return Ok(None);
        }
        None if rest == block::FIRST_LINE => (None, BackupAction::Leave),
        None => (Some(rest), BackupAction::Leave),
    };
    changing(path, &original, after, keep).map(Some)
}

/// The program that our lines in a hook call.
fn find_program(path: &Path) -> Result<Option<String>> {
    let file = read_file(path)?;
    let program = block::program(text(&file)?.unwrap_or_default());
    program.map_err(|wrong| refused(&file, wrong))
}

/// Returns true if a file calls our hook in any form.
fn calls(path: &Path, hook: &str) -> bool {
    read_file(path).is_ok_and(|file| {
        has_call(
            &String::from_utf8_lossy(file.bytes().unwrap_or_default()),
            hook,
        )
    })
}

fn has_call(text: &str, hook: &str) -> bool {
    text.contains(&format!(" hook git {hook}"))
}
