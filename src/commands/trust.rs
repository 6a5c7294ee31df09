//! Trust: what a room is and brings, and what a person agrees to, or takes back.

use crate::base::error::{Error, Result};
use crate::disk::machine;
use crate::query::programs::{Startable, programs};
use crate::room::consent::{self, Consent, Consents, Identity};
use crate::room::registry::Wake;
use crate::room::sessions::Caller;
use crate::room::{self, Room};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// What a room is, and what it would start.
#[derive(Debug, Serialize)]
pub struct Standing {
    /// Which room.
    #[serde(flatten)]
    pub identity: Identity,
    /// Its owner, for people.
    pub owner_name: String,
    /// Does it belong to the user that asks?
    pub own: bool,
    /// May it be used? One's own always may.
    pub trusted: bool,
    /// What would be started for its agents.
    pub programs: Vec<Startable>,
    /// Where consent is recorded.
    pub recorded_in: PathBuf,
}

impl Standing {
    /// The programs that may not be started yet.
    pub fn open(&self) -> impl Iterator<Item = &Startable> {
        self.programs.iter().filter(|program| !program.agreed)
    }
}

/// Looks at the room at a directory, or the one that is found from there. Nothing of it is used.
pub fn look(asked: Option<&Path>, from: &Path) -> Result<Standing> {
    let room = Room::look(&place(asked, from)?)?;
    let (identity, consents) = (room.identity()?, Consents::read()?);
    let own = room.is_own()?;
    Ok(Standing {
        owner_name: machine::user(identity.owner),
        trusted: own || consents.of(&identity).is_some(),
        programs: programs(&room.registry()?, &|program| consents.agrees(&identity, &program.sha256())),
        recorded_in: consent::file()?,
        own,
        identity,
    })
}

/// Records what was looked at: that the room may be used, and that these programs may be started.
pub fn agree(standing: &Standing, programs: &[Startable]) -> Result<()> {
    refuse_in_session()?;
    let programs: Vec<(Value, String)> =
        programs.iter().map(|startable| (startable.program.clone(), startable.sha256.clone())).collect();
    consent::agree(&standing.identity, &programs)
}

/// Records that the person set this program. One that an agent's session set was set by nobody who may agree.
pub fn agree_to_set(room: &Room, wake: Option<&Wake>) -> Result<()> {
    match wake.and_then(Wake::program) {
        Some(program) if session().is_none() => {
            consent::agree(&room.identity()?, &[(program.value().clone(), program.sha256())])
        }
        _ => Ok(()),
    }
}

/// Takes back all that was agreed to for a room, which need not be there any more.
pub fn revoke(asked: Option<&Path>, from: &Path) -> Result<Vec<Consent>> {
    let named = asked.map(|asked| from.join(asked));
    let found = place(asked, from).ok();
    let mut paths = Vec::new();
    for path in [named, found].into_iter().flatten() {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        for path in [path, real] {
            paths.push(consent::path_text(&room::below(&path))?);
            paths.push(consent::path_text(&path)?);
        }
    }
    let revoked = consent::revoke(&paths)?;
    if revoked.is_empty() {
        let shown = paths.first().map_or("here", String::as_str);
        return Err(Error::NotFound {
            what: format!("nothing was agreed to for a room at {shown}"),
            cure: "`mailbag trust --list` shows what was".into(),
        });
    }
    Ok(revoked)
}

/// Everything that the person agreed to.
pub fn list() -> Result<Vec<Consent>> {
    Ok(Consents::read()?.rooms)
}

/// A directory that is a room or has one, or the room that is found from the working directory.
fn place(asked: Option<&Path>, from: &Path) -> Result<PathBuf> {
    match asked.map(|asked| from.join(asked)) {
        Some(path) if room::is_room(&path) => Ok(path),
        Some(path) => room::find(None, &path),
        None => room::find(None, from),
    }
}

/// The client in whose session this program runs, if one says so.
fn session() -> Option<String> {
    Caller::from_environment().map(|caller| caller.client)
}

/// An agent must not agree in place of the person whose programs and files are at stake.
pub fn refuse_in_session() -> Result<()> {
    match session() {
        None => Ok(()),
        Some(client) => Err(Error::Usage {
            what: format!("this runs in a session of {client}, and only a person can agree"),
            cure: "ask the person to run `mailbag trust` in a terminal of their own".into(),
        }),
    }
}
