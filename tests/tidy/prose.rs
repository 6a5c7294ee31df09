//! The rules of plain language: patterns in comments, texts, pages and test names that a reader has to read twice.
//!
//! Each folder has a budget. Lower the number when you rewrite sentences, and never raise it. A line that must stay as
//! it is, such as a quotation, ends with `prose-ok`.

use super::all;
use crate::files;
use regex::{Regex, RegexSet};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The most places in each folder; zero without an entry.
const BUDGETS: &[(&str, usize)] = &[
    ("README.md", 2),
    ("benches", 7),
    ("docs", 60),
    ("src", 3),
    ("src/cli", 40),
    ("src/clients", 32),
    ("src/query", 2),
    ("src/web", 11),
];

/// A pattern, the kinds of lines where it counts, and what to write instead.
struct Rule {
    name: &'static str,
    kinds: &'static [Kind],
    pattern: &'static str,
    instead: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Comment,
    Text,
    Page,
    TestName,
}

const EVERYWHERE: &[Kind] = &[Kind::Comment, Kind::Text, Kind::Page];

const fn rule(
    name: &'static str,
    kinds: &'static [Kind],
    pattern: &'static str,
    instead: &'static str,
) -> Rule {
    Rule {
        name,
        kinds,
        pattern,
        instead,
    }
}

const RULES: [Rule; 17] = [
    rule(
        "what-label",
        &[Kind::Comment],
        r"^\s*//[/!]\s*(What|Who|Whom|Whose|Which|How (far|many|much|long)|Since when|By when|Until when)\b.*[^?]$",
        "a noun phrase: `/// Files waiting to be picked up.`",
    ),
    rule(
        "question",
        &[Kind::Comment],
        r"^\s*//[/!](.*\?\s*$|\s*(Is|Are|Was|Were|Does|Can|Has|Have|Did)\b.*\?)",
        "`/// Returns true if …` or a statement",
    ),
    rule(
        "what-noun",
        EVERYWHERE,
        r"(?i)\bwhat (is|was|are|were|it|they|the|a|an|has|had|have|can|cannot|may|must|comes|came|goes|follows|follow|waits|needs|need|other|others|each|this|that|did|does|went|you|no|one|somebody)\b",
        "name the thing: `pending files`, `the record`",
    ),
    rule(
        "whose",
        EVERYWHERE,
        r"(?i)\b(whose|whom)\b",
        "repeat the noun, or write two sentences",
    ),
    rule(
        "prep-which",
        EVERYWHERE,
        r"(?i)\b(of|by|to|with|in|from|for|on|at|about|behind|below|after|before|under|over|through|into) which\b",
        "two sentences, or `where`, `that`",
    ),
    rule(
        "that-of",
        EVERYWHERE,
        r"(?i)\b(that of|those of|those in|those that|those with|those whose|the ones? (that|of|in|with)|that one)\b",
        "repeat the noun",
    ),
    rule(
        "tell",
        EVERYWHERE,
        r"(?i)\b(is|are|was|were|be|been|being|gets?|not) told\b|\btells?\b",
        "report, notify, show, return",
    ),
    rule(
        "nobody",
        EVERYWHERE,
        r"(?i)\b(nobody|somebody|everybody|anybody|whoever|nothing else)\b",
        "name the agent, or use the passive voice",
    ),
    rule(
        "is-to",
        EVERYWHERE,
        r"(?i)\b(is|are|was|were) to (be|have|go|get|stay|end|wait|[a-z]+ed)\b|\b(is|are|was) no ([a-km-z]|l[a-np-z])[a-z]+|\b(has|have|had) none\b|\bif any\b",
        "must, will; `is not a`; `has no X`",
    ),
    rule(
        "archaic",
        EVERYWHERE,
        r"(?i)\b(any more|for ever|at last|once more|in any case|at once|as it is|as it stands|as it were|anew|meanwhile|lately)\b",
        "no longer, forever, again, always, immediately, now",
    ),
    rule(
        "how-far",
        EVERYWHERE,
        r"(?i)\bhow (far|many|much|long)\b|\b(so|that|as) (many|much)\b",
        "progress, number, duration",
    ),
    rule(
        "mend",
        EVERYWHERE,
        r"(?i)\b(mend|mends|mended|mending|cure|cures|cured)\b",
        "fix",
    ),
    rule(
        "too-end",
        EVERYWHERE,
        r"(?i),? too[.;,:)]?\s*$|,? too[.;]|\balso (in|on|after|before|while|across|if|when|where|for|from|by|with|to|at|beside|behind)\b",
        "`also` before the verb, or `even if`",
    ),
    rule(
        "of-first",
        &[Kind::Comment, Kind::Page],
        r"^\s*(//[/!]?\s*|[-*] )?(Of|By|To|With|From|Behind|Beside|Besides|Between) (the|a|an|all|each|every|several|very|many|two|those|these|one|its|their|another|any)\b[^`]*,",
        "begin with the subject",
    ),
    rule(
        "goes",
        &[Kind::Comment, Kind::Text],
        r"(?i)\b(goes|comes|stands|lies|came|stood|went)\b",
        "moves, arrives, is, was; name the action",
    ),
    rule(
        "behind",
        EVERYWHERE,
        r"(?i)\bbehind (it|them|the|that|this|those|each|its|their)\b",
        "after",
    ),
    rule(
        "test-what",
        &[Kind::TestName],
        r"fn (what|which|whose|whom)_|_whose_|_of_which_|_that_of_|_those_of_|_nobody_|_is_told|_are_told",
        "subject, verb, object",
    ),
];

