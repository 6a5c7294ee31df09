//! What was there before mailbag: what a person put in under its name, and links that lead elsewhere.

use super::clients::{Format, Homes, Part, Scope, Target};
use super::json::{Json, Wrong};
use super::sections::{self, Kind};
use super::{Asked, hooks, standing, toml};
use crate::base::error::{Error, Result};
use crate::clients::kind::Client;
use crate::disk::Outside;
use std::path::Path;

/// What there was before the client was plugged in.
pub(super) struct Before<'a> {
    /// The directory that links may not lead out of: those of a project were made by whoever made the project.
    pub(super) project: Option<&'a Path>,
    /// Was the client never plugged in?
    pub(super) is_first: bool,
    /// And no other one either?
    pub(super) is_first_of_all: bool,
}

impl Before<'_> {
    pub(super) fn of<'a>(asked: &Asked<'_>, homes: &'a Homes) -> Before<'a> {
        let is_there = |client: Client| standing(client, asked.scope, homes).is_plugged_in();
        let is_first = !is_there(asked.client);
        let project = (asked.scope == Scope::Project).then_some(homes.project.as_path());
        let others = project.is_some() && Client::ALL.into_iter().any(is_there);
        Before { project, is_first, is_first_of_all: is_first && !others }
    }

    /// What of a target is ours to change: not a server or a section that a person put there under our name. The copy from
    /// before shows it later.
    pub(super) fn ours(&self, target: &Target, text: &str, backup: Option<&str>) -> Target {
        let mut ours = target.clone();
        let mut parts = Vec::new();
        for part in &target.parts {
            let is_first = if *part == Part::Mcp { self.is_first } else { self.is_first_of_all };
            let witness = backup.or(is_first.then_some(text));
            // What is not valid is refused where it is edited.
            let is_there = |text: &str| stands(target, text).unwrap_or_default();
            let is_theirs = *part != Part::Hooks && is_there(text) && witness.is_some_and(is_there);
            if !is_theirs {
                parts.push(*part);
            }
        }
        ours.parts = parts;
        ours
    }
}

/// Does our server or our section stand in a text?
fn stands(target: &Target, text: &str) -> Result<bool, Wrong> {
    Ok(match target.format {
        Format::Json(dialect) => hooks::server(&Json::read(text, dialect)?).is_some(),
        Format::Toml => toml::server(text)?.is_some(),
        Format::Markdown => sections::stands(text, Kind::Mail),
    })
}

/// Fails if links lead a file of a project out of it.
pub(super) fn check_inside(file: &Outside, project: Option<&Path>) -> Result<()> {
    match project.map(|project| file.led_out_of(project)).transpose()?.flatten() {
        None => Ok(()),
        Some(real) => Err(Error::State {
            path: file.path().to_path_buf(),
            line: None,
            what: format!("leads out of the project, to {}", real.display()),
            cure: "put a file in the place of the link, or change that file by hand; nothing was changed".into(),
        }),
    }
}
