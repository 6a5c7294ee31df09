//! A room in a temporary directory, its agents, and the real program.

use crate::files;
use crate::town::{copy_environment, tool};
pub(crate) use crate::words::Words;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::ffi::OsStr;
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A user without rights.
pub(crate) const NOBODY: u32 = 65534;

/// The time limit of a test, far longer than it needs.
const DEADLINE: Duration = Duration::from_secs(60);

/// A directory with a room in it, removed when dropped.
pub(crate) struct World {
    dir: tempfile::TempDir,
    /// The consent of the room's person, outside the room.
    trust: tempfile::TempDir,
}

/// Restores the default action of SIGINT and similar signals in started programs, even if the test
/// run ignores them, as under `nohup`. A signal that this process catches has its default action in
/// its child processes.
fn hear_signals() {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let signals = [SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2];
        let heard = mailbag::disk::machine::unignored_signals(&signals);
        for ignored in signals.iter().filter(|signal| !heard.contains(signal)) {
            let caught = std::sync::Arc::<std::sync::atomic::AtomicBool>::default();
            signal_hook::flag::register(*ignored, caught).expect("a signal that can be caught");
        }
    });
}

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) command: String,
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    /// A world without a room.
    pub(crate) fn empty() -> World {
        let directory = |prefix| {
            tempfile::Builder::new()
                .prefix(prefix)
                .tempdir()
                .expect("a temporary directory")
        };
        World {
            dir: directory("mailbag-test-"),
            trust: directory("mailbag-trust-"),
        }
    }

    /// A world with a room and only the human registered.
    pub(crate) fn new() -> World {
        let world = World::empty();
        world.ok(&["init"]);
        world
    }

    /// A world with these agents, without roles.
    pub(crate) fn with(agents: &(impl Words + ?Sized)) -> World {
        let world = World::new();
        let ids: Vec<String> = agents.words().into_iter().map(str::to_owned).collect();
        let fields = mailbag::commands::agent::AgentFields::default();
        let room = world.room_here();
        mailbag::commands::agent::add(&room, &ids, &fields).expect("new agents");
        world
    }

    /// A room with the agents alice and bob.
    pub(crate) fn alice_and_bob() -> World {
        World::with("alice bob")
    }

    /// Adds an agent with these options of `agent add`.
    pub(crate) fn agent(self, id: &str, fields: &(impl Words + ?Sized)) -> World {
        self.ok(&[vec!["agent", "add", id], fields.words()].concat());
        self
    }

    /// With this as `settings.toml`.
    pub(crate) fn settings(self, text: &str) -> World {
        self.write("settings.toml", text);
        self
    }

    /// The working directory of the program: the room's parent.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The file with the person's consent.
    pub(crate) fn trust(&self) -> &Path {
        self.trust.path()
    }

    /// The decision key of the person, in the home directory of the test.
    pub(crate) fn decision_key(&self) -> PathBuf {
        self.trust().join(".local/share/mailbag/decision.key")
    }

    /// A path below the room.
    pub(crate) fn room(&self, below: &str) -> PathBuf {
        self.path().join(".mailbag").join(below)
    }

    /// The program, not yet run: in the world's directory, with nothing of the tester's own environment.
    pub(crate) fn program(&self, args: &(impl Words + ?Sized)) -> assert_cmd::Command {
        assert_cmd::Command::from_std(self.bare(args))
    }

    /// Gives the room to another user if the tests run as root, because root may read every file.
    pub(crate) fn leave_root(&self) {
        if rustix::process::geteuid().is_root() {
            let nobody = format!("{NOBODY}:{NOBODY}");
            tool(
                "chown",
                [
                    "-R".as_ref(),
                    nobody.as_ref(),
                    self.path().as_os_str(),
                    self.trust().as_os_str(),
                ],
            );
        }
    }

    /// As [`World::bare`], as the owner of the room after [`World::leave_root`].
    pub(crate) fn by_owner(&self, args: &(impl Words + ?Sized)) -> Command {
        let mut command = self.bare(args);
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// As [`World::program`], to be given pipes and files.
    pub(crate) fn bare(&self, args: &(impl Words + ?Sized)) -> Command {
        hear_signals();
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("mailbag"));
        command.args(args.words()).current_dir(self.path());
        let foreign = |name: &str| {
            let ours = [
                "MAILBAG_", "MAOS_", "CLAUDE", "CODEX_", "GEMINI_", "QWEN_", "OPENCODE",
                "COPILOT_", "KIMI_",
            ]
            .iter()
            .any(|p| name.starts_with(p));
            ours && !name.starts_with("MAILBAG_TEST_")
        };
        for (name, _) in std::env::vars().filter(|(name, _)| foreign(name)) {
            command.env_remove(name);
        }
        command
            .env("NO_COLOR", "1")
            .env("MAILBAG_TRUST_DIR", self.trust())
            .env("MAILBAG_TEST_HOME", self.trust());
        command.env_remove("NOTIFY_SOCKET");
        command.env("XDG_STATE_HOME", self.trust());
        // The tester can be an agent, or have no terminal.
        command.env("MAILBAG_TEST_ANCESTRY", "person");
        // Whatever the tester's temporary directory is on.
        command.env("MAILBAG_TEST_KEEPS", "all");
        command
    }

    /// Runs the program with nothing on standard input.
    pub(crate) fn run(&self, args: &(impl Words + ?Sized)) -> Ran {
        self.pipe(args, "")
    }

    /// Runs the program with this on standard input.
    pub(crate) fn pipe(&self, args: &(impl Words + ?Sized), input: impl Into<Vec<u8>>) -> Ran {
        Ran::of(self.program(args).write_stdin(input).timeout(DEADLINE))
    }

    /// Runs the program with empty standard input, after this change of the command.
    pub(crate) fn run_with(
        &self,
        args: &(impl Words + ?Sized),
        with: impl FnOnce(&mut assert_cmd::Command),
    ) -> Ran {
        let mut command = self.program(args);
        with(&mut command);
        Ran::of(command.write_stdin("").timeout(DEADLINE))
    }

    /// Runs the program with empty standard input and this variable of the environment.
    pub(crate) fn run_env(
        &self,
        args: &(impl Words + ?Sized),
        name: &str,
        value: impl AsRef<OsStr>,
    ) -> Ran {
        self.run_with(args, |command| {
            command.env(name, value);
        })
    }

    /// Runs the program, which must succeed, and returns its output.
    #[track_caller]
    pub(crate) fn ok(&self, args: &(impl Words + ?Sized)) -> String {
        self.run(args).ok()
    }

    /// Routes the waiting mail in one pass.
    #[track_caller]
    pub(crate) fn pass(&self) -> String {
        self.ok(&["run", "--once"])
    }

    /// Checks the whole log.
    #[track_caller]
    pub(crate) fn verify(&self) -> String {
        self.ok(&["log", "verify"])
    }

    /// Runs the program with `--json`, which must succeed, and returns its output.
    #[track_caller]
    pub(crate) fn json(&self, args: &(impl Words + ?Sized)) -> Value {
        let mut args = args.words();
        args.push("--json");
        parse_json(self.ok(&args))
    }

    /// The list in the output of a command.
    #[track_caller]
    pub(crate) fn items(&self, args: &(impl Words + ?Sized)) -> Value {
        match self.json(args) {
            Value::Object(fields) => fields.into_values().next().expect("a list"),
            other => panic!("{:?} gave no object: {other}", args.words()),
        }
    }

    /// Runs the program, which must fail with this status, and returns its standard error.
    #[track_caller]
    pub(crate) fn fails(&self, code: i32, args: &(impl Words + ?Sized)) -> String {
        self.run(args).fails(code)
    }

    /// Runs the program at a terminal, where a person types this.
    pub(crate) fn at_terminal(&self, args: &(impl Words + ?Sized), typed: &str) -> Output {
        self.at_terminal_with(args, typed, |_| {})
    }

    /// Like [`World::at_terminal`], after this change of the command.
    pub(crate) fn at_terminal_with(
        &self,
        args: &(impl Words + ?Sized),
        typed: &str,
        with: impl FnOnce(&mut Command),
    ) -> Output {
        let mut bare = self.bare("");
        with(&mut bare);
        let quoted = args
            .words()
            .into_iter()
            .map(|word| format!("'{}'", word.replace('\'', "'\\''")));
        let line: Vec<String> = [bare.get_program().to_str().expect("plain").to_owned()]
            .into_iter()
            .chain(quoted)
            .collect();
        let mut terminal = Command::new("script");
        terminal
            .args(["-qec", &line.join(" "), "/dev/null"])
            .current_dir(self.path());
        copy_environment(&bare, &mut terminal);
        let mut command = assert_cmd::Command::from_std(terminal);
        command
            .write_stdin(typed)
            .timeout(DEADLINE)
            .output()
            .expect("script of util-linux")
    }

    /// Decides an open approval as a program does: with the digest of the text that it has read.
    pub(crate) fn decide(&self, agent: &str, approval: &str, option: &str, more: &[&str]) -> Ran {
        let digest = self.digest(agent, approval);
        self.run(
            &[
                &[
                    "decide", "--as", agent, approval, option, "--digest", &digest,
                ],
                more,
            ]
            .concat(),
        )
    }

    /// The digest of an approval in the agent's list; zeros if it is not there.
    pub(crate) fn digest(&self, agent: &str, approval: &str) -> String {
        self.run(&["run", "--once"]);
        let items = self.json(&["pending", "--as", agent])["items"].clone();
        let is_it = |item: &&Value| {
            let (seq, message) = (
                item["seq"].to_string(),
                item["message"].as_str().unwrap_or_default(),
            );
            approval.trim_start_matches('#') == seq
                || message == approval
                || message.ends_with(&format!("/{approval}"))
        };
        let digest = items
            .as_array()
            .into_iter()
            .flatten()
            .find(is_it)
            .and_then(|item| item["digest"].as_str());
        digest.map_or_else(|| "0".repeat(64), str::to_owned)
    }

    /// Sends a message and returns its id.
    #[track_caller]
    pub(crate) fn send(&self, from: &str, to: &str, body: &str) -> String {
        self.ok(&["send", "-q", to, body, "--as", from])
            .trim()
            .to_owned()
    }

    /// Writes a file below the room, its directories included.
    pub(crate) fn write(&self, below: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.room(below);
        std::fs::create_dir_all(path.parent().expect("a file is in a directory"))
            .expect("a directory");
        std::fs::write(&path, text).expect("a file");
        path
    }

    /// The text of a file below the room.
    #[track_caller]
    pub(crate) fn text(&self, below: &str) -> String {
        std::fs::read_to_string(self.room(below)).unwrap_or_else(|e| panic!("{below}: {e}"))
    }

    /// Drops a complete file into an outbox, as an agent without the program does.
    pub(crate) fn drop_file(&self, agent: &str, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        self.place(&format!("outbox/{agent}/{name}"), text)
    }

    /// Writes or replaces a file in the room in one step. A router that sees a file before it is complete takes it after
    /// later files.
    pub(crate) fn place(&self, below: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.room(below);
        std::fs::create_dir_all(path.parent().expect("a file is in a directory"))
            .expect("a directory");
        let beside = self.room(&format!(".{}", uuid::Uuid::now_v7()));
        files::write_closed(&beside, bytes);
        files::rename(beside, &path);
        path
    }

    /// Drops a message into an outbox.
    pub(crate) fn mail(&self, agent: &str, name: &str, message: impl ToString) -> PathBuf {
        self.drop_file(agent, name, message.to_string())
    }

    /// Drops a message into an outbox, and routes the waiting mail in one pass.
    #[track_caller]
    pub(crate) fn route(&self, agent: &str, name: &str, message: impl ToString) {
        self.mail(agent, name, message);
        self.pass();
    }

    /// The names of the message files in a directory of the room, sorted; empty without the
    /// directory.
    pub(crate) fn names(&self, below: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.room(below)) else {
            return Vec::new();
        };
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names
            .filter(|name| name.ends_with(".json") && !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }

    /// The messages in an inbox, oldest first, without asking the program.
    pub(crate) fn inbox(&self, agent: &str) -> Vec<Value> {
        let below = format!("inbox/{agent}");
        self.names(&below)
            .iter()
            .map(|name| self.read(&format!("{below}/{name}")))
            .collect()
    }

    /// Moves the oldest unread message of an agent into `taken/`, as one of several programs with one inbox does. Returns its name.
    pub(crate) fn take(&self, agent: &str) -> String {
        let name = self.names(&format!("inbox/{agent}")).remove(0);
        self.move_mail(agent, &name, "", "taken/");
        name
    }

    /// Moves a message of an agent between directories of its inbox.
    pub(crate) fn move_mail(&self, agent: &str, name: &str, from: &str, to: &str) {
        let inbox = self.room(&format!("inbox/{agent}"));
        files::make_dir(inbox.join(to));
        files::rename(inbox.join(from).join(name), inbox.join(to).join(name));
    }

    /// The bodies of the messages in an inbox, oldest first.
    pub(crate) fn bodies(&self, agent: &str) -> Vec<String> {
        self.inbox(agent)
            .iter()
            .map(|mail| mail["body"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// A JSON file below the room.
    pub(crate) fn read(&self, below: &str) -> Value {
        let bytes = std::fs::read(self.room(below)).unwrap_or_else(|e| panic!("{below}: {e}"));
        serde_json::from_slice(&bytes).unwrap_or_else(|e| panic!("{below}: {e}"))
    }

    /// Every file and directory of the world with its content, to see that nothing changed.
    pub(crate) fn everything(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let entries = walkdir::WalkDir::new(self.path())
            .sort_by_file_name()
            .into_iter()
            .flatten();
        entries
            .map(|entry| {
                (
                    entry.path().to_path_buf(),
                    std::fs::read(entry.path()).unwrap_or_default(),
                )
            })
            .collect()
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is_so: impl FnMut() -> bool) {
        wait(what, is_so);
    }

    /// Starts a router and waits until it watches.
    #[track_caller]
    pub(crate) fn router(&self, args: &(impl Words + ?Sized)) -> Router {
        self.router_by(self.bare(&[vec!["run"], args.words()].concat()))
    }

    /// Starts a router by a command of one's own and waits until it watches.
    #[track_caller]
    pub(crate) fn router_by(&self, mut command: Command) -> Router {
        let log = self
            .path()
            .join(format!("router-{}.log", uuid::Uuid::now_v7()));
        let stderr = std::fs::File::create(&log).expect("a file for the router's log");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr);
        let mut router = Router {
            child: KilledChild(command.spawn().expect("the program starts")),
            log,
        };
        wait("the router watches", || {
            if let Ok(Some(status)) = router.child.try_wait() {
                panic!("the router ended with {status}: {}", router.log());
            }
            router.log().contains("delivering in")
        });
        router
    }
}

impl Ran {
    /// Runs a command.
    pub(crate) fn of(command: &mut assert_cmd::Command) -> Ran {
        let output = command.output().expect("the program runs");
        Ran::new(command.get_args(), &output)
    }

    /// The result of a command with these arguments.
    pub(crate) fn new(args: impl std::fmt::Debug, output: &Output) -> Ran {
        Ran {
            command: format!("{args:?}"),
            code: output.status.code().unwrap_or(-1),
            out: lossy(&output.stdout),
            err: lossy(&output.stderr),
        }
    }

    /// The output of a run that succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, 0, "{} failed: {self:#?}", self.command);
        self.out
    }

    /// The complaint of a run that failed.
    #[track_caller]
    pub(crate) fn fails(self, code: i32) -> String {
        assert_eq!(self.code, code, "{}: {self:#?}", self.command);
        self.err
    }
}

