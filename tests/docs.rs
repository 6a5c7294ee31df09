//! The docs match the program: their examples are run, and their statements about the source are
//! compared with it.
//!
//! A block of ```` ```sh ```` is run, and the next ```` ```text ```` block must be its output,
//! including standard error. In this block, `…` matches any text in a line, and a line `…` matches
//! any number of lines.

use crate::world::{lossy, parse_json};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

mod recording;
mod tiers;
mod words;

#[test]
fn the_first_session_of_the_readme_runs_as_shown() {
    run_as_shown("README.md", &section(&read("README.md"), "A first session"));
}

#[test]
fn the_readme_names_every_command() {
    let table = section(&read("README.md"), "Which command do I need?");
    let command = mailbag::cli::command();
    let visible = command.get_subcommands().filter(|one| !one.is_hide_set());
    let missing: Vec<&str> = visible
        .map(clap::Command::get_name)
        .filter(|name| {
            !table.contains(&format!("`{name}`")) && !table.contains(&format!("`{name} "))
        })
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_project_of_the_readme_is_set_up_as_shown() {
    run_as_shown(
        "README.md",
        &section(&read("README.md"), "Set up a project"),
    );
}

#[test]
fn the_tutorial_runs_as_shown() {
    run_as_shown("docs/tutorial.md", &read("docs/tutorial.md"));
}

#[test]
fn the_page_for_agents_runs_as_shown() {
    run_as_shown("docs/agents.md", &read("docs/agents.md"));
}

#[test]
fn the_page_on_links_runs_as_shown() {
    run_as_shown("docs/links.md", &read("docs/links.md"));
}

#[test]
fn the_page_about_the_page_runs_as_shown() {
    run_as_shown("docs/web.md", &read("docs/web.md"));
}

#[test]
fn the_page_on_containers_runs_as_shown() {
    let made = Command::new("bwrap")
        .args([
            "--unshare-pid",
            "--unshare-net",
            "--ro-bind",
            "/",
            "/",
            "true",
        ])
        .output();
    if !made.is_ok_and(|made| made.status.success()) {
        return crate::world::skip("there is no bwrap, or it can make no namespaces");
    }
    run_as_shown("docs/containers.md", &read("docs/containers.md"));
}

#[test]
fn the_page_on_commands_as_agents_runs_as_shown() {
    run_as_shown("docs/exec.md", &read("docs/exec.md"));
}

#[test]
fn the_clients_on_the_first_screen_of_the_protocol_work() {
    let protocol = read("docs/protocol.md");
    let clients: Vec<&str> = protocol
        .split("```python\n")
        .skip(1)
        .filter_map(|part| part.split("```").next())
        .collect();
    let (send, receive) = (clients[0], clients[1].replace("alice", "bob"));
    let script = format!(
        "mailbag init -q; mailbag agent add -q alice bob\npython3 - <<'E'\n{send}E\nmailbag run --once\npython3 - <<'E'\n{receive}E\nls .mailbag/inbox/bob/*.json 2>/dev/null || ls .mailbag/inbox/bob/seen"
    );
    let printed = shell(&script);
    assert!(
        matches(&lines("…\nalice hi\n…-alice-….json"), &lines(&printed)),
        "{printed}"
    );
}

#[test]
fn ci_runs_the_readmes_test_command() {
    let readme = read("README.md");
    let command = readme
        .lines()
        .find_map(|line| line.strip_suffix("# all tests"))
        .expect("the README's test command");
    let ci = read(".ci/run");
    assert!(ci.lines().any(|line| line == command.trim()), "{command}");
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for file in documents() {
        let text = read(&file);
        for part in text.split("](").skip(1) {
            let link = part
                .split(')')
                .next()
                .unwrap_or_default()
                .split('#')
                .next()
                .unwrap_or_default();
            let below = Path::new(&file).parent().unwrap_or(Path::new(""));
            if !link.is_empty() && !link.contains("://") && !below.join(link).exists() {
                wrong.push(format!("{file}: {link}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn paths_of_the_source_exist() {
    let path = regex::Regex::new(r"`((?:[\w.-]+/)+[\w.-]*)`").expect("a valid pattern");
    let floors: BTreeSet<String> = fs::read_dir("src")
        .expect("the floors")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let mut missing = Vec::new();
    let mut seen = 0;
    for page in ["CONTRIBUTING", "architecture", "reliability"] {
        let page = format!("docs/{page}.md");
        for found in path.captures_iter(&read(&page)) {
            let path = &found[1];
            let first = path.split('/').next().unwrap_or_default();
            let is_source = floors.contains(first) && path.ends_with(".rs");
            let is_other = ["src", "tests", "fixtures", "fuzz", "schema", "packaging"];
            if is_source || is_other.contains(&first) {
                seen += 1;
                if !Path::new(path).exists() && !Path::new("src").join(path).exists() {
                    missing.push(format!("{page}: {path}"));
                }
            }
        }
    }
    assert!(
        seen > 50 && missing.is_empty(),
        "{seen} paths; missing: {missing:?}"
    );
}

#[test]
fn every_must_is_cited_by_a_test_and_every_citation_exists() {
    let clauses = clauses();
    // A clause keeps its number, so that a new one between two others takes the next free number.
    let numbers: BTreeSet<usize> = clauses.iter().map(|(number, _)| *number).collect();
    assert_eq!(
        numbers.len(),
        clauses.len(),
        "two clauses have the same number"
    );
    let cited = cited();
    let strange: Vec<&usize> = cited
        .iter()
        .filter(|number| !numbers.contains(number))
        .collect();
    assert!(
        strange.is_empty(),
        "tests cite clauses that aren't there: {strange:?}"
    );
    let uncited: Vec<String> = clauses
        .iter()
        .filter(|(number, text)| text.contains("MUST") && !cited.contains(number))
        .map(|(number, text)| format!("P{number}: {}", text.lines().next().unwrap_or_default()))
        .collect();
    assert!(uncited.is_empty(), "no test cites\n{}", uncited.join("\n"));
}

#[test]
fn the_protocol_has_every_code_field_and_event_of_the_source() {
    let protocol = read("docs/protocol.md");
    let named = |word: &str| protocol.contains(&format!("`{word}`"));
    let mut missing: Vec<String> = codes().into_iter().filter(|code| !named(code)).collect();
    let schema = parse_json(mailbag::message::schema::message_schema());
    let fields = schema["properties"].as_object().expect("properties").keys();
    missing.extend(fields.filter(|field| !named(field)).cloned());
    // The fields of a record, the parts of its event, and the facts of features.
    let (record, event, facts) = (
        read("src/message/record.rs"),
        read("src/message/event.rs"),
        read("src/features/facts.rs"),
    );
    let record = record.split("pub struct Record {").nth(1).expect("Record");
    let event = event.split("pub enum Event {").nth(1).expect("Event");
    for text in [record.split("\n}").next().expect("its end"), event, &facts] {
        let fields = text
            .lines()
            .filter_map(|line| line.strip_prefix("    pub "));
        let fields = fields.filter_map(|line| line.split_once(": "));
        let is_named = |field: &str| named(field) || protocol.contains(&format!(".{field}`"));
        missing.extend(
            fields
                .filter(|(field, _)| !is_named(field))
                .map(|(field, _)| field.to_owned()),
        );
    }
    assert!(
        missing.is_empty(),
        "docs/protocol.md doesn't name: {missing:?}"
    );
}

/// The codes of rejected messages in the source, except for the codes of registries, settings and
/// commands.
fn codes() -> BTreeSet<String> {
    let mut codes = BTreeSet::new();
    for file in files("src") {
        let elsewhere = [
            "src/room/registry",
            "src/room/settings",
            "src/query",
            "src/commands",
            "src/clients",
            "src/doctor",
            "src/cli",
        ];
        if elsewhere.iter().any(|path| file.starts_with(path)) {
            continue;
        }
        let text = read(&file);
        for call in ["Problem::new(", "refuse("] {
            for part in text.split(call).skip(1) {
                let Some(code) = part
                    .trim_start()
                    .strip_prefix('"')
                    .and_then(|rest| rest.split('"').next())
                else {
                    continue;
                };
                codes.insert(code.to_owned());
            }
        }
    }
    let schema = read("schema/message.schema.json");
    let of_schema = schema.split("\"code\": \"").skip(1);
    codes.extend(of_schema.filter_map(|rest| Some(rest.split('"').next()?.to_owned())));
    // Codes of the registry's schema, which is checked beside the message's.
    let of_registries = ["bad_status", "missing_field"];
    codes.retain(|code| !of_registries.contains(&code.as_str()));
    assert!(codes.len() > 30, "{codes:?}");
    codes
}

/// The clauses of the protocol: number and text.
fn clauses() -> Vec<(usize, String)> {
    let protocol = read("docs/protocol.md");
    let parts = protocol.split("**P").skip(1);
    parts
        .filter_map(|part| {
            let (number, text) = part.split_once("**")?;
            // A clause ends with its paragraph or list item.
            let end = ["\n- ", "\n\n", "\n1. ", "\n4. "]
                .iter()
                .filter_map(|end| text.find(end))
                .min();
            Some((
                number.parse().ok()?,
                text[..end.unwrap_or(text.len())].trim().to_owned(),
            ))
        })
        .collect()
}

/// The numbers of all clauses that tests name, as `P12`.
fn cited() -> BTreeSet<usize> {
    let mut cited = BTreeSet::new();
    for file in files("tests")
        .into_iter()
        .chain(files("src"))
        .filter(|file| file != "tests/docs.rs")
    {
        let text = read(&file);
        let tests = if file.starts_with("src/") && !file.ends_with("/tests.rs") {
            text.split("\n#[cfg(test)]\n").nth(1).unwrap_or_default()
        } else {
            &text
        };
        // Only in comments, because P0 to P3 are also priorities.
        let comments = tests
            .lines()
            .filter(|line| line.trim_start().starts_with("//"));
        let words = comments.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()));
        cited.extend(words.filter_map(|word| word.strip_prefix('P')?.parse::<usize>().ok()));
    }
    cited
}

/// The text below a heading.
fn section(markdown: &str, heading: &str) -> String {
    let below = markdown
        .split(&format!("\n## {heading}\n"))
        .nth(1)
        .unwrap_or_else(|| panic!("no {heading}"));
    below.split("\n## ").next().unwrap_or_default().to_owned()
}

fn run_as_shown(document: &str, markdown: &str) {
    let blocks = blocks(markdown);
    assert!(!blocks.is_empty(), "{document} shows nothing");
    let mark = |n: usize| format!("=== block {n} ===");
    let script: String = blocks
        .iter()
        .enumerate()
        .map(|(n, (_, code, _))| format!("echo '{}'\n{code}", mark(n)))
        .collect();
    let printed = shell(&script);
    for (n, (line, code, shown)) in blocks.iter().enumerate() {
        let part = printed
            .split(&format!("{}\n", mark(n)))
            .nth(1)
            .unwrap_or_default();
        let part = part
            .split(&format!("{}\n", mark(n + 1)))
            .next()
            .unwrap_or_default();
        let Some(shown) = shown else { continue };
        assert!(
            matches(&lines(shown), &lines(part)),
            "{document}, block at line {line}\n--- run\n{code}--- shown\n{shown}--- printed\n{part}"
        );
    }
}

/// Every block to run, with its line and the shown output.
fn blocks(markdown: &str) -> Vec<(usize, String, Option<String>)> {
    let mut blocks: Vec<(usize, String, Option<String>)> = Vec::new();
    let mut open: Option<(&str, usize, String)> = None;
    for (n, line) in markdown.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(kind)) => open = Some((kind, n + 1, String::new())),
            (Some(_), Some("")) => match open.take() {
                Some(("sh", at, code)) => blocks.push((at, code, None)),
                Some(("text", _, shown)) => {
                    blocks.last_mut().expect("code above what it prints").2 = Some(shown)
                }
                _ => {}
            },
            (Some((_, _, text)), _) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    blocks
}

/// Runs a script in a new directory with the program on the `PATH`, and returns its output.
fn shell(script: &str) -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_mailbag"));
    let room = tempfile::tempdir().expect("a directory");
    // A home directory does not count as a repository.
    let home = tempfile::tempdir().expect("a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!(
        "{}:{path}",
        program.parent().expect("a directory").display()
    );
    let output = Command::new("bash")
        .args(["-c", &format!("set -eu\nexec 2>&1\n{script}")])
        .current_dir(room.path())
        .env("PATH", path)
        .env("HOME", home.path())
        .env("LC_ALL", "C.UTF-8")
        .env("MAILBAG_TEST_ANCESTRY", "person")
        .env_remove("MAILBAG_ROOM")
        .env_remove("MAILBAG_AGENT")
        .env_remove("MAOS_AGENT_ID")
        .output()
        .expect("bash runs");
    let printed = lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{script}\nended with {}:\n{printed}",
        output.status
    );
    printed
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_end).collect()
}

