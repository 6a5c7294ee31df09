//! A world with a running router: drop files, wait for mail, read the router's log.
//!
//! The tests use plain files and the real program. They do not sleep: a test waits for a condition,
//! and after [`PATIENCE`] fails with the router's log.

use super::world::{Router, World, skip};
use crate::files;
use crate::world::{Words, lossy};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time limit for every wait, even on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(4);

/// A world, and perhaps its router.
pub(crate) struct Town {
    // Dropped before the directory: a running router would make removed files again.
    router: Option<Router>,
    world: World,
}

impl Deref for Town {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Town {
    /// A room of these agents; the router does not run yet.
    pub(crate) fn of(agents: &(impl Words + ?Sized)) -> Town {
        Town::with(
            &agents
                .words()
                .iter()
                .map(|id| json!({"id": id}))
                .collect::<Vec<_>>(),
        )
    }

    /// A room with the agents alice and bob.
    pub(crate) fn alice_and_bob() -> Town {
        Town::of("alice bob")
    }

    /// A room with agents, each with its entry of the registry.
    pub(crate) fn with(agents: &[Value]) -> Town {
        Town::on(World::empty(), agents)
    }

    /// The same in a world of one's own, which has no room yet.
    pub(crate) fn on(world: World, agents: &[Value]) -> Town {
        world.ok("init");
        let town = Town {
            world,
            router: None,
        };
        town.register(agents);
        for agent in agents.iter().filter_map(|agent| agent["id"].as_str()) {
            files::make_dir(town.room(&format!("outbox/{agent}")));
            files::make_dir(town.room(&format!("inbox/{agent}")));
        }
        town
    }

    /// With this as `settings.toml`.
    pub(crate) fn settings(self, text: &str) -> Town {
        self.write("settings.toml", text);
        self
    }

    /// In a mode that syncs nothing, and without budgets, for tests that are about many files.
    pub(crate) fn quick(self) -> Town {
        self.settings("budget.messages = 0\nbudget.copies = 0\n")
    }

    /// Writes the registry as a careful editor does.
    pub(crate) fn register(&self, agents: &[Value]) {
        self.place(
            "registry.json",
            json!({"agents": agents}).to_string().as_bytes(),
        );
    }

    /// Starts the router, and returns once it watches.
    pub(crate) fn run(mut self) -> Town {
        self.start(&[]);
        self
    }

    /// Starts the router with these arguments.
    pub(crate) fn start(&mut self, arguments: &[&str]) {
        self.router = Some(self.world.router(arguments));
    }

    /// Starts the router by a command of one's own.
    pub(crate) fn start_by(&mut self, command: Command) {
        self.router = Some(self.world.router_by(command));
    }

    /// The router that was started.
    pub(crate) fn router(&self) -> &Router {
        self.router.as_ref().expect("the router was started")
    }

    /// The router's log since its start.
    pub(crate) fn words(&self) -> String {
        self.router.as_ref().map(Router::log).unwrap_or_default()
    }

    /// Ends the router as a service manager does, and checks that it ended well.
    pub(crate) fn stop(&mut self) {
        let router = self.router.take().expect("the router was started");
        let words = self.words();
        assert_eq!(router.end(), 0, "{words}");
    }

