//! Calls of the service manager: `systemctl --user`, or `launchctl` on macOS.

use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorContext, Result};
use serde::Serialize;
use std::collections::HashMap;
use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// The advice for a user without a service manager.
const NO_MANAGER: &str = "in a container, run `mailbag run` as a process of the container; after `su`, log in with a session of its \
     own; elsewhere, `nohup mailbag run &` runs until the machine stops";

/// A service manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceManager {
    /// The systemd of the user, on Linux.
    Systemd,
    /// The launchd of the user, on macOS.
    Launchd,
}

impl ServiceManager {
    /// The service manager of this system.
    pub fn here() -> ServiceManager {
        if cfg!(target_os = "macos") {
            ServiceManager::Launchd
        } else {
            ServiceManager::Systemd
        }
    }
}

/// The state of a service, as the service manager reports it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct ServiceState {
    /// Whether it starts with each session of its user.
    pub enabled: bool,
    /// Its state, in the words of the service manager, such as `active` or `failed`.
    pub state: String,
    /// The time of the last change of the state.
    pub since: Option<String>,
    /// The process, while it runs.
    pub pid: Option<u32>,
    /// How often it was restarted after a failure.
    pub restarts: Option<u32>,
}

/// The service manager, for one service.
pub(super) struct ServiceControl<'a> {
    manager: ServiceManager,
    name: &'a str,
    file: &'a Path,
}

impl<'a> ServiceControl<'a> {
    /// Fails if no service manager of the user runs here.
    pub(super) fn of(
        manager: ServiceManager,
        name: &'a str,
        file: &'a Path,
    ) -> Result<ServiceControl<'a>> {
        let control = ServiceControl {
            manager,
            name,
            file,
        };
        if manager == ServiceManager::Systemd {
            let called = control.call(&["show", "--property=Version"]);
            called.map_err(|e| {
                let what = format!("no service manager of your user runs here: {}", what(e));
                Error::not_found(what, NO_MANAGER)
            })?;
        }
        Ok(control)
    }

    /// Starts the service now and with each session. `false` if it ran already.
    pub(super) fn start(&self, is_new: bool) -> Result<bool> {
        match self.manager {
            ServiceManager::Systemd => {
                if is_new {
                    self.call(&["daemon-reload"])?;
                }
                let before = self.show()?;
                if before.enabled && before.pid.is_some() && !is_new {
                    return Ok(false);
                }
                // An earlier failure must not prevent the start.
                let _ = self.call(&["reset-failed", self.name]);
                self.call(&["enable", self.name])?;
                self.call(&[if is_new { "restart" } else { "start" }, self.name])
                    .map(|_| true)
            }
            ServiceManager::Launchd => {
                if !is_new && self.show().is_ok_and(|running| running.pid.is_some()) {
                    return Ok(false);
                }
                let _ = self.call(&["bootout", &self.target()]);
                self.call(&["bootstrap", &domain(), &self.file.to_string_lossy()])
                    .map(|_| true)
            }
        }
    }

    /// Ends the service, and starts it no more.
    pub(super) fn stop(&self) -> Result<()> {
        match self.manager {
            ServiceManager::Systemd => self.call(&["disable", "--now", self.name]).map(drop),
            ServiceManager::Launchd if self.show().is_ok() => {
                self.call(&["bootout", &self.target()]).map(drop)
            }
            ServiceManager::Launchd => Ok(()),
        }
    }

    /// After its file is removed. A failure leaves nothing that runs.
    pub(super) fn forget(&self) {
        if self.manager == ServiceManager::Systemd {
            let _ = self.call(&["daemon-reload"]);
            let _ = self.call(&["reset-failed", self.name]);
        }
    }

    /// The state of the service.
    pub(super) fn show(&self) -> Result<ServiceState> {
        match self.manager {
            ServiceManager::Systemd => {
                let fields =
                    "--property=UnitFileState,ActiveState,StateChangeTimestamp,MainPID,NRestarts";
                self.call(&["show", "--timestamp=unix", fields, self.name])
                    .map(|text| shown(&text))
            }
            ServiceManager::Launchd => self
                .call(&["print", &self.target()])
                .map(|text| printed(&text)),
        }
    }

    fn target(&self) -> String {
        format!("{}/{}", domain(), self.name)
    }

    fn call(&self, words: &[&str]) -> Result<String> {
        let program = if self.manager == ServiceManager::Systemd {
            "systemctl"
        } else {
            "launchctl"
        };
        let mut command = Command::new(program);
        if self.manager == ServiceManager::Systemd {
            command.arg("--user");
        }
        let output = match command.args(words).stdin(Stdio::null()).output() {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let fix = "install it, or run `mailbag run` in another way";
                return Err(Error::not_found(
                    format!("there is no {program} on the PATH"),
                    fix,
                ));
            }
            output => output.doing("start", program)?,
        };
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let why = String::from_utf8_lossy(&output.stderr)
            .trim()
            .replace('\n', "; ");
        let what = format!("`{program} {}` failed: {why}", words.join(" "));
        Err(Error::busy(
            what,
            format!(
                "`journalctl --user -u {}` shows the output of the router",
                self.name
            ),
        ))
    }
}

// The advice of a failed call assumes that the service exists.
fn what(e: Error) -> String {
    match e {
        Error::Busy { what, .. } | Error::NotFound { what, .. } => what,
        e => e.to_string(),
    }
}

/// The domain of the user's services.
fn domain() -> String {
    format!("gui/{}", rustix::process::geteuid().as_raw())
}

/// Reads the output of `systemctl show`.
fn shown(text: &str) -> ServiceState {
    let fields: HashMap<&str, &str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let seconds = fields
        .get("StateChangeTimestamp")
        .and_then(|time| time.strip_prefix('@')?.parse::<i64>().ok());
    ServiceState {
        enabled: fields.get("UnitFileState") == Some(&"enabled"),
        state: fields
            .get("ActiveState")
            .copied()
            .unwrap_or("unknown")
            .to_owned(),
        since: seconds.map(|seconds| Stamp::from_micros(seconds * 1_000_000).to_string()),
        pid: fields
            .get("MainPID")
            .and_then(|pid| pid.parse().ok())
            .filter(|pid| *pid != 0),
        restarts: fields.get("NRestarts").and_then(|count| count.parse().ok()),
    }
}

/// Reads the output of `launchctl print`.
fn printed(text: &str) -> ServiceState {
    ServiceState {
        enabled: true,
        state: printed_field(text, "state").unwrap_or("unknown").to_owned(),
        since: None,
        pid: printed_field(text, "pid").and_then(|pid| pid.parse().ok()),
        restarts: None,
    }
}

fn printed_field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines()
        .find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(" = "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_service_managers_are_read() {
        let text = "MainPID=12\nNRestarts=1\nActiveState=active\nUnitFileState=enabled\nStateChangeTimestamp=@1767607200\n";
        let since = Some("2026-01-05T10:00:00.000000Z".to_owned());
        let (enabled, state) = (true, "active".to_owned());
        assert_eq!(
            shown(text),
            ServiceState {
                enabled,
                state,
                since,
                pid: Some(12),
                restarts: Some(1)
            }
        );
        assert_eq!(
            shown("MainPID=0\nActiveState=inactive\nStateChangeTimestamp=\n").pid,
            None
        );
        let running = printed("gui/501/io.mailbag-a = {\n\tstate = running\n\n\tpid = 77\n}\n");
        assert_eq!((running.state.as_str(), running.pid), ("running", Some(77)));
    }
}
