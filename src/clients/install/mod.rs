//! Plugging mailbag into agent clients: hooks, the MCP server and a section of instructions, merged into files that are
//! a person's own, and taken out of them again.
//!
//! A [`Plan`] says what would change, file by file, and is shown before anything is written. Everything that may refuse
//! does so while the plan is made: then no file was touched.

mod before;
mod clients;
mod hooks;
mod json;
mod proof;
mod sections;
mod standing;
mod toml;
mod trust;
mod words;

use crate::clients::kind::Client;
pub use clients::{Homes, Scope};
pub use proof::{Proof, TRIED};
pub use standing::{Hooks, Standing, standing};
pub use trust::Trust;

use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Outside, layout, machine};
use crate::query::identity;
use crate::room::{self, Room};
use before::{Before, check_inside};
use clients::{Format, Part, Target, Wanted};
use json::{Json, Wrong};
use sections::Kind;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What is to be plugged in, and from where it is asked for.
pub struct Asked<'a> {
    /// Into which client.
    pub client: Client,
    /// For whom.
    pub scope: Scope,
    /// The agent that its sessions are; else each session joins.
    pub agent: Option<&'a str>,
    /// The program that is called; else this one.
    pub program: Option<&'a Path>,
    /// The room that `--room` or `MAILBAG_ROOM` names.
    pub room: Option<&'a Path>,
    /// The working directory.
    pub from: &'a Path,
}

/// What happens to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// There was none.
    Made,
    /// There was one.
    Changed,
    /// It held only what is ours.
    Removed,
    /// None: a person put in it before what would be ours, which a copy beside it bears witness of.
    Kept,
}

/// A file that changes.
#[derive(Debug, Serialize)]
pub struct Changing {
    /// Where it is looked for.
    pub path: PathBuf,
    /// What happens to it.
    pub change: Change,
    /// Where its content from before is kept.
    pub backup: Option<PathBuf>,
    /// The change, as a unified diff.
    pub diff: String,
    #[serde(skip)]
    original: Outside,
    #[serde(skip)]
    after: Option<String>,
    #[serde(skip)]
    keep: Keep,
}

/// What happens to the copy of a file from before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// It is made.
    Make,
    /// It is left as it is.
    Leave,
    /// It is removed: the file is what it was.
    Drop,
}

/// What will change.
#[derive(Debug, Serialize)]
pub struct Plan {
    /// In which client's files.
    pub client: Client,
    /// For whom.
    pub scope: Scope,
    /// Where: the project's directory or the user's.
    pub directory: PathBuf,
    /// The files that change; none if there is nothing to do.
    pub files: Vec<Changing>,
    /// What the person has to know or do.
    pub notes: Vec<String>,
    #[serde(skip)]
    wanted: Wanted,
    #[serde(skip)]
    project: PathBuf,
}

/// Works out what plugging in changes.
pub fn install(asked: &Asked<'_>) -> Result<Plan> {
    let homes = homes(asked.from)?;
    let room = room::find(asked.room, asked.from).and_then(|path| Room::open(&path));
    let agent = asked.agent.map(|name| registered(asked, name)).transpose()?;
    let wanted = Wanted { program: program(asked.program)?, agent };
    let mut notes = words::on_install(asked, &homes, &wanted, room.as_ref());
    let before = Before::of(asked, &homes);
    let mut files = Vec::new();
    for target in targets(asked.client, asked.scope, &homes)? {
        files.extend(put(&target, asked.client, &wanted, &before, &mut notes)?);
    }
    Ok(plan(asked, homes, files, notes, wanted))
}

/// Works out what taking out changes.
pub fn uninstall(asked: &Asked<'_>) -> Result<Plan> {
    let homes = homes(asked.from)?;
    let others: Vec<Client> = Client::ALL.into_iter().filter(|client| *client != asked.client).collect();
    let used = others.into_iter().find(|client| standing(*client, asked.scope, &homes).is_plugged_in());
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    let before = Before::of(asked, &homes);
    for target in targets(asked.client, asked.scope, &homes)? {
        let shared = asked.scope == Scope::Project && target.parts == [Part::Section];
        match used.filter(|_| shared) {
            Some(other) => notes.push(words::still_used(&target.path, other)),
            None => files.extend(take_out(&target, asked.client, before.project, &mut notes)?),
        }
    }
    let wanted = Wanted { program: String::new(), agent: None };
    Ok(plan(asked, homes, files, notes, wanted))
}

impl Plan {
    /// Makes the changes.
    pub fn apply(&self) -> Result<()> {
        self.files.iter().try_for_each(Changing::apply)
    }

    /// Runs the hook once, as the client does at the start of a session. Nothing is bound or announced by it.
    pub fn prove(&self) -> Proof {
        proof::prove(self.client, &self.wanted, &self.project)
    }
}

