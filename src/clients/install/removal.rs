//! Plans an uninstallation. An earlier run may have been killed.

use super::clients::{
    ClientDirectories, FileFormat, HookConfiguration, InstallPart, InstallScope, TargetFile,
};
use super::preexisting::{PreexistingState, check_inside, is_unproven, ours};
use super::{
    BackupAction, FileChange, InstallPlan, InstallRequest, changing, edit, homes, is_installed,
    notes, plan, read_backup, read_file, refused, sections, status, targets, text, undo,
};
use crate::base::error::Result;
use crate::clients::kind::Client;
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
    let installed: Vec<Client> = Client::ALL
        .into_iter()
        .filter(|client| *client != asked.client && !gone.contains(client))
        .filter(|client| is_installed(*client, asked.scope, &homes))
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
    let original = read_file(&target.path)?;
    let backup = read_backup(&target.path)?;
    let inside = check_inside(&original, project);
    let has_remains = original.has_remains(|name| client.facts().directories.contains(&name))?
        || backup.has_remains(|_| false)?;
    let Some(now) = text(&original)? else {
        return if has_remains && inside.is_ok() {
            changing(&target.path, &original, None, BackupAction::Leave).map(Some)
        } else {
            Ok(None)
        };
    };
    let before = text(&backup)?;
    let mut target = ours(target, client, now, before);
    keep_installed_parts(&mut target, client, now);
    let installed = InstalledText {
        wanted: status::wanted(&target, now, client),
        target,
        client,
        text: now,
    };
    let is_unproven = is_unproven(&installed.target, now)
        || installed.target.format == FileFormat::Markdown
            && !installed.is_ours(before)
            && undo(&installed.target, now, client).is_ok_and(|rest| rest.trim().is_empty());
    if is_unproven {
        notes.push(notes::unproven(original.path()));
    }
    let rest = if !is_unproven && (extent == RemovalExtent::Whole || installed.is_ours(before)) {
        undo(&installed.target, now, client).map_err(|wrong| refused(&original, wrong))?
    } else {
        now.to_owned()
    };
    // The backup of a file that has no entry of ours: a killed run had not removed it yet, or the entries are the user's.
    let is_idle = before == Some(now);
    if rest == now && !is_idle && !has_remains {
        return Ok(None);
    }
    inside?;
    original.check_writable()?;
    let rest = installed.end_as(rest, before.unwrap_or("\n"));
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
        Some(before) if installed.is_made_from(before) => {
            (Some(before.to_owned()), BackupAction::Drop)
        }
        Some(_) if installed.is_made_from(&rest) => (Some(rest), BackupAction::Drop),
        Some(_) => {
            notes.push(notes::kept(original.path(), backup.path()));
            (Some(rest), BackupAction::Leave)
        }
        None if matches!(rest.trim().trim_start_matches('\u{feff}'), "" | "{}") => {
            (None, BackupAction::Leave)
        }
        None => (Some(rest), BackupAction::Leave),
    };
    changing(original.path(), &original, after, keep).map(Some)
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

/// A file's text with our entries.
struct InstalledText<'a> {
    /// The file, with the parts that the text has.
    target: TargetFile,
    client: Client,
    text: &'a str,
    /// The program and agent of the entries.
    wanted: Option<HookConfiguration>,
}

impl InstalledText<'_> {
    /// Returns true if an installation into `before` gives this text.
    fn is_made_from(&self, before: &str) -> bool {
        self.wanted.as_ref().is_some_and(|wanted| {
            edit(&self.target, before, self.client, wanted).is_ok_and(|after| after == self.text)
        })
    }

    /// Returns true if the user has not written or changed the entries.
    fn is_ours(&self, before: Option<&str>) -> bool {
        match self.target.parts[..] {
            [part @ (InstallPart::Section | InstallPart::Include)] => {
                sections::is_as_written(self.text, part)
            }
            _ => self.is_made_from(before.unwrap_or_default()),
        }
    }

    /// Ends the last line of the rest as it ended `before`: an installation ends a last line that has no end.
    fn end_as(&self, rest: String, before: &str) -> String {
        let open = rest
            .strip_suffix('\n')
            .map(|open| open.strip_suffix('\r').unwrap_or(open));
        match open {
            Some(open)
                if !before.is_empty() && !before.ends_with('\n') && self.is_made_from(open) =>
            {
                open.to_owned()
            }
            _ => rest,
        }
    }
}
