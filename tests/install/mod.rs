//! `mailbag install` and `uninstall` on a person's own settings: the added entries, unchanged other
//! settings, removal to the byte, and the test run of the hook.

mod allow;
mod approvals;
mod forms;
mod git;
mod merging;
mod kimi;
mod meanwhile;
mod packages;
mod plugin;
mod proving;
mod refusing;
mod sections;
mod standing;
mod theirs;
pub(crate) mod up;
pub(crate) mod up_all;
mod up_places;
mod user;

use crate::files;
use crate::world::{Ran, Words, World, parse_json};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A project with a room, and a user with a home, both empty of settings.
pub(crate) struct Desk {
    pub(crate) world: World,
    program: String,
}

/// A program called mailbag that answers as a hook does.
pub(crate) fn stand_in(directory: &Path) -> String {
    let said =
        r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"2 unread"}}"#;
    script(directory, &format!("cat > heard.json\necho '{said}'\n"))
}

fn script(directory: &Path, text: &str) -> String {
    let directory = directory.join("bin");
    files::make_dir(&directory);
    let path = directory.join("mailbag");
    // Another process writes it. This process would hold the file open for writing while another
    // test forks, and the kernel cannot start a program that is open for writing.
    let writes = ["-c", "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\""];
    let wrote = std::process::Command::new("sh")
        .args(writes)
        .arg(&path)
        .arg(format!("#!/bin/sh\n{text}"))
        .status();
    assert!(wrote.is_ok_and(|status| status.success()), "a script");
    path.to_str().expect("a plain path").to_owned()
}

/// Runs the program for a user with a home in the world.
pub(crate) fn run_at_home(world: &World, args: &(impl Words + ?Sized)) -> Ran {
    world.run_with(args, at_home(world))
}

fn at_home(world: &World) -> impl FnOnce(&mut assert_cmd::Command) {
    let home = world.path().join("home");
    files::make_dir(&home);
    move |command| {
        command.env("HOME", home);
        for other in [
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "GEMINI_CLI_HOME",
            "QWEN_HOME",
            "XDG_CONFIG_HOME",
            "COPILOT_HOME",
            "KIMI_CODE_HOME",
        ] {
            command.env_remove(other);
        }
    }
}

/// The backups of files that were changed. None of them is in the project.
pub(crate) fn backups(world: &World) -> Vec<PathBuf> {
    let is_backup = |path: &Path| path.to_string_lossy().ends_with(".before-mailbag");
    let of = |top: &Path| {
        let files = walkdir::WalkDir::new(top)
            .into_iter()
            .flatten()
            .map(walkdir::DirEntry::into_path);
        files.filter(|path| is_backup(path)).collect::<Vec<_>>()
    };
    assert_eq!(
        of(world.path()),
        Vec::<PathBuf>::new(),
        "a backup in the project"
    );
    of(world.trust())
}

impl Desk {
    fn new() -> Desk {
        let world = World::with("bob");
        let program = stand_in(world.path());
        files::make_dir(world.path().join("home"));
        Desk { world, program }
    }

    /// With this fixture as a client's settings.
    fn with(fixture: &str) -> Desk {
        let desk = Desk::new();
        desk.write(place(fixture), read_fixture(fixture));
        desk
    }

    fn path(&self, below: &str) -> PathBuf {
        self.world.path().join(below)
    }

    fn write(&self, below: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        files::make_dir(path.parent().expect("a directory"));
        files::write(&path, bytes);
        path
    }

    fn text(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap_or_else(|e| panic!("{below}: {e}"))
    }

    fn is_there(&self, below: &str) -> bool {
        self.path(below).symlink_metadata().is_ok()
    }

    fn run(&self, args: &(impl Words + ?Sized)) -> Ran {
        let own = ["--command", &self.program];
        let args = args.words();
        let command = if args[0] == "install" && !args.contains(&"--status") {
            &own[..]
        } else {
            &[]
        };
        run_at_home(&self.world, &[&args[..], command].concat())
    }