impl Changing {
    fn apply(&self) -> Result<()> {
        let backup = layout::backup(&self.path);
        if self.keep == Keep::Make {
            self.original.keep(&backup)?;
        }
        match &self.after {
            Some(_) if self.change == Change::Kept => {}
            Some(text) => self.original.write(text.as_bytes())?,
            None => {
                self.original.remove()?;
                let own = self.path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
                if own.is_some_and(|name| [".claude", ".codex", ".gemini"].contains(&name)) {
                    self.original.remove_empty_directory()?;
                }
            }
        }
        match self.keep {
            Keep::Drop => Outside::read(&backup, limits::CLIENT_FILE_BYTES)?.remove(),
            Keep::Make | Keep::Leave => Ok(()),
        }
    }
}

/// The project and the user's directory, from a working directory.
pub fn homes(from: &Path) -> Result<Homes> {
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty()).ok_or_else(|| Error::Usage {
        what: "nothing says which directory is your home".into(),
        cure: "set HOME".into(),
    })?;
    // Settings of the user's own home would be those of every project below it.
    let above = from.ancestors().take_while(|directory| *directory != home || *directory == from);
    let project = above.into_iter().find(|directory| layout::is_project(directory)).unwrap_or(from).to_path_buf();
    Ok(Homes { project, home })
}

fn plan(asked: &Asked<'_>, homes: Homes, files: Vec<Changing>, notes: Vec<String>, wanted: Wanted) -> Plan {
    let directory = match asked.scope {
        Scope::Project => homes.project.clone(),
        Scope::User => asked.client.directory(&homes),
    };
    Plan { client: asked.client, scope: asked.scope, directory, files, notes, wanted, project: homes.project }
}

/// The files for a client. A file of instructions that is AGENTS.md by another name needs no line that includes it, nor
/// does one that its client is told to read AGENTS.md instead of.
fn targets(client: Client, scope: Scope, homes: &Homes) -> Result<Vec<Target>> {
    let all = client.targets(scope, homes);
    let agents = layout::of_client(&homes.project, layout::AGENTS);
    let agents = Outside::read(&agents, limits::CLIENT_FILE_BYTES)?.real().to_path_buf();
    let reads_agents = client == Client::Gemini && standing::reads_agents(&all);
    let mut kept = Vec::new();
    for target in all {
        let include = target.parts == [Part::Include];
        let same = include && Outside::read(&target.path, limits::CLIENT_FILE_BYTES)?.real() == agents;
        if !(include && (same || reads_agents)) {
            kept.push(target);
        }
    }
    Ok(kept)
}

