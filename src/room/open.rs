//! Finding, opening and creating a room.

use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorContext, Problem, Result};
use crate::base::limits;
use crate::base::text::{quoted, shell_path};
use crate::disk::git::main_worktree;
use crate::disk::paths::PathQuestions;
use crate::disk::{Dir, Meta, layout, machine, owner_of};
use crate::features;
use crate::message::id;
use crate::room::consent;
use crate::room::owner::check_owner_at;
use crate::room::registry::Registry;
use crate::room::settings::Settings;
use rustix::fs::FileType;
use std::path::{Path, PathBuf};

/// An open room.
#[derive(Clone)]
pub struct Room {
    /// The room's directory.
    pub dir: Dir,
}

/// The result of [`Room::init`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoomCreation {
    /// A new room was created.
    New,
    /// A room existed and was not changed.
    Already,
}

/// Returns true for the name of a file in the room that people edit.
pub(crate) fn is_edited(name: &str) -> bool {
    let edited = features::ALL.iter();
    let mut edited = edited.flat_map(|feature| feature.edited_names());
    [layout::REGISTRY, layout::SETTINGS].contains(&name) || edited.any(|edited| *edited == name)
}

impl Room {
    /// Opens the room at a directory. Another user's room is an error.
    ///
    /// ```
    /// use mailbag::room::Room;
    ///
    /// let home = tempfile::tempdir()?;
    /// assert!(Room::open(home.path()).is_err(), "a directory is not a room");
    /// Room::init(home.path())?;
    /// let room = Room::open(home.path())?;
    /// assert_eq!(room.registry()?.agents().len(), 1, "only the human is registered");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: &Path) -> Result<Room> {
        check_owner_at(path)?;
        let room = Room::look(path)?;
        room.check_own()?;
        room.restore_id()?;
        Ok(room)
    }

    /// As [`Room::open`], but without the check of the owner, for commands that only describe the room. A directory is
    /// a room if it contains `spool/`, or a registry and a log.
    pub fn look(path: &Path) -> Result<Room> {
        let dir = match Dir::open_room(path) {
            Err(e) if e.errno() == Some(libc::EACCES) => return Err(e),
            dir => dir.ok(),
        };
        if let Some(dir) = dir
            && has_room(&dir)?
        {
            check_path(path)?;
            return Room::of(dir).check_finished();
        }
        let below = layout::below(path, layout::ROOM.as_ref());
        let fix = if is_room(&below) {
            format!("name the room below it: {}", below.display())
        } else {
            format!("create one with `mailbag init {}`", shell_path(path))
        };
        Err(Error::not_found(
            format!("no room at {}", path.display()),
            fix,
        ))
    }

    pub(super) fn of(dir: Dir) -> Room {
        Room { dir }
    }

    /// Creates a room at a directory, or completes a partial one. Existing files are not changed, because a harness may
    /// have created inboxes and outboxes before. It can be repeated at any time, for example after a kill.
    ///
    /// ```
    /// use mailbag::room::{Room, RoomCreation};
    ///
    /// let home = tempfile::tempdir()?;
    /// let (_, first) = Room::init(home.path())?;
    /// let (_, second) = Room::init(home.path())?;
    /// assert_eq!((first, second), (RoomCreation::New, RoomCreation::Already));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn init(path: &Path) -> Result<(Room, RoomCreation)> {
        check_path(path)?;
        check_owner_at(path)?;
        let room = Room::of(Dir::make_room(path)?);
        room.check_own()?;
        let dir = room.check_named()?.dir;
        let made = if dir.stat(layout::ROOM_ID)?.is_some() {
            RoomCreation::Already
        } else {
            RoomCreation::New
        };
        for directory in layout::DIRECTORIES {
            dir.make(directory)?;
        }
        let room = Room::of(dir);
        let _held = room.lock_registry()?;
        if room.dir.stat(layout::REGISTRY)?.is_none() {
            room.dir
                .replace(layout::REGISTRY, Registry::empty().to_json().as_bytes())?;
        }
        if room.dir.stat(layout::GITIGNORE)?.is_none() {
            room.dir.replace(layout::GITIGNORE, b"*\n")?;
        }
        for directory in [layout::outbox(id::HUMAN), layout::seen(id::HUMAN)] {
            room.dir.make(directory)?;
        }
        if room.dir.stat(layout::LOCK)?.is_none() {
            let _ = room.dir.lock_file(layout::LOCK)?.put_text("");
        }
        room.note_place()?;
        // Written last: its presence shows that the room is complete.
        if room.dir.stat(layout::ROOM_ID)?.is_none() {
            let id = id::mint();
            // Settings that existed before are from another source, and need consent. After a kill the room has no id yet,
            // and the next command notes another one.
            if room.dir.stat(layout::SETTINGS)?.is_none() {
                match room.note_created(&id) {
                    // A sandbox may forbid to write in the home directory, and the record may be damaged. The person is asked later.
                    Err(e) if e.is_forbidden() || e.errno().is_none() => tracing::debug!("{e}"),
                    noted => noted?,
                }
            }
            room.dir
                .replace(layout::ROOM_ID, format!("{id}\n").as_bytes())?;
        }
        Ok((room, made))
    }

    /// The room's id in `spool/room`.
    pub fn id(&self) -> Result<Option<String>> {
        let bytes = self.dir.read(layout::ROOM_ID, 256)?;
        Ok(bytes
            .map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
            .filter(|id| !id.is_empty()))
    }

    /// The current registry, with the names that features add. A missing registry is an error, and never counts as an empty
    /// one.
    pub fn registry(&self) -> Result<Registry> {
        // Files that are invalid, or that this user may not read, must not stop a command. They add no names. Another error
        // can pass, and mail to such a name must not be rejected until then.
        let mut lanes = Vec::new();
        for feature in features::ALL {
            lanes.extend(unless_failing(feature.lanes(self))?.unwrap_or_default());
        }
        let settings = unless_failing(self.settings())?.unwrap_or_default();
        Ok(self
            .registry_alone()?
            .with_lanes(lanes.into())
            .with_rooms(settings.rooms()))
    }

    /// The current registry without the names that features add.
    pub fn registry_alone(&self) -> Result<Registry> {
        self.once_saved(layout::REGISTRY, || self.read_registry())
    }

    fn read_registry(&self) -> Result<Registry> {
        let bytes = self
            .dir
            .read(layout::REGISTRY, limits::REGISTRY_BYTES)?
            .ok_or_else(|| {
                Error::state(
                    self.dir.at(layout::REGISTRY),
                    "is missing",
                    "restore it, or run `mailbag init` to create one that contains only the human",
                )
            })?;
        Registry::parse(&bytes).map_err(|problem| self.unreadable(layout::REGISTRY, *problem))
    }

    /// The current settings. Without the file, the defaults.
    pub fn settings(&self) -> Result<Settings> {
        match self.dir.stat(layout::SETTINGS)? {
            Some(_) => self.once_saved(layout::SETTINGS, || self.read_settings()),
            None => Ok(Settings::default()),
        }
    }

    fn read_settings(&self) -> Result<Settings> {
        let bytes = self
            .dir
            .read(layout::SETTINGS, limits::REGISTRY_BYTES)?
            .unwrap_or_default();
        let mut settings = Settings::parse(&String::from_utf8_lossy(&bytes))
            .map_err(|problem| self.unreadable(layout::SETTINGS, *problem))?;
        self.withhold(&mut settings);
        Ok(settings)
    }

    /// Reads a file that people edit. A shell's `>`, Python's `open` and many editors empty a file before they write it, so
    /// a file that is invalid is read again while its last change is less than [`limits::BEING_SAVED`] old.
    pub(crate) fn once_saved<T>(&self, name: &str, read: impl Fn() -> Result<T>) -> Result<T> {
        for _ in 0..limits::READS_OF_SAVED {
            let result = read();
            let changed = self.dir.stat(name)?.map(|file| file.changed_at());
            let may_be_unfinished =
                changed.is_some_and(|at| at.is_within(limits::BEING_SAVED, Stamp::now()));
            if result.is_ok() || !may_be_unfinished {
                return result;
            }
            std::thread::sleep(limits::BEING_SAVED / limits::READS_OF_SAVED);
        }
        read()
    }

    fn unreadable(&self, name: &str, problem: Problem) -> Error {
        let line = problem.place.strip_prefix("line ");
        let line = line.and_then(|line| line.split(' ').next()?.parse().ok());
        Error::State {
            path: self.dir.at(name),
            line,
            what: match line {
                // The line is named before the sentence.
                Some(_) => problem.at("").to_string(),
                None => problem.to_string(),
            },
            fix: "correct the file; nothing was changed".into(),
        }
    }
}

