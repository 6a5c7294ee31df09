//! Links to other rooms: adds them to the settings, and removes them.

mod change;
mod table;

pub use change::{RemovedLink, remove};

use super::trust;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::base::text::{quoted, shell_path};
use crate::disk::layout;
use crate::disk::paths::PathQuestions;
use crate::query::links;
use crate::room::actor::require_person;
use crate::room::registry::AddressKind;
use crate::room::settings::{
    Carrier, LinkSettings, NatsAddress, NatsSettings, Settings, SshAddress, is_tag,
};
use crate::room::{self, Room};
use serde::Serialize;
use std::path::Path;

/// A link that a person wants.
#[derive(Debug)]
pub struct LinkRequest<'a> {
    /// The tag of the other room.
    pub tag: &'a str,
    /// Where the other room is. Empty if it connects.
    pub address: &'a str,
    /// The carrier.
    pub carrier: Carrier,
    /// The addresses that its mail may have. `None` for the present setting or the default.
    pub accept: Option<Vec<AddressKind>>,
    /// The tag of this room in the other one: for ssh and nats, and for dir if the other room is not accessible. `None` for
    /// the present setting.
    pub known_as: Option<String>,
    /// The settings of a link over NATS. A missing field keeps the present setting.
    pub nats: NatsSettings,
    /// Shows the change only.
    pub dry_run: bool,
}

/// A link in the settings.
#[derive(Debug, Serialize)]
pub struct AddedLink {
    /// The tag of the other room.
    pub tag: String,
    /// The settings of the link.
    #[serde(flatten)]
    pub settings: LinkSettings,
    /// Whether the link is new.
    pub added: bool,
    /// Whether the call changes `settings.toml`.
    pub changed: bool,
    /// Whether the change was only shown.
    pub dry_run: bool,
    /// The table in `settings.toml`.
    pub table: String,
    /// The tag of the other room's link to this one, if that room is on this machine and has such a link.
    pub reverse_link: Option<String>,
    /// The command that adds a link from the other room to this one.
    pub next: Option<String>,
}

/// The action of these commands, for [`require_person`].
const LINKS: &str = "change links";

/// Adds a link to the settings. The same link can be added again.
pub fn add(room: &Room, from: &Path, wanted: &LinkRequest<'_>) -> Result<AddedLink> {
    if !wanted.dry_run {
        require_person(LINKS)?;
    }
    check_tag(room, wanted.tag)?;
    let other = match wanted.carrier {
        Carrier::Dir => Some(other_room(room, from, wanted.address)?),
        Carrier::Ssh | Carrier::Nats | Carrier::None => None,
    };
    check_address(wanted)?;
    let address = match &other {
        Some(other) => text_of(other.dir.path())?,
        None => wanted.address.to_owned(),
    };
    let _held = room.lock_registry()?;
    let settings = room.settings()?;
    let known = settings.links.get(wanted.tag);
    check_free(&settings, wanted, &address)?;
    let mut link = LinkSettings::new(wanted.carrier, &address);
    link.accept = wanted
        .accept
        .clone()
        .or(known.map(|known| known.accept.clone()))
        .unwrap_or(link.accept);
    link.known_as = wanted
        .known_as
        .clone()
        .or(known.and_then(|known| known.known_as.clone()));
    link.budget = known.map(|known| known.budget).unwrap_or_default();
    link.nats = nats(wanted, known, from)?;
    let changed = known != Some(&link);
    let table = table::block(wanted.tag, &link);
    if changed {
        edit(room, wanted.dry_run, |text| {
            table::put(text, wanted.tag, &link)
        })?;
    }
    if !wanted.dry_run {
        trust::agree_after_link(room, wanted.tag, &settings)?;
    }
    let reverse_link = other
        .as_ref()
        .map(|other| links::their_link(room, &link, other))
        .transpose()?
        .flatten();
    let next = match (&other, &reverse_link) {
        (Some(other), None) => Some(links::link_back(room, &settings, other)),
        _ => None,
    };
    Ok(AddedLink {
        tag: wanted.tag.to_owned(),
        settings: link,
        added: known.is_none(),
        changed,
        dry_run: wanted.dry_run,
        table,
        reverse_link,
        next,
    })
}

/// The settings of a link over NATS, with absolute paths.
fn nats(
    wanted: &LinkRequest<'_>,
    known: Option<&LinkSettings>,
    from: &Path,
) -> Result<NatsSettings> {
    let known = known
        .filter(|known| known.carrier == wanted.carrier)
        .map(|known| known.nats.clone())
        .unwrap_or_default();
    let NatsSettings {
        credentials,
        ca,
        replicas,
    } = &wanted.nats;
    let nats = NatsSettings {
        credentials: absolute_file(credentials, from)?.or(known.credentials),
        ca: absolute_file(ca, from)?.or(known.ca),
        replicas: replicas.or(known.replicas),
    };
    if wanted.carrier == Carrier::Nats || nats == NatsSettings::default() {
        Ok(nats)
    } else {
        Err(Error::usage(
            format!(
                "a link by {} has no credentials, no certificates and no replicas here",
                wanted.carrier.as_str()
            ),
            "pass --carrier nats, or omit these options",
        ))
    }
}

