//! What a person agreed to: rooms of other users that may be used, and programs that may be started.
//!
//! It is recorded outside any room, so that no room can agree for itself.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::disk::{Own, layout};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The form of the file.
const VERSION: u32 = 1;

/// Which room is meant: another one that is put in its place is not it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Where it is, without links.
    pub path: String,
    /// Its id, where that can be read.
    pub room: Option<String>,
    /// The user that its directory belongs to.
    pub owner: u32,
}

/// What was agreed to for one room. If it belongs to another user, that it may be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Consent {
    /// Which room.
    #[serde(flatten)]
    pub identity: Identity,
    /// Since when.
    pub since: String,
    /// The programs that may be started.
    pub programs: Vec<Agreed>,
}

/// A program that may be started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agreed {
    /// What it is, for people: its arguments, or the word that stands for it.
    pub program: Value,
    /// The digest by which it is known.
    pub sha256: String,
    /// Since when.
    pub since: String,
}

/// Everything that a person agreed to.
#[derive(Debug, Serialize, Deserialize)]
pub struct Consents {
    version: u32,
    /// For each room.
    pub rooms: Vec<Consent>,
}

impl Consents {
    /// As it stands now; nothing, if there is no such file.
    pub fn read() -> Result<Consents> {
        match Own::open(&directory()?)? {
            Some(own) => read(&own),
            None => Ok(Consents::none()),
        }
    }

    fn none() -> Consents {
        Consents { version: VERSION, rooms: Vec::new() }
    }

    /// What was agreed to for this very room.
    pub fn of(&self, identity: &Identity) -> Option<&Consent> {
        self.rooms.iter().find(|consent| consent.identity == *identity)
    }

    /// May a program of this digest be started for this room?
    pub fn agrees(&self, identity: &Identity, sha256: &str) -> bool {
        self.of(identity).is_some_and(|consent| consent.programs.iter().any(|agreed| agreed.sha256 == sha256))
    }
}

/// Records that a room may be used, and these programs started for it, each with its digest. Durable once it has returned.
pub fn agree(identity: &Identity, programs: &[(Value, String)]) -> Result<()> {
    change(|consents| {
        let now = Stamp::now().to_string();
        // What was agreed to for a room that stood here before counts no more.
        let (here, elsewhere) = std::mem::take(&mut consents.rooms)
            .into_iter()
            .partition(|consent: &Consent| consent.identity.path == identity.path);
        consents.rooms = elsewhere;
        let known = here.into_iter().find(|consent: &Consent| consent.identity == *identity);
        let new = || Consent { identity: identity.clone(), since: now.clone(), programs: Vec::new() };
        let mut consent = known.unwrap_or_else(new);
        for (program, sha256) in programs {
            if !consent.programs.iter().any(|agreed| agreed.sha256 == *sha256) {
                let (program, sha256, since) = (program.clone(), sha256.clone(), now.clone());
                consent.programs.push(Agreed { program, sha256, since });
            }
        }
        consents.rooms.push(consent);
    })
}

/// Takes back everything that was agreed to for the rooms at these paths, and gives it.
pub fn revoke(paths: &[String]) -> Result<Vec<Consent>> {
    let mut revoked = Vec::new();
    change(|consents| {
        let (gone, kept) = std::mem::take(&mut consents.rooms)
            .into_iter()
            .partition(|consent: &Consent| paths.contains(&consent.identity.path));
        (revoked, consents.rooms) = (gone, kept);
    })?;
    Ok(revoked)
}

/// The file.
pub fn file() -> Result<PathBuf> {
    Ok(layout::trust_file(&directory()?))
}

fn directory() -> Result<PathBuf> {
    layout::trust_directory().ok_or_else(|| Error::Usage {
        what: "nothing says where to keep what you agree to".into(),
        cure: format!("set HOME, or {} to an absolute path", layout::TRUST_DIRECTORY),
    })
}

fn change(edit: impl FnOnce(&mut Consents)) -> Result<()> {
    let own = Own::make(&directory()?)?;
    let _held = own.hold(layout::TRUST_LOCK)?;
    let mut consents = read(&own)?;
    edit(&mut consents);
    let text = serde_json::to_string_pretty(&consents).expect("plain data") + "\n";
    own.replace(layout::TRUST, text.as_bytes())
}

fn read(own: &Own) -> Result<Consents> {
    let Some(bytes) = own.read(layout::TRUST, limits::REGISTRY_BYTES)? else { return Ok(Consents::none()) };
    let wrong = |what: String| Error::State {
        path: file().unwrap_or_default(),
        line: None,
        what,
        cure: "move it away; what was agreed to is then asked again".into(),
    };
    let consents: Consents = serde_json::from_slice(&bytes).map_err(|e| wrong(format!("can't be read: {e}")))?;
    match consents.version {
        VERSION => Ok(consents),
        other => Err(wrong(format!("is of version {other}, and this program knows {VERSION}"))),
    }
}

/// A path as it is recorded; one that is not UTF-8 could be mistaken for another.
pub fn path_text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| Error::Usage {
        what: format!("{} is not UTF-8, and can't be agreed to", path.display()),
        cure: "give the directory another name".into(),
    })
}
