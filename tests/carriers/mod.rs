//! Carriers to other machines: two rooms with only a connection between them. In most tests of SSH
//! a script replaces the client, and runs the far end on this machine.

mod bringing;
mod commands;
mod consent;
mod copies;
mod hostile;
mod kills;
mod nats;
mod real;

use crate::files;
use crate::world::{KilledChild, Ran, World, wait};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Runs the far end here, unless `down` exists. `serving` names its process.
const STAND_IN: &str = r#"#!/bin/sh
here=$(dirname "$0")
if [ -e "$here/down" ]; then echo "ssh: connect to host po port 22: Connection refused" >&2; exit 255; fi
while [ "$1" != "--" ]; do shift; done
shift 2
echo $$ > "$here/serving"
exec sh -c "exec $*"
"#;

/// Two rooms: `fit` connects to `po`. The link of `po` has no carrier.
pub(super) struct Pair {
    pub(super) fit: World,
    pub(super) po: World,
    bin: tempfile::TempDir,
}

impl Pair {
    /// The person in `fit` has agreed to the link.
    pub(super) fn new() -> Pair {
        let pair = Pair::untrusted();
        pair.fit.ok("trust --yes");
        pair
    }

    pub(super) fn untrusted() -> Pair {
        let fit = World::new().agent("alice", "").agent("anna", "");
        let po = World::new().agent("sintra", "").agent("bob", "");
        let bin = tempfile::Builder::new()
            .prefix("mailbag-bin-")
            .tempdir()
            .expect("a directory");
        let pair = Pair { fit, po, bin };
        symlink(
            assert_cmd::cargo::cargo_bin!("mailbag"),
            pair.bin("mailbag"),
        )
        .expect("a link");
        pair.script("ssh", STAND_IN);
        pair.fit.write("settings.toml", pair.settings("fit", ""));
        pair.po.write(
            "settings.toml",
            "tag = \"po\"\n[links.fit]\ncarrier = \"none\"\n",
        );
        pair
    }

    /// The settings of the room that connects.
    pub(super) fn settings(&self, tag: &str, more: &str) -> String {
        let path = self.po.room("");
        let path = path.display().to_string();
        let address = format!("po.example:{}", path.trim_end_matches('/'));
        format!("tag = \"{tag}\"\n[links.po]\ncarrier = \"ssh\"\naddress = \"{address}\"\n{more}")
    }

    /// A program that is found before all others.
    pub(super) fn script(&self, name: &str, text: &str) {
        let path = self.bin(name);
        let _ = fs::remove_file(&path);
        files::write(&path, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its permissions");
    }

    pub(super) fn bin(&self, name: &str) -> PathBuf {
        self.bin.path().join(name)
    }

    /// The search path with the stand-in before all else.
    pub(super) fn path(&self) -> String {
        let others = std::env::var("PATH").unwrap_or_default();
        format!("{}:{others}", self.bin.path().display())
    }

    /// One exchange, started in `fit`.
    pub(super) fn once(&self) -> Ran {
        self.fit.run_with("link run --once", |command| {
            command.env("PATH", self.path());
        })
    }

    /// Starts the carriers of `fit`.
    pub(super) fn carriers(&self) -> Running {
        self.start(&["link", "run"])
    }

    pub(super) fn start(&self, args: &[&str]) -> Running {
        let mut command = self.fit.bare(args);
        command.env("PATH", self.path());
        Running::start(command, self.fit.path())
    }

    /// A file in the outbox of an agent, without a command.
    pub(super) fn drop_mail(from: &World, agent: &str, to: &str, body: &str) {
        let message = serde_json::json!({"to": to, "body": body});
        let name = format!("{}.json", uuid::Uuid::now_v7());
        let draft = from.mail(agent, &format!(".{name}"), &message);
        files::rename(&draft, draft.with_file_name(name));
    }
}

/// A running program and its output.
pub(super) struct Running {
    pub(super) child: KilledChild,
    log: PathBuf,
}

impl Running {
    fn start(mut command: Command, place: &Path) -> Running {
        let log = place.join(format!("carriers-{}.log", uuid::Uuid::now_v7()));
        let said = fs::File::create(&log).expect("a file");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said);
        Running {
            child: KilledChild(command.spawn().expect("it starts")),
            log,
        }
    }

    pub(super) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    #[track_caller]
    pub(super) fn says(&self, what: &str) {
        wait(&format!("it says {what:?}: {}", self.log()), || {
            self.log().contains(what)
        });
    }

    /// Asks it to end, and returns its status.
    pub(super) fn end(mut self) -> i32 {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
        let mut status = None;
        wait("it ends", || {
            status = self.child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        status.and_then(|status| status.code()).unwrap_or(-1)
    }
}