/// Returns true if the lines match; a line `…` matches any number of lines.
fn matches(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&"…", rest)) => (0..=printed.len()).any(|skip| matches(rest, &printed[skip..])),
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, others)| fits(first, line) && matches(rest, others)),
    }
}

/// Returns true if a line matches; `…` matches any text.
fn fits(shown: &str, line: &str) -> bool {
    match shown.split_once('…') {
        None => shown == line,
        Some((before, rest)) => line.strip_prefix(before).is_some_and(|line| {
            line.char_indices()
                .map(|(at, _)| at)
                .chain([line.len()])
                .any(|at| fits(rest, &line[at..]))
        }),
    }
}

fn documents() -> Vec<String> {
    let pages = files("docs")
        .into_iter()
        .chain(files(".github"))
        .filter(|file| file.ends_with(".md"));
    pages.chain(["README.md".to_owned()]).collect()
}

fn files(below: &str) -> Vec<String> {
    let files = walkdir::WalkDir::new(below)
        .sort_by_file_name()
        .into_iter()
        .flatten();
    let files = files.filter(|entry| {
        entry.file_type().is_file() && !entry.path().to_string_lossy().contains("snap")
    });
    files
        .map(|entry| entry.path().to_string_lossy().into_owned())
        .collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"))
}