/// The environment variables that name the room, the first one before the other.
pub const ROOM_VARIABLES: [&str; 2] = ["MAILBAG_ROOM", "MAOS_MESSAGE_DIR"];

/// The room that the environment names.
pub fn named_by_environment() -> Option<PathBuf> {
    let named = ROOM_VARIABLES
        .iter()
        .filter_map(std::env::var_os)
        .find(|room| !room.is_empty());
    named.map(PathBuf::from)
}

/// Fails for a path with a `~` or a variable that no shell has expanded, unless it exists.
pub fn check_expanded(path: &Path) -> Result<()> {
    let text = path.to_string_lossy();
    let is_variable = |rest: &str| rest.starts_with(|c: char| c == '{' || c.is_ascii_alphabetic());
    let has_variable = text.split('$').skip(1).any(is_variable);
    if !(text.starts_with('~') || has_variable) || path.is_there() {
        return Ok(());
    }
    Err(Error::usage(
        format!(
            "{} has a ~ or a variable that no shell expanded",
            quoted(&text)
        ),
        "write the full path, or leave ~ and $ outside of quotes and after a space",
    ))
}

/// Finds the room: the requested path, otherwise `.mailbag` in this directory or the nearest parent directory. In a
/// linked git worktree the main worktree's room takes precedence, so that sessions in several worktrees share one room. A
/// nearer `.mailbag` without a room in it is an error. Otherwise mail would go to another room.
pub fn find(asked: Option<&Path>, from: &Path) -> Result<PathBuf> {
    if let Some(path) = asked {
        check_expanded(path)?;
        return Ok(path.to_path_buf());
    }
    let nearest = places(from).find(|place| place.is_named());
    let damage = match nearest {
        Some(room) if is_room(&room) => return check_not_a_link(room),
        Some(place) => format!(
            ", and {} is not a room, because it has no directory {}",
            place.display(),
            layout::SPOOL
        ),
        None => String::new(),
    };
    Err(Error::not_found(
        format!(
            "no room found in {} or in its parent directories{damage}",
            from.display()
        ),
        "create one with `mailbag init`, or select one with --room DIR or MAILBAG_ROOM",
    ))
}

