//! The rules of this code as tests: imports between folders, file calls, output, paths, and the
//! length of files and functions.
//!
//! Some rules have a list of exceptions with reasons. An unused exception also fails, so that the
//! lists stay correct.

use crate::files;
use std::fs;
use std::path::{Path, PathBuf};

mod features;
mod floors;
mod prose;
mod shapes;

const FILE_LINES: usize = 680;
const FUNCTION_LINES: usize = 120;

/// A part of a line, the reason why it is allowed, and the files that have it.
type TidyException = (&'static str, &'static str, &'static [&'static str]);

/// Uses of file calls outside `disk/real.rs`.
const FILES: &[TidyException] = &[
    (
        "use std::fs::File;",
        "a pipe to another process",
        &[
            "src/link/connect.rs",
            "src/link/frames.rs",
            "src/link/mirror.rs",
            "src/link/serve.rs",
            "src/link/ssh.rs",
        ],
    ),
    (
        "use std::fs::File;",
        "a pipe to a thread",
        &["src/link/nats/mod.rs"],
    ),
    (
        "use std::fs::File;",
        "stands for a pipe",
        &["src/link/without_nats.rs"],
    ),
    (
        "use std::fs::File;",
        "the terminal",
        &["src/disk/terminal.rs"],
    ),
    (
        "rustix::fs::m",
        "the parts of a device's number",
        &["src/disk/machine.rs"],
    ),
];

/// Other calls of the system outside `disk/`.
const CALLS: &[TidyException] = &[
    (
        "use rustix::event",
        "waits for another process",
        &["src/link/frames.rs", "src/link/mirror.rs"],
    ),
    (
        "rustix::io::Errno::INTR",
        "waits for another process",
        &["src/link/frames.rs", "src/link/mirror.rs"],
    ),
    (
        "rustix::io::",
        "hands on what another program wrote, unbuffered",
        &["src/cli/show/output.rs"],
    ),
    (
        "rustix::process::",
        "signals a process and waits for it",
        &["src/clients/exec/run.rs"],
    ),
    (
        "rustix::io::Errno::INTR",
        "waits for a process, not for a file",
        &["src/clients/exec/run.rs"],
    ),
    (
        "rustix::event",
        "asks whether a pipe still has a reader",
        &["src/cli/show/output.rs"],
    ),
];

/// Joins of paths outside `disk/layout/mod.rs` and `disk/`.
const JOINS: &[TidyException] = &[
    (
        "self.root.join(place.below())",
        "the watcher wants whole paths",
        &["src/router/watcher/events.rs"],
    ),
    (
        "directory.join(layout::ROOM)",
        "discovery looks for a room",
        &["src/room/open.rs"],
    ),
    (
        ".join(layout::ROOM)",
        "where a new room goes",
        &["src/room/open.rs"],
    ),
    (
        "dir.join(name)",
        "only shown: the file of a failed operation",
        &["src/base/error.rs"],
    ),
    (
        "directory.join(",
        "only shown: where lines are kept",
        &["src/features/channels/foreign.rs"],
    ),
    (
        "layout::rejected(agent).join(layout::retired(",
        "only shown: where a refused file is kept",
        &["src/router/steps/stage.rs"],
    ),
    (
        "room.dir.path().join(&settings.context)",
        "the context may be outside the room",
        &["src/commands/files.rs"],
    ),
    (
        "layout::outbox(\"planner\").join(",
        "does what an agent without the program does",
        &["src/cli/verbs/demo.rs"],
    ),
    (
        "directory.join(name)",
        "only shown: the file of a message",
        &["src/query/inbox/mod.rs"],
    ),
    (
        "from.join(path)",
        "where a new room goes",
        &["src/commands/init.rs"],
    ),
    (
        "from.join(address)",
        "the other room, as a person names it",
        &["src/commands/link/mod.rs"],
    ),
    (
        "from.join(file)",
        "a file outside any room, as a person names it",
        &["src/commands/link/mod.rs"],
    ),
    (
        "from.join(asked)",
        "the room that a person names",
        &["src/commands/trust.rs"],
    ),
    (
        "directory.join(name)",
        "only shown, and read below the room: a refused file",
        &["src/query/rejected.rs"],
    ),
    (
        "layout::outbox(&sender).join(&name)",
        "only shown: where the file was put",
        &["src/commands/rejected.rs"],
    ),
    (
        "sent.join(name)",
        "only shown: where the original is kept",
        &["src/query/trace/mod.rs"],
    ),
    (
        "Path::new(layout::STAGE).join(",
        "looks whether a copy still waits",
        &["src/query/status/mod.rs"],
    ),
];

