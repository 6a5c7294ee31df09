//! Plans an uninstallation. An earlier run may have been killed.

use super::clients::{ClientDirectories, HookConfiguration, InstallPart, InstallScope, TargetFile};
use super::preexisting::{PreexistingState, check_inside};
use super::{
    BackupAction, FileChange, InstallPlan, InstallRequest, changing, edit, homes, notes, plan,
    refused, sections, status, targets,
};
use super::{text, undo};
use crate::base::error::Result;
use crate::base::limits;
use crate::clients::kind::Client;
use crate::disk::{UserFile, layout};
use std::path::Path;

/// The extent of an uninstallation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemovalExtent {
    /// All that is ours.
    Whole,
    /// The rest of a killed run, for a client that no longer counts as installed. An entry that the user may have written stays.
    Remains,
}

/// Plans an uninstallation.
pub fn uninstall(asked: &InstallRequest<'_>) -> Result<InstallPlan> {
    uninstall_among(asked, &[asked.client], RemovalExtent::Whole)
}

/// As [`uninstall`], for one of several clients that are uninstalled in this order.
pub fn uninstall_among(
    asked: &InstallRequest<'_>,
    order: &[Client],
    extent: RemovalExtent,
) -> Result<InstallPlan> {
    let gone = order
        .split(|client| *client == asked.client)
        .next()
        .unwrap_or_default();
    let homes = homes(asked.from)?;
    let others: Vec<Client> = Client::ALL
        .into_iter()
        .filter(|client| *client != asked.client && !gone.contains(client))
        .collect();
    let installed: Vec<Client> = others
        .into_iter()
        .filter(|client| status(*client, asked.scope, &homes).is_installed())
        .collect();
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    let before = PreexistingState::of(asked, &homes);
    let targets = match (targets(asked.client, asked.scope, &homes), extent) {
        // A file that cannot be read contains nothing from a killed run.
        (Err(_), RemovalExtent::Remains) => Vec::new(),
        (targets, _) => targets?,
    };
    let has_hooks = targets
        .iter()
        .any(|target| target.parts.contains(&InstallPart::Hooks));
    for target in targets {
        let used = other_user(&target, &installed, asked.scope, &homes);
        match used {
            Some(other) if order.contains(&other) => {}
            Some(other) => notes.push(notes::still_used(&target.path, other)),
            None => match (
                take_out(&target, asked.client, before.project, extent, &mut notes),
                extent,
            ) {
                (Err(_), RemovalExtent::Remains) => {}
                (change, _) => files.extend(change?),
            },
        }
    }
    // The hooks are removed last: while they are there, a second run after a kill finds the rest. Without hooks in a file of the
    // project, the section is removed last, because its marks identify it.
    if has_hooks {
        files.reverse();
    }
    let wanted = HookConfiguration::default();
    Ok(plan(asked, homes, files, notes, wanted))
}

/// Another installed client that reads the same instructions or the same skill.
fn other_user(
    target: &TargetFile,
    installed: &[Client],
    scope: InstallScope,
    homes: &ClientDirectories,
) -> Option<Client> {
    let is_shared = matches!(
        target.parts[..],
        [InstallPart::Section] | [InstallPart::Skill]
    );
    if scope != InstallScope::Project || !is_shared {
        return None;
    }
    installed.iter().copied().find(|client| {
        let targets = client.targets(scope, homes);
        targets.iter().any(|other| other.path == target.path)
    })
}

/// Plans the removal of our parts from a file.
pub(super) fn take_out(
    target: &TargetFile,
    client: Client,
    project: Option<&Path>,
    extent: RemovalExtent,
    notes: &mut Vec<String>,
) -> Result<Option<FileChange>> {
    let original = UserFile::read(&target.path, limits::CLIENT_FILE_BYTES)?;
    let backup = UserFile::read(&layout::backup(&target.path), limits::CLIENT_FILE_BYTES)?;
    let is_inside = || check_inside(&original, project);
    let has_remains = original.has_remains(|name| client.facts().directories.contains(&name))?
        || backup.has_remains(|_| false)?;
    let Some(now) = text(&original)? else {
        return if has_remains && is_inside().is_ok() {
            changing(&target.path, &original, None, BackupAction::Leave).map(Some)
        } else {
            Ok(None)
        };
    };
    let before = text(&backup)?;
    let nothing = PreexistingState {
        project,
        is_first: false,
        is_first_of_all: false,
    };
    let mut ours = nothing.ours(target, client, now, before);
    keep_installed_parts(&mut ours, client, now);
    let wanted = status::wanted(&ours, now, client);
    let makes_this = |text: &str| {
        wanted
            .as_ref()
            .is_some_and(|wanted| edit(&ours, text, client, wanted).is_ok_and(|after| after == now))
    };
    let is_ours = || match ours.parts[..] {
        [part @ (InstallPart::Section | InstallPart::Include)] => {
            sections::is_as_written(now, part)
        }
        _ => makes_this(before.unwrap_or_default()),
    };
    let rest = if extent == RemovalExtent::Whole || is_ours() {
        undo(&ours, now, client).map_err(|wrong| refused(&original, wrong))?
    } else {
        now.to_owned()
    };
    // The backup of a file that has no entry of ours: a killed run had not removed it yet, or the entries are the user's.
    let is_idle = before == Some(now);
    if rest == now && !is_idle && !has_remains {
        return Ok(None);
    }
    is_inside()?;
    original.check_writable()?;
    let rest = as_ended(rest, before.unwrap_or("\n"), makes_this);
    let (after, keep) = match before {
        _ if rest == now => (
            Some(rest),
            if is_idle {
                BackupAction::Drop
            } else {
                BackupAction::Leave
            },
        ),
        // The file has not changed since the installation: restore it byte for byte.
        Some(before) if makes_this(before) => (Some(before.to_owned()), BackupAction::Drop),
        Some(_) if makes_this(&rest) => (Some(rest), BackupAction::Drop),
        Some(_) => {
            notes.push(notes::kept(&target.path, backup.path()));
            (Some(rest), BackupAction::Leave)
        }
        None if matches!(rest.trim().trim_start_matches('\u{feff}'), "" | "{}") => {
            (None, BackupAction::Leave)
        }
        None => (Some(rest), BackupAction::Leave),
    };
    changing(&target.path, &original, after, keep).map(Some)
}

/// Keeps the parts that a file has, so that it can be compared with the text of an installation.
fn keep_installed_parts(target: &mut TargetFile, client: Client, text: &str) {
    let mut there = target.parts.clone();
    there.retain(|part| {
        let alone = TargetFile {
            parts: vec![*part],
            ..target.clone()
        };
        undo(&alone, text, client).is_ok_and(|rest| rest != text)
    });
    if !there.is_empty() {
        target.parts = there;
    }
}

/// The rest of a file with its last line ended as it was `before`: an installation ends a last line that has no end.
fn as_ended(rest: String, before: &str, makes_this: impl Fn(&str) -> bool) -> String {
    let open = rest
        .strip_suffix('\n')
        .map(|open| open.strip_suffix('\r').unwrap_or(open));
    match open.filter(|open| !before.is_empty() && !before.ends_with('\n') && makes_this(open)) {
        Some(open) => open.to_owned(),
        None => rest,
    }
}
