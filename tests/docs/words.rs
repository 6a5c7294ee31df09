//! The words of the documentation: the glossary is in order, and no page uses a term that the glossary replaces.

use super::read;
use regex::Regex;
use std::sync::LazyLock;

/// The pages that are written in the words of the glossary.
const PAGES: &[&str] = &[
    "README.md",
    "docs/CONTRIBUTING.md",
    "docs/agents.md",
    "docs/architecture.md",
    "docs/archive.md",
    "docs/backup.md",
    "docs/changelog.md",
    "docs/comparison.md",
    "docs/decisions/README.md",
    "docs/exec.md",
    "docs/faq.md",
    "docs/glossary.md",
    "docs/hooks.md",
    "docs/install.md",
    "docs/json.md",
    "docs/links.md",
    "docs/mcp.md",
    "docs/performance.md",
    "docs/protocol.md",
    "docs/reliability.md",
    "docs/releasing.md",
    "docs/security.md",
    "docs/troubleshooting.md",
    "docs/tutorial.md",
];

/// A replaced term, as a pattern, and its replacement.
const REPLACED: &[(&str, &str)] = &[
    (r"\bfold(s|ed|ing)?\b", "state; read the log into the state"),
    (r"\brungs?\b", "status"),
    (r"\bladders?\b", "the statuses"),
    (r"\b(the|of|their|agents'|its) lives\b", "activity"),
    (r"\bspellings?\b", "dialect, or form"),
    (r"\bwhat waits\b", "pending messages"),
    (r"\b[Ww]hoever\b", "the agent, the person, the process"),
    (
        r"\b(of|is|to) nobody\b",
        "unidentified, unregistered, no agent",
    ),
    (r"\bof no use\b", "expired"),
    (r"\bto and fro\b", "back and forth"),
    (r"\bstands?\b", "is, remains, contains"),
];

#[test]
fn the_glossary_has_each_term_once_and_in_order() {
    let glossary = read("docs/glossary.md");
    let terms: Vec<&str> = glossary
        .lines()
        .filter_map(|line| line.strip_prefix("| **")?.split("**").next())
        .collect();
    assert!(terms.len() > 50, "{terms:?}");
    assert!(
        terms.is_sorted_by(|one, next| one < next),
        "not in order, or not once each: {terms:#?}"
    );
}

#[test]
fn the_pages_use_the_words_of_the_glossary() {
    let mut wrong = Vec::new();
    for page in PAGES {
        for (at, line) in prose(&read(page)) {
            wrong.extend(
                replaced(&line)
                    .map(|(word, instead)| format!("{page}:{at}: \"{word}\": write {instead}")),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_help_of_every_command_uses_the_words_of_the_glossary() {
    let (mut wrong, mut pending) = (Vec::new(), vec![mailbag::cli::command()]);
    while let Some(mut command) = pending.pop() {
        let help = command.render_long_help().to_string();
        for (word, instead) in help
            .lines()
            .flat_map(|line| replaced(line).collect::<Vec<_>>())
        {
            wrong.push(format!(
                "{}: \"{word}\": write {instead}",
                command.get_name()
            ));
        }
        pending.extend(command.get_subcommands().cloned());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_replaced_term_is_found_in_prose_and_not_in_code() {
    let found = |text: &str| {
        prose(text)
            .iter()
            .flat_map(|(_, line)| replaced(line).collect::<Vec<_>>())
            .count()
    };
    assert_eq!(
        found("The fold climbs a ladder; whoever reads it stands there."),
        4
    );
    assert_eq!(
        found("The event `rungs`\n```text\nthe ladder\n```\nis a manifold understanding.\n"),
        0
    );
}

/// The terms in a line that the glossary replaces, each with what to write instead.
fn replaced(line: &str) -> impl Iterator<Item = (String, &'static str)> {
    static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
        REPLACED
            .iter()
            .map(|(pattern, instead)| (Regex::new(pattern).expect("a pattern"), *instead))
            .collect()
    });
    PATTERNS.iter().filter_map(move |(pattern, instead)| {
        Some((pattern.find(line)?.as_str().to_owned(), *instead))
    })
}

/// The lines of a page with their numbers, without blocks of code and words of code.
fn prose(page: &str) -> Vec<(usize, String)> {
    let (mut lines, mut is_code) = (Vec::new(), false);
    for (n, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with("    ") {
            // Every second part between backticks is code.
            lines.push((
                n + 1,
                line.split('`').step_by(2).collect::<Vec<_>>().join("…"),
            ));
        }
    }
    lines
}
