//! Browsers that have entered. They stay known when the page ends and starts again.
//!
//! Each browser keeps a secret for the origin of the page, which includes the port. The file has only digests of the
//! secrets, so it cannot be used to enter.

use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::hash::{hash, hex};
use crate::base::rfc3339;
use crate::disk::paths::PathQuestions;
use crate::disk::{UserDirectory, layout};
use crate::room::Room;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The time that a browser stays signed in.
const WEB_ENTERED: Duration = Duration::from_secs(30 * 24 * 3600);
/// The largest number of known browsers of a room. A further one takes the place of the oldest one.
const WEB_BROWSERS: usize = 64;
/// The largest file with the state of a page: [`WEB_BROWSERS`] entries of less than 256 bytes.
const WEB_STATE_BYTES: u64 = 64 << 10;

/// The browsers that have entered the page of one room.
pub(super) struct Browsers {
    directory: Option<PathBuf>,
    name: String,
    /// Browsers that could not be recorded. They are known until the page ends.
    unrecorded: Mutex<Vec<KnownBrowser>>,
}

/// The content of the file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct PageState {
    /// The port of the last page that chose its port.
    port: Option<u16>,
    browsers: Vec<KnownBrowser>,
}

/// A browser that has entered.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct KnownBrowser {
    /// The digest of its secret.
    sha256: String,
    /// When it entered, in microseconds since 1970.
    #[serde(with = "rfc3339")]
    since: i64,
}

impl KnownBrowser {
    fn is_valid(&self) -> bool {
        let age = Stamp::now().micros() - self.since;
        (0..=WEB_ENTERED.as_micros() as i64).contains(&age)
    }
}

impl Browsers {
    /// The browsers of this room's page, by the state of the current user.
    pub(super) fn of(room: &Room) -> Browsers {
        let place = room
            .dir
            .path()
            .real_path()
            .unwrap_or_else(|_| room.dir.path().to_path_buf());
        let digest = hex(&hash(place.as_os_str().as_encoded_bytes()));
        Browsers {
            directory: layout::state_directory(),
            name: layout::page_state(&digest),
            unrecorded: Mutex::default(),
        }
    }

    /// Adds a browser and returns its secret.
    pub(super) fn add(&self) -> String {
        let secret = secret();
        let browser = KnownBrowser {
            sha256: hex(&hash(&secret)),
            since: Stamp::now().micros(),
        };
        let recorded = self.change(|state| {
            state.browsers.retain(KnownBrowser::is_valid);
            let extra = (state.browsers.len() + 1).saturating_sub(WEB_BROWSERS);
            state.browsers.drain(..extra);
            state.browsers.push(browser.clone());
        });
        if let Err(e) = recorded {
            tracing::warn!("this browser must enter again after the page ends: {e}");
            self.unrecorded
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(browser);
        }
        secret
    }

    /// Returns true if a browser with this secret has entered.
    pub(super) fn has(&self, secret: &str) -> bool {
        let sha256 = hex(&hash(secret));
        let recorded = self
            .read()
            .inspect_err(|e| tracing::debug!("{e}"))
            .unwrap_or_default()
            .browsers;
        let unrecorded = self
            .unrecorded
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        recorded
            .iter()
            .chain(&*unrecorded)
            .any(|browser| browser.sha256 == sha256 && browser.is_valid())
    }

    /// The file with the browsers. Without it, each browser has to enter again.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let own = UserDirectory::open(self.place().ok()?).ok()??;
        Some(own.at(&self.name))
    }

    /// The port of the last page of this room that chose its port.
    pub(super) fn port(&self) -> Option<u16> {
        self.read().ok()?.port
    }

    /// Records the port, so that the next page of this room has the same origin.
    pub(super) fn set_port(&self, port: u16) {
        let _ = self
            .change(|state| state.port = Some(port))
            .inspect_err(|e| tracing::debug!("{e}"));
    }

    fn place(&self) -> Result<&PathBuf> {
        self.directory.as_ref().ok_or_else(|| {
            Error::usage(
                "no directory is known for the state of the page",
                "set HOME, or XDG_STATE_HOME to an absolute path",
            )
        })
    }

    fn read(&self) -> Result<PageState> {
        match UserDirectory::open(self.place()?)? {
            Some(own) => self.read_in(&own),
            None => Ok(PageState::default()),
        }
    }

    fn read_in(&self, own: &UserDirectory) -> Result<PageState> {
        let Some(bytes) = own.read(&self.name, WEB_STATE_BYTES)? else {
            return Ok(PageState::default());
        };
        serde_json::from_slice(&bytes).map_err(|e| {
            Error::state(
                own.at(&self.name),
                format!("cannot be read: {e}"),
                "remove it; browsers then have to enter again",
            )
        })
    }

    fn change(&self, edit: impl FnOnce(&mut PageState)) -> Result<()> {
        let own = UserDirectory::make(self.place()?)?;
        let _held = own.hold(layout::PAGE_LOCK)?;
        let mut state = self.read_in(&own)?;
        edit(&mut state);
        own.replace(
            &self.name,
            (serde_json::to_string_pretty(&state).expect("plain data") + "\n").as_bytes(),
        )
    }
}

/// A new secret: 244 random bits.
pub(super) fn secret() -> String {
    format!(
        "{}{}",
        uuid::Uuid::new_v4().simple(),
        uuid::Uuid::new_v4().simple()
    )
}