static PATTERNS: LazyLock<RegexSet> =
    LazyLock::new(|| RegexSet::new(RULES.map(|rule| rule.pattern)).expect("valid patterns"));
static CODE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"`[^`]*`|\]\([^)]*\)").expect("a valid pattern"));
static LITERAL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""((?:[^"\\]|\\.)*)""#).expect("a valid pattern"));

#[test]
fn no_folder_exceeds_its_budget_of_hard_sentences() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in ["src", "tests", "benches", "docs", "README.md"]
        .into_iter()
        .flat_map(all)
    {
        let path = path.to_string_lossy();
        let is_prose = [".rs", ".md", ".py", ".ts", ".js", ".sh"]
            .iter()
            .any(|end| path.ends_with(end));
        if is_prose && !path.starts_with("docs/man/") {
            let text = files::read_text(&*path);
            places
                .entry(folder_of(&path).to_owned())
                .or_default()
                .extend(places_in(&path, &text));
        }
    }
    let mut wrong = String::new();
    for (folder, places) in places {
        let budget = BUDGETS.iter().find(|(name, _)| *name == folder);
        let most = budget.map_or(0, |(_, most)| *most);
        if places.len() > most {
            let count = places.len();
            wrong += &format!("{folder}: {count} places, {most} allowed; rewrite new sentences\n");
            wrong += &places.join("");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// `src/<folder>`, or the first part of the path.
fn folder_of(path: &str) -> &str {
    let mut ends = path.match_indices('/').map(|(at, _)| at);
    let first = ends.next().unwrap_or(path.len());
    let end = if path.starts_with("src/") {
        ends.next().unwrap_or(first)
    } else {
        first
    };
    &path[..end]
}

fn places_in(path: &str, text: &str) -> Vec<String> {
    let is_test = path.starts_with("tests/") || path.starts_with("benches/");
    let mut places = Vec::new();
    for (number, kind, line) in pieces(path, text) {
        if line.contains("prose-ok") {
            continue;
        }
        for at in PATTERNS.matches(&line) {
            let rule = &RULES[at];
            if rule.kinds.contains(&kind) && !(is_test && rule.name == "goes") {
                let Rule { name, instead, .. } = rule;
                let line = line.trim();
                places.push(format!("{path}:{number}: [{name}: {instead}] {line}\n"));
            }
        }
    }
    places
}

/// The line number, kind and prose of every line, without code in it.
fn pieces(path: &str, text: &str) -> Vec<(usize, Kind, String)> {
    let is_page = path.ends_with(".md");
    let mut pieces = Vec::new();
    let mut is_fenced = false;
    for (number, line) in (1..).zip(text.lines()) {
        let trimmed = line.trim_start();
        if is_page {
            if trimmed.starts_with("```") {
                is_fenced = !is_fenced;
            } else if !is_fenced && !line.starts_with("    ") && !line.starts_with('#') {
                pieces.push((number, Kind::Page, without_code(line)));
            }
        } else if path.ends_with(".rs") && trimmed.starts_with("//") {
            pieces.push((number, Kind::Comment, without_code(line)));
        } else if !path.ends_with(".rs") && trimmed.starts_with(['#', '*']) {
            let text = trimmed.trim_start_matches(['#', '*', ' ']);
            pieces.push((number, Kind::Comment, format!("// {text}")));
        } else if path.starts_with("tests/") {
            if trimmed.starts_with("fn ") {
                let name = trimmed.split('(').next().unwrap_or_default();
                pieces.push((number, Kind::TestName, name.to_owned()));
            }
        } else {
            for literal in LITERAL.captures_iter(line) {
                let text = &literal[1];
                if text.trim().contains(' ') && text.chars().count() > 12 {
                    pieces.push((number, Kind::Text, text.to_owned()));
                }
            }
        }
    }
    pieces
}

fn without_code(line: &str) -> String {
    CODE.replace_all(line, "`x`").into_owned()
}

#[test]
fn a_hard_sentence_is_found_and_a_plain_one_is_not() {
    let hard = "/// What is to be picked up.\n/// Is it ready?\n/// The agent is told, too.\n";
    let found = places_in("src/a/b.rs", hard);
    assert_eq!(found.len(), 6, "{found:#?}");
    let plain =
        "/// Files waiting to be picked up.\n/// Is no longer `what is`.\nlet a = \"what\";\n";
    assert_eq!(places_in("src/a/b.rs", plain), Vec::<String>::new());
    assert_eq!(
        places_in("tests/a.rs", "fn what_is_old_is_told() {\n").len(),
        1
    );
}