/// A source file: its path, and its lines without comments and without its unit tests, each with its number.
struct Source {
    path: String,
    text: String,
    code: Vec<(usize, String)>,
}

impl Source {
    fn read(path: &Path) -> Source {
        let text = files::read_text(path);
        let mut code = Vec::new();
        let is_test = path.ends_with("tests.rs");
        for (n, line) in text.lines().enumerate() {
            if is_test || line.starts_with("mod tests {") {
                break;
            }
            if !line.trim_start().starts_with("//") {
                code.push((n + 1, line.to_owned()));
            }
        }
        Source {
            path: path.to_string_lossy().into_owned(),
            text,
            code,
        }
    }

    /// The code in one piece.
    fn text_of_code(&self) -> String {
        self.code
            .iter()
            .flat_map(|(_, line)| [line, "\n"])
            .collect()
    }
}

/// Methods of paths that ask the file system.
const QUESTIONS: [&str; 6] = [
    ".canonicalize()",
    ".exists()",
    ".is_dir()",
    ".is_file()",
    ".symlink_metadata()",
    ".read_link()",
];

#[test]
fn only_one_file_makes_file_calls() {
    let is_call = |line: &str| {
        // A type is not a call.
        if line == "use rustix::fs::FileType;" || line.contains("rustix::fs::FileType::") {
            return false;
        }
        line.contains("rustix::fs::")
            || line.contains("std::fs")
            || line.contains("std::os::unix::fs::")
            || line.contains("OpenOptions")
            || QUESTIONS.iter().any(|question| line.contains(question))
    };
    hold(
        "makes file calls",
        |source| source.path != "src/disk/real.rs",
        is_call,
        FILES,
    );
}

#[test]
fn only_disk_makes_other_calls_of_the_system() {
    let is_call = |line: &str| {
        let is_type = line == "use rustix::fs::FileType;";
        !is_type && line.contains("rustix::") && !line.contains("rustix::process::geteuid")
    };
    hold(
        "makes calls of the system",
        |source| !source.path.starts_with("src/disk/"),
        is_call,
        CALLS,
    );
}

#[test]
fn only_layout_joins_paths() {
    hold(
        "joins paths",
        |source| {
            // A feature names its own files.
            let is_of_feature =
                source.path.starts_with("src/features/") && source.path.ends_with("/paths.rs");
            !source.path.starts_with("src/disk/") && !is_of_feature
        },
        joins_a_path,
        JOINS,
    );
}

#[test]
fn only_the_printer_prints() {
    let prints = ["println!", "print!", "dbg!", "io::stdout", "io::stderr"];
    let printer = ["show/output.rs", "show/progress.rs"];
    let printer = printer.map(|name| format!("src/cli/{name}"));
    let allowed = [
        // The router's own log goes there, by tracing.
        ("src/cli/verbs/run.rs", "std::io::stderr"),
        // It speaks with another carrier there.
        ("src/link/serve.rs", "std::io::stdout"),
    ];
    let wrong = find(
        |one| one.path != "src/main.rs" && !printer.contains(&one.path),
        |line| prints.iter().any(|print| line.contains(print)),
    );
    let wrong: Vec<_> = wrong
        .into_iter()
        .filter(|hit| !allowed.iter().any(|one| hit.fits(one)))
        .collect();
    assert!(
        wrong.is_empty(),
        "prints, which only {printer:?} may:\n{}",
        shown(&wrong)
    );
}

