//! The router of a room as a service of its user: installed, shown and removed only on request.

mod launchd;
mod manager;
mod systemd;

use crate::base::error::{Error, ErrorContext, Result};
use crate::base::hash::{hash, hex};
use crate::base::written_path::write_path;
use crate::disk::{UserFile, layout};
use crate::room::Room;
use crate::room::actor::require_person;
use manager::ServiceControl;
pub use manager::{ServiceManager, ServiceState};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// The largest file of a service.
const SERVICE_BYTES: u64 = 64 << 10;
/// The number of characters of a project's name in the name of its service.
const SERVICE_NAME: usize = 40;

/// The beginning of the first line of our files, before the digest of the other lines.
const MARK: &str = "mailbag service, digest ";

/// The service of a room.
#[derive(Debug)]
pub struct RouterService {
    manager: ServiceManager,
    /// Its name for the service manager.
    name: String,
    file: PathBuf,
    room: PathBuf,
}

/// A change of a service.
#[derive(Debug, Serialize)]
pub struct ServiceChange {
    /// `systemd` or `launchd`.
    pub manager: ServiceManager,
    /// The name of the service.
    pub service: String,
    /// Its file.
    #[serde(serialize_with = "write_path")]
    pub file: PathBuf,
    /// The room.
    #[serde(serialize_with = "write_path")]
    pub room: PathBuf,
    /// Whether anything was changed.
    pub changed: bool,
    /// The content of the file.
    pub content: Option<String>,
}

/// The status of a service.
#[derive(Debug, Serialize)]
pub struct ServiceStatus {
    /// `systemd` or `launchd`.
    pub manager: ServiceManager,
    /// The name of the service.
    pub service: String,
    /// Its file.
    #[serde(serialize_with = "write_path")]
    pub file: PathBuf,
    /// The room.
    #[serde(serialize_with = "write_path")]
    pub room: PathBuf,
    /// Whether the file exists.
    pub installed: bool,
    /// Whether `mailbag service install` would write the same file now.
    pub current: bool,
    /// The state. `None` without a service manager.
    pub running: Option<ServiceState>,
    /// Why the service manager says nothing.
    pub problem: Option<String>,
}

impl RouterService {
    /// The service of a room for this service manager.
    pub fn of(room: &Room, manager: ServiceManager) -> Result<RouterService> {
        let path = room.dir.path();
        let room = path.canonicalize().doing("find", path)?;
        let name = name(&room);
        let name = match manager {
            ServiceManager::Systemd => format!("{name}.service"),
            ServiceManager::Launchd => format!("io.{name}"),
        };
        let file = match manager {
            ServiceManager::Systemd => layout::systemd_unit(&name),
            ServiceManager::Launchd => layout::launch_agent(&name),
        };
        let file = file.ok_or_else(|| {
            Error::usage(
                "no directory for services was found",
                "set HOME to an absolute path",
            )
        })?;
        Ok(RouterService {
            manager,
            name,
            file,
            room,
        })
    }

    /// The content of its file.
    pub fn content(&self, directories: usize) -> Result<String> {
        let program = std::env::current_exe().doing("find", "this program")?;
        let [room, program] = [&self.room, &program].map(|path| plain(path));
        let wanted = ServiceDefinition {
            room: room?,
            program: program?,
            environment: environment(),
            name: &self.name,
            directories,
        };
        let text = match self.manager {
            ServiceManager::Systemd => systemd::unit(&wanted),
            ServiceManager::Launchd => launchd::plist(&wanted),
        };
        Ok(self.signed(&text))
    }

    /// The expected result of an installation. Changes nothing.
    pub fn plan(&self) -> Result<ServiceChange> {
        let content = self.content(self.missing_directories())?;
        let changed = self.read()?.bytes() != Some(content.as_bytes());
        Ok(self.changed(changed, Some(content)))
    }

    /// Writes the file, and starts the service now and with each session of its user. A second run completes a killed one.
    pub fn install(&self) -> Result<ServiceChange> {
        require_person("change services")?;
        let control = ServiceControl::of(self.manager, &self.name, &self.file)?;
        let file = self.read()?;
        let before = file.bytes().map(|bytes| self.own(bytes)).transpose()?;
        let content = self.content(before.unwrap_or_else(|| self.missing_directories()))?;
        let is_new = file.bytes() != Some(content.as_bytes());
        if is_new {
            file.check_writable()?;
            file.write(content.as_bytes())?;
        }
        let started = control.start(is_new)?;
        Ok(self.changed(is_new || started, Some(content)))
    }