/// Makes a process of root run as the owner of its room. Without a room, the owner of the nearest directory above a new one
/// counts. The commands that it starts also run as this user. If the process may not do that, the room is rejected later.
pub fn take_owner(asked: Option<&Path>, from: &Path) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let found = find(asked, from).map(|found| layout::below(from, found.as_os_str()));
    let place = found.unwrap_or_else(|_| default_place(from));
    match place.ancestors().find_map(|above| owner_of(above).ok()) {
        Some((uid, gid)) if uid != 0 => machine::run_as(uid, gid),
        _ => Ok(()),
    }
}

/// Where a room can be, the first one before the others.
fn places(from: &Path) -> impl Iterator<Item = PathBuf> + use<'_> {
    let directories = from
        .ancestors()
        .flat_map(|directory| [main_worktree(directory), Some(directory.to_path_buf())]);
    directories.flatten().map(|directory| below(&directory))
}

/// Fails for a room that is found by a symbolic link, and not named by the person. A repository can bring such a link, which leads to another room.
pub fn check_not_a_link(room: PathBuf) -> Result<PathBuf> {
    if !is_link(&room) {
        return Ok(room);
    }
    let real = room.real_path().unwrap_or_else(|_| room.clone());
    Err(Error::untrusted(
        format!(
            "{} is a symbolic link to {}, and is not followed",
            room.display(),
            real.display()
        ),
        format!(
            "if you trust this link, select the room with --room {0} or MAILBAG_ROOM={0}",
            real.display()
        ),
    ))
}

/// Returns true if this directory is a room. A room that this user may not enter also counts; otherwise it would be
/// reported as missing.
pub fn is_room(path: &Path) -> bool {
    match Dir::open(path).and_then(|dir| has_room(&dir)) {
        Ok(has_room) => has_room,
        Err(e) => e.errno() == Some(libc::EACCES),
    }
}

/// Returns true if a directory contains the parts of a room. If `spool/` was removed, it is restored from the log.
fn has_room(dir: &Dir) -> Result<bool> {
    let is_directory = |spool: Meta| spool.is_directory();
    if dir.stat(layout::SPOOL)?.is_some_and(is_directory) {
        return Ok(true);
    }
    Ok(dir.stat(layout::REGISTRY)?.is_some() && has_log(dir)?)
}

/// Returns true if a directory contains a segment of a log.
pub(super) fn has_log(room: &Dir) -> Result<bool> {
    let Some(log) = room.sub_if_exists(layout::LOG)? else {
        return Ok(false);
    };
    let names = log.names()?;
    Ok(names
        .iter()
        .any(|name| layout::segment_number(name).is_some()))
}

/// Fails if a room cannot be at this path: records and reports contain it as text.
pub fn check_path(path: &Path) -> Result<()> {
    let whole = std::path::absolute(path).doing("find", path)?;
    consent::path_text(&whole).map(drop)
}

fn is_link(path: &Path) -> bool {
    let at = path.parent().zip(path.file_name());
    let meta = at.and_then(|(above, name)| Dir::open(above).ok()?.stat(name).ok()?);
    meta.is_some_and(|meta| meta.kind == FileType::Symlink)
}

/// The path of a directory's room.
pub fn below(directory: &Path) -> PathBuf {
    directory.join(layout::ROOM)
}

/// The default path of a new room: the current directory, or in a linked git worktree the main worktree.
pub fn default_place(from: &Path) -> PathBuf {
    from.ancestors()
        .find_map(main_worktree)
        .unwrap_or_else(|| from.to_path_buf())
        .join(layout::ROOM)
}

/// The content of a file. `None` if it is invalid, or if this user may not read it.
fn unless_failing<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(content) => Ok(Some(content)),
        Err(e) if e.errno().is_none_or(|errno| errno == libc::EACCES) => {
            tracing::debug!("{e}");
            Ok(None)
        }
        Err(e) => Err(e),
    }
}