/// A router that runs, killed when dropped.
pub(crate) struct Router {
    child: KilledChild,
    log: PathBuf,
}

impl Router {
    /// Its log so far.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the router can be signalled");
    }

    /// Asks it to end, and returns its exit status.
    #[track_caller]
    pub(crate) fn end(mut self) -> i32 {
        self.signal(rustix::process::Signal::TERM);
        self.ended()
    }

    /// Waits until it has ended, and returns its status.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> i32 {
        let mut status = None;
        wait("the router ends", || {
            status = self.child.try_wait().expect("the router can be waited for");
            status.is_some()
        });
        status.and_then(|status| status.code()).unwrap_or(-1)
    }
}

/// A process that is killed when its test ends.
#[derive(Debug)]
pub(crate) struct KilledChild(pub(crate) Child);

impl Deref for KilledChild {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for KilledChild {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for KilledChild {
    fn drop(&mut self) {
        let _ = self.kill();
        let _ = self.wait();
    }
}

/// The value of a JSON text.
#[track_caller]
pub(crate) fn parse_json(text: impl AsRef<[u8]>) -> Value {
    let text = text.as_ref();
    serde_json::from_slice(text).unwrap_or_else(|e| panic!("no JSON: {e}: {}", lossy(text)))
}

/// The field of a JSON value at a path of names and numbers, or null.
pub(crate) fn field<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    let pointer = format!("/{}", path.join("/"));
    value.pointer(&pointer).unwrap_or(&Value::Null)
}

/// A text in lossy UTF-8.
pub(crate) fn lossy(bytes: impl AsRef<[u8]>) -> String {
    String::from_utf8_lossy(bytes.as_ref()).into_owned()
}

/// The SHA-256 in hexadecimal digits.
pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

/// The permissions of a file.
pub(crate) fn mode(path: &Path) -> u32 {
    let meta = std::fs::metadata(path).expect("it is there");
    meta.permissions().mode() & 0o777
}

/// Reports that a test, or a part of one, cannot run on this machine. With `MAILBAG_TEST_ALL=1`, as in `.ci/run`, that
/// fails the test.
#[track_caller]
pub(crate) fn skip(reason: impl std::fmt::Display) {
    let all = std::env::var_os("MAILBAG_TEST_ALL").is_some_and(|value| value == "1");
    assert!(
        !all,
        "skipped, although MAILBAG_TEST_ALL=1 is set: {reason}"
    );
    println!("skipped: {reason}");
}

/// Looks again and again until something is so, or fails the test.
#[track_caller]
pub(crate) fn wait(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