fn put(
    target: &Target,
    client: Client,
    wanted: &Wanted,
    from: &Before<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<Changing>> {
    let original = Outside::read(&target.path, limits::CLIENT_FILE_BYTES)?;
    let backup = Outside::read(&layout::backup(&target.path), limits::CLIENT_FILE_BYTES)?;
    check_inside(&original, from.project)?;
    check_inside(&backup, from.project)?;
    let before = text(&original)?;
    let ours = from.ours(target, before.unwrap_or_default(), text(&backup)?);
    let after = edit(&ours, before.unwrap_or_default(), client, wanted).map_err(|wrong| refused(&original, wrong))?;
    let is_theirs = ours.parts != target.parts;
    if is_theirs {
        notes.push(words::theirs(&target.path));
    }
    if before == Some(after.as_str()) && !(is_theirs && backup.bytes().is_none()) {
        return Ok(None);
    }
    original.check_writable()?;
    let is_ours = before.is_some_and(|text| undo(&ours, text, client).is_ok_and(|rest| rest != text));
    let keep = if before.is_some() && !is_ours { Keep::Make } else { Keep::Leave };
    changing(target, &original, Some(after), keep).map(Some)
}

fn take_out(
    target: &Target,
    client: Client,
    project: Option<&Path>,
    notes: &mut Vec<String>,
) -> Result<Option<Changing>> {
    let original = Outside::read(&target.path, limits::CLIENT_FILE_BYTES)?;
    let backup = Outside::read(&layout::backup(&target.path), limits::CLIENT_FILE_BYTES)?;
    let Some(now) = text(&original)? else { return Ok(None) };
    let before = text(&backup)?;
    let nothing = Before { project, is_first: false, is_first_of_all: false };
    let ours = nothing.ours(target, now, before);
    let rest = undo(&ours, now, client).map_err(|wrong| refused(&original, wrong))?;
    let is_witness = before == Some(now) && ours.parts != target.parts;
    if rest == now && !is_witness {
        return Ok(None);
    }
    check_inside(&original, project)?;
    check_inside(&backup, project)?;
    original.check_writable()?;
    let wanted = standing::wanted(&ours, now, client);
    let makes_this = |text: &str| {
        wanted.as_ref().is_some_and(|wanted| edit(&ours, text, client, wanted).is_ok_and(|after| after == now))
    };
    let (after, keep) = match before {
        // Nobody changed it meanwhile: it becomes what it was, to the byte.
        Some(before) if makes_this(before) => (Some(before.to_owned()), Keep::Drop),
        Some(_) if makes_this(&rest) => (Some(rest), Keep::Drop),
        Some(_) => {
            notes.push(words::kept(backup.path()));
            (Some(rest), Keep::Leave)
        }
        None if matches!(rest.trim().trim_start_matches('\u{feff}'), "" | "{}") => (None, Keep::Leave),
        None => (Some(rest), Keep::Leave),
    };
    changing(target, &original, after, keep).map(Some)
}

fn changing(target: &Target, original: &Outside, after: Option<String>, keep: Keep) -> Result<Changing> {
    let before = text(original)?;
    let change = match (before, &after) {
        (None, _) => Change::Made,
        (_, None) => Change::Removed,
        (Some(before), Some(after)) if before == after => Change::Kept,
        _ => Change::Changed,
    };
    let backup = layout::backup(&target.path);
    let is_kept = keep == Keep::Make
        || keep == Keep::Leave && Outside::read(&backup, limits::CLIENT_FILE_BYTES)?.bytes().is_some();
    Ok(Changing {
        path: target.path.clone(),
        change,
        backup: is_kept.then_some(backup),
        diff: words::diff(&target.path, before, after.as_deref()),
        original: original.clone(),
        after,
        keep,
    })
}

/// A file's text with ours in it.
fn edit(target: &Target, text: &str, client: Client, wanted: &Wanted) -> Result<String, Wrong> {
    match target.format {
        _ if target.parts.is_empty() => Ok(text.to_owned()),
        Format::Json(dialect) => {
            let mut json = Json::read(text, dialect)?;
            // The last goes to the top.
            for part in target.parts.iter().rev() {
                match part {
                    Part::Hooks => hooks::put(&mut json, client, wanted)?,
                    _ => hooks::put_server(&mut json, client, wanted)?,
                }
            }
            Ok(json.text().to_owned())
        }
        Format::Toml => toml::put(text, wanted),
        Format::Markdown => sections::put(text, kind(target)),
    }
}

/// A file's text without ours.
fn undo(target: &Target, text: &str, client: Client) -> Result<String, Wrong> {
    match target.format {
        _ if target.parts.is_empty() => Ok(text.to_owned()),
        Format::Json(_) if text.trim().is_empty() => Ok(text.to_owned()),
        Format::Json(dialect) => {
            let mut json = Json::read(text, dialect)?;
            for part in &target.parts {
                match part {
                    Part::Hooks => hooks::take_out(&mut json, client)?,
                    _ => hooks::take_out_server(&mut json)?,
                }
            }
            Ok(json.text().to_owned())
        }
        Format::Toml => toml::take_out(text),
        Format::Markdown => sections::take_out(text),
    }
}

fn kind(target: &Target) -> Kind {
    if target.parts == [Part::Include] { Kind::Include } else { Kind::Mail }
}

/// A file's text, if there is a file.
fn text(file: &Outside) -> Result<Option<&str>> {
    let read = |bytes| std::str::from_utf8(bytes).map_err(|_| refused(file, Wrong::new("is not UTF-8 text")));
    file.bytes().map(read).transpose()
}

fn refused(file: &Outside, wrong: Wrong) -> Error {
    let cure = "mend it, then run the command again; nothing was changed".into();
    Error::State { path: file.path().to_path_buf(), line: wrong.line, what: wrong.what, cure }
}

/// The registered agent of that name, by id.
fn registered(asked: &Asked<'_>, name: &str) -> Result<String> {
    let room = Room::open(&room::find(asked.room, asked.from)?)?;
    let registry = room.registry()?;
    identity::registered(&registry, name, Some("--agent")).map(|agent| agent.id.to_string())
}

/// The program to call: by its name where that leads to this one, else by its path.
fn program(asked: Option<&Path>) -> Result<String> {
    let plain = |path: &Path| path.to_str().map(str::to_owned);
    let unusable = |path: &Path| Error::Usage {
        what: format!("{} can't be called from settings", path.display()),
        cure: "its path has to be UTF-8, absolute, and end in /mailbag".into(),
    };
    if let Some(path) = asked {
        let fits = path.is_absolute() && path.file_name().is_some_and(|name| name == words::NAME);
        return plain(path).filter(|_| fits).ok_or_else(|| unusable(path));
    }
    let this = std::env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let found = machine::program(words::NAME).and_then(|path| path.canonicalize().ok());
    match this {
        Some(this) if found.as_ref() != Some(&this) => {
            let is_named = this.file_name().is_some_and(|name| name == words::NAME);
            plain(&this).filter(|_| is_named).ok_or_else(|| unusable(&this))
        }
        _ => Ok(words::NAME.to_owned()),
    }
}