    /// Waits until the router has ended by itself, and returns its status and its log.
    pub(crate) fn ended(&mut self) -> (i32, String) {
        let mut router = self.router.take().expect("the router was started");
        (router.ended(), router.log())
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn wait(&self, what: &str, is_so: impl FnMut() -> bool) {
        if !so_within(PATIENCE, is_so) {
            let waiting = fs::read_to_string(self.room("spool/waiting.json")).unwrap_or_default();
            panic!(
                "never came: {what}\nthe router says:\n{}\nwaiting: {waiting}",
                self.words()
            );
        }
    }

    /// Waits until an inbox has this much mail, and returns it.
    #[track_caller]
    pub(crate) fn wait_for_mail(&self, agent: &str, count: usize) -> Vec<Value> {
        self.wait(&format!("{count} messages for {agent}"), || {
            self.count(agent) >= count
        });
        let mail = self.inbox(agent);
        assert_eq!(mail.len(), count, "{agent} has {mail:#?}");
        mail
    }

    /// Waits until an inbox has exactly these bodies, in any order.
    #[track_caller]
    pub(crate) fn wait_for_bodies(&self, agent: &str, wanted: &[&str]) {
        self.wait_for_mail(agent, wanted.len());
        let (mut bodies, mut wanted) = (self.bodies(agent), wanted.to_vec());
        bodies.sort();
        wanted.sort_unstable();
        assert_eq!(bodies, wanted);
    }

    /// The number of messages in an inbox.
    pub(crate) fn count(&self, agent: &str) -> usize {
        self.names(&format!("inbox/{agent}")).len()
    }

    /// The `.error.json` of every rejected file of an agent.
    pub(crate) fn refusals(&self, agent: &str) -> Vec<Value> {
        let directory = format!("rejected/{agent}");
        let explained = self
            .names(&directory)
            .into_iter()
            .filter(|name| name.ends_with(".error.json"));
        explained
            .map(|name| self.read(&format!("{directory}/{name}")))
            .collect()
    }

    /// Waits for this many rejected files of an agent, and returns the codes in order.
    #[track_caller]
    pub(crate) fn wait_for_refusals(&self, agent: &str, count: usize) -> Vec<String> {
        self.wait(&format!("{count} refusals for {agent}"), || {
            self.refusals(agent).len() >= count
        });
        let mut refusals = self.refusals(agent);
        assert_eq!(refusals.len(), count, "{refusals:#?}");
        refusals.sort_by_key(|refusal| refusal["seq"].as_u64());
        refusals
            .iter()
            .map(|refusal| refusal["code"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The output of `mailbag status --json`.
    pub(crate) fn status(&self) -> Value {
        // Its exit status is not 0 if the room has a problem.
        let ran = self.world.run("status --json");
        serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("no JSON: {e}: {ran:#?}"))
    }

    /// Waits until `status` shows this reason, for a pending item or for the room.
    #[track_caller]
    pub(crate) fn wait_for_reason(&self, reason: &str) {
        self.wait(&format!("status says {reason:?}"), || {
            let status = self.status();
            [&status["blocked"], &status["problems"]]
                .iter()
                .any(|part| part.to_string().contains(reason))
        });
    }

    /// Waits until no item is pending.
    #[track_caller]
    pub(crate) fn wait_until_nothing_waits(&self) {
        self.wait("nothing waits", || self.status()["blocked"] == json!([]));
    }

    /// Shows that the router still works: a good message sent now arrives. It is taken out again.
    #[track_caller]
    pub(crate) fn is_alive(&self, from: &str, to: &str) {
        let token = uuid::Uuid::now_v7().to_string();
        self.mail(
            from,
            &format!("{token}.json"),
            json!({"to": to, "body": token}),
        );
        let inbox = format!("inbox/{to}");
        let find = || {
            self.names(&inbox)
                .into_iter()
                .find(|name| self.read(&format!("{inbox}/{name}"))["body"] == *token)
        };
        self.wait("a good message after the others", || find().is_some());
        files::remove_file(self.room(&inbox).join(find().expect("it came")));
    }

    /// Returns true if the long tests must run in full size.
    pub(crate) fn full_size() -> bool {
        std::env::var("MAILBAG_SWEEP").is_ok_and(|size| size == "full")
    }
}

/// Returns true if the condition becomes true within this time.
pub(crate) fn so_within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + time;
    while !is_so() {
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(GLANCE);
    }
    true
}

/// The names in a directory in lossy UTF-8, sorted; empty without the directory.
pub(crate) fn listing(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| lossy(entry.file_name().as_bytes()))
        .collect();
    names.sort();
    names
}

/// Do the tests run as root? Otherwise the named test is skipped.
#[track_caller]
pub(crate) fn is_root(test: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip(format_args!("{test}: needs root"));
    }
    root
}

/// Runs a program of the system; it has to succeed.
#[track_caller]
pub(crate) fn tool<'a>(program: &str, arguments: impl IntoIterator<Item = &'a OsStr>) {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    assert!(
        output.status.success(),
        "{program}: {}",
        lossy(&output.stderr)
    );
}

/// Gives a command the variables of another one.
pub(crate) fn copy_environment(from: &Command, to: &mut Command) {
    for (name, value) in from.get_envs() {
        match value {
            Some(value) => to.env(name, value),
            None => to.env_remove(name),
        };
    }
}

/// Copies a program with another process. This process would hold the copy open for writing while
/// another test forks, and the kernel cannot start a program that is open for writing.
pub(crate) fn copy_program(from: impl AsRef<OsStr>, to: &Path) {
    tool("cp", [from.as_ref(), to.as_os_str()]);
}

/// Lets two files or directories change places, in one step.
pub(crate) fn exchange(one: &Path, other: &Path) {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
        .expect("both are there, on one file system");
}

/// A Python program that runs beside the test. Without Python it is `None`, and the test is
/// skipped.
pub(crate) fn python(script: &str, arguments: &[&Path]) -> Option<Child> {
    let mut command = Command::new("python3");
    command
        .arg("-c")
        .arg(script)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command
        .spawn()
        .map_err(|e| skip(format_args!("python3 does not start: {e}")))
        .ok()
}