    /// Ends the service and removes its file, and the directories that the installation made and that are empty.
    pub fn uninstall(&self) -> Result<ServiceChange> {
        require_person("change services")?;
        let file = self.read()?;
        let Some(bytes) = file.bytes() else {
            return Ok(self.changed(false, None));
        };
        let directories = self.own(bytes)?;
        let control = ServiceControl::of(self.manager, &self.name, &self.file)?;
        control.stop()?;
        file.remove()?;
        let mut left = directories;
        file.remove_empty_directories(|_| {
            let is_own = left > 0;
            left = left.saturating_sub(1);
            is_own
        })?;
        control.forget();
        Ok(self.changed(true, None))
    }

    /// Whether the service is installed, and what runs. Changes nothing.
    pub fn status(&self) -> Result<ServiceStatus> {
        let file = self.read()?;
        let content = match file.bytes().map(|bytes| self.own(bytes)) {
            Some(Ok(directories)) => Some(self.content(directories)?),
            _ => None,
        };
        let asked = ServiceControl::of(self.manager, &self.name, &self.file)
            .and_then(|control| control.show());
        let (running, problem) = match asked {
            Ok(running) => (Some(running), None),
            Err(e) => (None, Some(e.to_string())),
        };
        Ok(ServiceStatus {
            manager: self.manager,
            service: self.name.clone(),
            file: self.file.clone(),
            room: self.room.clone(),
            installed: file.bytes().is_some(),
            current: content.is_some() && file.bytes() == content.as_deref().map(str::as_bytes),
            running,
            problem,
        })
    }

    fn read(&self) -> Result<UserFile> {
        UserFile::read(&self.file, SERVICE_BYTES)
    }

    fn changed(&self, changed: bool, content: Option<String>) -> ServiceChange {
        ServiceChange {
            manager: self.manager,
            service: self.name.clone(),
            file: self.file.clone(),
            room: self.room.clone(),
            changed,
            content,
        }
    }

    /// The number of directories that the installation makes.
    fn missing_directories(&self) -> usize {
        self.file
            .ancestors()
            .skip(1)
            .take_while(|above| !above.exists())
            .count()
    }

    /// The text with a first line that identifies it as ours.
    fn signed(&self, text: &str) -> String {
        let mark = format!("{MARK}{}", hex(&hash(text.as_bytes())));
        match self.manager {
            ServiceManager::Systemd => format!("# {mark}\n{text}"),
            ServiceManager::Launchd => {
                format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?><!-- {mark} -->\n{text}")
            }
        }
    }

    /// The number of directories that the installation of this file made. Fails if the file was changed.
    fn own(&self, bytes: &[u8]) -> Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let (_, rest) = text.split_once('\n').unwrap_or_default();
        if *text != self.signed(rest) {
            return Err(Error::state(
                self.file.clone(),
                "was changed by hand or by another program",
                "move it away and run the command again; nothing was changed",
            ));
        }
        let made = rest.lines().find_map(|line| {
            line.split_once(DIRECTORIES)?
                .1
                .split(' ')
                .next()?
                .parse()
                .ok()
        });
        Ok(made.unwrap_or_default())
    }
}

/// The text before the number of directories in a file.
const DIRECTORIES: &str = "Directories made: ";

/// The content of a file.
struct ServiceDefinition<'a> {
    room: &'a str,
    program: &'a str,
    environment: Vec<(&'static str, String)>,
    name: &'a str,
    directories: usize,
}

/// A name for people, and unique for each path.
fn name(room: &Path) -> String {
    let digest = hex(&hash(room.as_os_str().as_encoded_bytes()));
    let project = if room.file_name().is_some_and(|name| name == layout::ROOM) {
        room.parent()
    } else {
        Some(room)
    };
    let project = project
        .and_then(Path::file_name)
        .unwrap_or_default()
        .to_string_lossy();
    let project: String = project
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '_' {
                c
            } else {
                '-'
            }
        })
        .take(SERVICE_NAME)
        .collect();
    format!("mailbag-{}-{}", project.trim_matches('-'), &digest[..8])
}

/// A path that the file of a service can contain.
fn plain(path: &Path) -> Result<&str> {
    let plain = path
        .to_str()
        .filter(|path| !path.chars().any(char::is_control) && !path.ends_with('\\'));
    plain.ok_or_else(|| {
        Error::usage(
            format!(
                "the file of a service cannot contain the path {}",
                path.display()
            ),
            "rename the directory",
        )
    })
}

/// The variables that the service needs from here: programs that wake agents are found on the PATH, and consent is recorded where
/// the others say.
fn environment() -> Vec<(&'static str, String)> {
    ["PATH", layout::TRUST_DIRECTORY, "XDG_DATA_HOME"]
        .into_iter()
        .filter_map(|name| Some((name, std::env::var(name).ok()?)))
        .filter(|(_, value)| !value.is_empty() && !value.chars().any(char::is_control))
        .collect()
}