#[test]
fn only_notice_watches() {
    let wrong = find(
        |source| !source.path.starts_with("src/router/watcher/"),
        |line| words(line).any(|word| ["notify::", "inotify::"].contains(&word.as_str())),
    );
    assert!(wrong.is_empty(), "uses the watcher:\n{}", shown(&wrong));
}

#[test]
fn only_tests_use_unwrap() {
    let wrong = find(|_| true, |line| line.contains(".unwrap()"));
    assert!(
        wrong.is_empty(),
        "say what is wrong, or `expect` with the reason why it can't be:\n{}",
        shown(&wrong)
    );
}

#[test]
fn files_and_functions_are_short_and_say_what_they_are() {
    let mut wrong = Vec::new();
    for source in ["src", "tests", "benches", "fuzz/fuzz_targets"]
        .into_iter()
        .flat_map(sources)
    {
        let lines = source.text.lines().count();
        if lines > FILE_LINES {
            wrong.push(format!("{} has {lines} lines", source.path));
        }
        if !source.text.starts_with("//!") {
            wrong.push(format!(
                "{} doesn't begin with what it is for (//!)",
                source.path
            ));
        }
        for (name, at, lines) in functions(&source.text) {
            if lines > FUNCTION_LINES {
                wrong.push(format!("{}:{at}: {name} has {lines} lines", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_file_has_open_task_marks_or_names_a_registry() {
    // Put together here, so that this file doesn't name them itself.
    let words = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
    ];
    let hosts = [
        concat!("crates", ".io"),
        concat!("docs", ".rs"),
        concat!("pypi", ".org"),
        concat!("npmjs", "."),
    ];
    let mut wrong = Vec::new();
    for path in [
        "src",
        "tests",
        "benches",
        "docs",
        "schema",
        "packaging",
        "README.md",
        "Cargo.toml",
        ".ci",
        ".github",
    ]
    .into_iter()
    .flat_map(all)
    {
        let Ok(text) = fs::read_to_string(&path) else {
            continue;
        };
        for (n, line) in text.lines().enumerate() {
            if words
                .iter()
                .chain(&hosts)
                .any(|word| line.contains(word) && !line.contains("tests/docs.rs"))
            {
                wrong.push(format!("{}:{}: {}", path.display(), n + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tests_wait_for_something_rather_than_for_some_time() {
    let sleep = concat!("sle", "ep(");
    let wrong: Vec<String> = sources("tests")
        .iter()
        .filter(|source| {
            source.path != "tests/world.rs"
                && source.path != "tests/town.rs"
                && !source.path.starts_with("tests/world/")
        })
        .flat_map(|source| {
            source
                .text
                .lines()
                .enumerate()
                .map(|(n, line)| (source.path.clone(), n + 1, line.to_owned()))
        })
        // The sleep of a slow writer is part of its test, and so is the random moment of a kill.
        .filter(|(_, _, line)| line.contains(sleep) && !line.contains("time.sleep"))
        .filter(|(_, _, line)| !line.contains("sleep(moment)"))
        .map(|(path, n, line)| format!("{path}:{n}: {}", line.trim()))
        .collect();
    assert!(
        wrong.is_empty(),
        "the bounded wait of tests/world.rs does this:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn no_test_file_is_forgotten() {
    let main = files::read_text("tests/main.rs");
    let there = fs::read_dir("tests")
        .expect("tests")
        .flatten()
        .map(|entry| entry.path());
    let forgotten: Vec<PathBuf> = there
        .filter(|path| path.extension().is_some_and(|e| e == "rs") || path.join("mod.rs").exists())
        .filter(|path| path.file_stem().is_some_and(|stem| stem != "main"))
        .filter(|path| {
            let stem = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .unwrap_or_default();
            !main.contains(&format!("mod {stem};"))
        })
        .collect();
    assert!(
        forgotten.is_empty(),
        "not in tests/main.rs, so never run: {forgotten:?}"
    );
}

/// A line that a rule is about.
struct Hit {
    path: String,
    line: usize,
    text: String,
}

impl Hit {
    fn fits(&self, (path, text): &(&str, &str)) -> bool {
        self.path == *path && self.text.contains(text)
    }
}

fn hold(
    what: &str,
    of: impl Fn(&Source) -> bool,
    is_it: impl Fn(&str) -> bool,
    allowed: &[TidyException],
) {
    let hits = find(of, is_it);
    let allowed: Vec<(&str, &str)> = allowed
        .iter()
        .flat_map(|(text, _, paths)| paths.iter().map(|path| (*path, *text)))
        .collect();
    let stale: Vec<_> = allowed
        .iter()
        .filter(|one| !hits.iter().any(|hit| hit.fits(one)))
        .collect();
    assert!(
        stale.is_empty(),
        "exceptions that nothing uses any more: {stale:#?}"
    );
    let wrong: Vec<Hit> = hits
        .into_iter()
        .filter(|hit| !allowed.iter().any(|one| hit.fits(one)))
        .collect();
    assert!(wrong.is_empty(), "{what}:\n{}", shown(&wrong));
}

fn find(of: impl Fn(&Source) -> bool, is_it: impl Fn(&str) -> bool) -> Vec<Hit> {
    let mut hits = Vec::new();
    for source in sources("src").into_iter().filter(of) {
        let lines = source.code.iter().filter(|(_, line)| is_it(line));
        hits.extend(lines.map(|(n, text)| Hit {
            path: source.path.clone(),
            line: *n,
            text: text.trim().to_owned(),
        }));
    }
    hits
}

fn shown(hits: &[Hit]) -> String {
    hits.iter()
        .map(|hit| format!("{}:{}: {}\n", hit.path, hit.line, hit.text))
        .collect()
}

/// The words of a line, with the `::` behind a word as part of it.
fn words(line: &str) -> impl Iterator<Item = String> + '_ {
    line.split_inclusive("::").filter_map(|part| {
        let start = part
            .trim_end_matches("::")
            .rfind(|c: char| !c.is_alphanumeric() && c != '_')
            .map_or(0, |n| n + 1);
        part.get(start..).map(str::to_owned)
    })
}

/// A join with a literal separator joins texts; every other join counts as a path.
fn joins_a_path(line: &str) -> bool {
    line.match_indices(".join(").any(|(at, found)| {
        let with = &line[at + found.len()..];
        let Some(literal) = with
            .strip_prefix('"')
            .and_then(|rest| rest.split('"').next())
        else {
            return !with.is_empty() && !with.starts_with(')');
        };
        let separates = literal.contains(' ')
            || literal
                .replace("\\n", "")
                .chars()
                .all(|c| !c.is_alphanumeric() && c != '.');
        !separates && literal.len() > 1
    })
}

/// The name, first line and length of every function. rustfmt puts the last brace under the first word.
fn functions(text: &str) -> Vec<(String, usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut functions = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        let trimmed = line.trim_start();
        let Some(at) = trimmed
            .find("fn ")
            .filter(|at| is_function_head(&trimmed[..*at]))
        else {
            continue;
        };
        let indent = line.len() - trimmed.len();
        let end = format!("{}}}", " ".repeat(indent));
        let length = if trimmed.ends_with(['}', ';']) {
            1
        } else {
            let last = lines[n..].iter().position(|line| *line == end);
            last.map_or(1, |length| length + 1)
        };
        let name = trimmed[at + 3..]
            .split(['(', '<'])
            .next()
            .unwrap_or_default();
        functions.push((name.to_owned(), n + 1, length));
    }
    functions
}

fn is_function_head(before: &str) -> bool {
    before
        .split_whitespace()
        .all(|word| matches!(word, "const" | "async" | "unsafe") || word.starts_with("pub"))
}

fn sources(below: &str) -> Vec<Source> {
    all(below)
        .iter()
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(|path| Source::read(path))
        .collect()
}

/// Every file below a path, or the file itself.
fn all(below: &str) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(below)
        .sort_by_file_name()
        .into_iter()
        .flatten();
    files
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect()
}