    #[track_caller]
    fn ok(&self, args: &(impl Words + ?Sized)) -> String {
        self.run(args).ok()
    }

    #[track_caller]
    fn json(&self, args: &(impl Words + ?Sized)) -> Value {
        parse_json(self.ok(&[args.words(), vec!["--json"]].concat()))
    }

    /// The status of a client in the project.
    #[track_caller]
    fn status(&self, client: &str) -> Value {
        self.json(&["install", client, "--status", "--project"])["clients"][0].clone()
    }

    #[track_caller]
    fn fails(&self, code: i32, args: &(impl Words + ?Sized)) -> String {
        self.run(args).fails(code)
    }

    /// The key that signs decisions of the person.
    fn key(&self) -> PathBuf {
        self.world.decision_key()
    }

    /// All files except the room's and the replacement's record.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut all = self.world.everything();
        let own =
            |path: &Path| path.ends_with("heard.json") || path.starts_with(self.path(".mailbag"));
        all.retain(|(path, _)| !own(path));
        all
    }
}

/// A hook's command: silent where the program is missing, and harmless where it fails and would block its user.
fn line(client: &str, program: &str, words: &str) -> String {
    let call = match client {
        "gemini" | "copilot" => format!("{program} {words} || exit 0"),
        _ => format!("exec {program} {words}"),
    };
    format!("command -v {program} >/dev/null 2>&1 || exit 0; {call}")
}

/// The client of a fixture.
fn client(fixture: &str) -> &str {
    fixture
        .rsplit('/')
        .next()
        .and_then(|name| name.split('-').next())
        .expect("a client")
}

/// Where a fixture's client looks for it.
fn place(fixture: &str) -> &'static str {
    match (client(fixture), fixture.ends_with(".toml")) {
        ("claude", _) => ".claude/settings.json",
        ("codex", false) => ".codex/hooks.json",
        ("codex", true) => ".codex/config.toml",
        ("qwen", _) => ".qwen/settings.json",
        ("copilot", _) => ".github/hooks/mailbag.json",
        _ => ".gemini/settings.json",
    }
}

fn read_fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/settings")
        .join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The fixtures in a directory of `fixtures/settings`.
fn fixtures(below: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures/settings")
        .join(below);
    let names = fs::read_dir(path)
        .expect("fixtures")
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| name.ends_with(".json") || name.ends_with(".toml"))
        .collect();
    names.sort();
    assert!(names.len() > 8, "{names:?}");
    names
        .into_iter()
        .map(|name| format!("{below}{name}"))
        .collect()
}

/// A settings file as its client reads it, without comments and a byte order mark.
fn meaning(text: &str) -> Value {
    let mut plain = String::new();
    let mut chars = text.trim_start_matches('\u{feff}').chars().peekable();
    let mut quoted = false;
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\\', Some(_)) if quoted => {
                plain.extend([Some(c), chars.next()].into_iter().flatten())
            }
            ('"', _) => {
                quoted = !quoted;
                plain.push(c);
            }
            ('/', Some('/')) if !quoted => while chars.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) if !quoted => {
                let mut last = ' ';
                while let Some(c) = chars.next().filter(|c| (last, *c) != ('*', '/')) {
                    last = c;
                }
            }
            _ => plain.push(c),
        }
    }
    if plain.trim().is_empty() {
        return serde_json::json!({});
    }
    serde_json::from_str(&plain).unwrap_or_else(|e| panic!("{e}:\n{text}"))
}

/// The commands of all hooks for an event.
fn commands(settings: &Value, event: &str) -> Vec<String> {
    let groups = settings["hooks"][event].as_array().into_iter().flatten();
    let hooks = groups.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
    hooks
        .filter_map(|hook| hook["command"].as_str())
        .map(str::to_owned)
        .collect()
}