/// A file with its absolute path. A file in the home directory keeps its `~/`.
fn absolute_file(file: &Option<String>, from: &Path) -> Result<Option<String>> {
    match file {
        Some(file) if file.starts_with("~/") => text_of(Path::new(file)).map(Some),
        Some(file) => text_of(&from.join(file)).map(Some),
        None => Ok(None),
    }
}

/// Changes the text of `settings.toml`, which stays valid.
fn edit(
    room: &Room,
    dry_run: bool,
    change: impl FnOnce(&str) -> std::result::Result<String, toml_edit::TomlError>,
) -> Result<()> {
    let bytes = room
        .dir
        .read(layout::SETTINGS, limits::REGISTRY_BYTES)?
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let changed = change(&text).map_err(|e| not_changed(room, e.to_string()))?;
    Settings::parse(&changed)
        .map_err(|_| not_changed(room, "cannot be changed by this command".into()))?;
    if dry_run || changed == *text {
        Ok(())
    } else {
        room.dir.replace(layout::SETTINGS, changed.as_bytes())
    }
}

fn not_changed(room: &Room, what: String) -> Error {
    Error::state(
        room.dir.at(layout::SETTINGS),
        what,
        "write the table of the link by hand; nothing was changed",
    )
}

fn check_tag(room: &Room, tag: &str) -> Result<()> {
    if !is_tag(tag) {
        return Err(Error::usage(
            format!("{} is not a valid tag", quoted(tag)),
            "use letters, digits, `.`, `_` and `-`, and no reserved word such as `all` or `lane`",
        ));
    }
    if room
        .settings()?
        .tag
        .is_some_and(|own| own.eq_ignore_ascii_case(tag))
    {
        return Err(Error::usage(
            format!("{tag} is the tag of this room"),
            "choose another tag for the other room",
        ));
    }
    Ok(())
}

/// Fails if the address has not the form that the carrier needs.
fn check_address(wanted: &LinkRequest<'_>) -> Result<()> {
    let (what, fix) = match wanted.carrier {
        Carrier::Ssh if SshAddress::parse(wanted.address).is_none() => (
            "the address is none of SSH",
            "write [USER@]HOST:/PATH/TO/ROOM; docs/machines.md has the details",
        ),
        Carrier::Nats if NatsAddress::parse(wanted.address).is_none() => (
            "the address is none of NATS servers",
            "write nats://HOST:PORT or tls://HOST:PORT, and all servers of a cluster with commas; docs/machines.md has the details",
        ),
        Carrier::None if !wanted.address.is_empty() => (
            "the other room connects, so it has no address here",
            "omit the address, or choose another carrier",
        ),
        _ => return Ok(()),
    };
    Err(Error::usage(what, fix))
}

/// The room in a directory, or the directory that is a room itself.
fn other_room(room: &Room, from: &Path, address: &str) -> Result<Room> {
    if address.is_empty() {
        return Err(Error::usage(
            "the address is missing",
            "give the directory of the other project",
        ));
    }
    let path = from.join(address);
    let places = [room::below(&path), room::default_place(&path), path];
    let place = places
        .iter()
        .find(|place| room::is_room(place))
        .ok_or_else(|| {
            Error::not_found(
                format!("no room at {}", places[2].display()),
                format!(
                    "create one there with `mailbag init {}`",
                    shell_path(&places[0])
                ),
            )
        })?;
    let other = Room::open(&place.real_path().doing("find", place)?)?;
    if other.dir.meta()?.is_same_file(&room.dir.meta()?) {
        return Err(Error::usage(
            "this is the room itself",
            "give the directory of the other project",
        ));
    }
    if other
        .id()?
        .is_some_and(|id| room.id().is_ok_and(|own| own == Some(id)))
    {
        return Err(Error::usage(
            "the other room is a copy of this one",
            "run `mailbag init --adopt` in the copy",
        ));
    }
    Ok(other)
}

fn text_of(path: &Path) -> Result<String> {
    let plain = path
        .to_str()
        .filter(|path| !path.contains(char::is_control));
    plain.map(str::to_owned).ok_or_else(|| {
        Error::usage(
            format!(
                "the path {} cannot be written into settings.toml",
                path.display()
            ),
            "use a path of plain text",
        )
    })
}

/// Fails if the tag is not free, or if another tag links to the other room.
fn check_free(settings: &Settings, wanted: &LinkRequest<'_>, address: &str) -> Result<()> {
    let tag = wanted.tag;
    for (known, link) in &settings.links {
        let is_there = match [link.carrier, wanted.carrier] {
            // The servers are not the room.
            [Carrier::Nats, Carrier::Nats] => known == tag,
            // A slash at the end of a path changes nothing.
            _ => {
                Path::new(&link.address) == Path::new(address)
                    && (known == tag || !address.is_empty())
            }
        };
        let (what, fix) = match (known.eq_ignore_ascii_case(tag), is_there) {
            (true, true) if known == tag => continue,
            (false, false) => continue,
            (true, _) => (
                format!("there is a link {known} to {}", link.address),
                format!(
                    "choose another tag, or remove that link with `mailbag link remove {known}`"
                ),
            ),
            (false, true) => (
                format!("there is a link to this room, with the tag {known}"),
                "use that tag".to_owned(),
            ),
        };
        return Err(Error::usage(what, fix));
    }
    Ok(())
}
