//! Tests of subjects: the paths that they cover, and their conflicts.

use super::*;
use proptest::prelude::*;

fn subject(text: &str) -> ClaimSubject {
    ClaimSubject::parse(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"))
}

#[test]
fn a_path_covers_itself_and_everything_below_it() {
    for (claim, path, covered) in [
        ("src/auth", "src/auth", true),
        ("src/auth", "src/auth/login.rs", true),
        ("src/auth", "src/authority.rs", false),
        ("./src//auth/", "src/auth/x", true),
        ("src/**/mod.rs", "src/mod.rs", true),
        ("src/**/mod.rs", "src/a/b/mod.rs", true),
        ("src/*.rs", "src/a/b.rs", false),
        ("src/*.rs", "src/a.rs", true),
        ("src/{auth,web}/**", "src/web/x", true),
        ("src/{auth,web}/**", "src/db/x", false),
        ("SRC/Auth", "src/auth/Login.rs", true),
        ("docs/[a-c]?.md", "docs/b1.md", true),
        ("docs/[!a-c]?.md", "docs/b1.md", false),
        (".", "anything/at/all", true),
        ("Stra\u{df}e", "STRASSE", false),
        ("caf\u{e9}", "cafe\u{301}/menu", true),
    ] {
        assert_eq!(
            subject(claim).covers(None, path),
            covered,
            "{claim} and {path}"
        );
    }
}

#[test]
fn a_lazily_parsed_subject_equals_the_parsed_one() {
    let read = |text: &str| serde_json::from_value::<ClaimSubject>(text.into()).expect("a text");
    for (claim, path) in [
        ("src/**", "src/a"),
        ("src/**", "src"),
        ("SRC/*.rs", "src/a.RS"),
        ("./a//b", "a/b"),
        ("caf\u{e9}", "cafe\u{301}"),
    ] {
        let normal = subject(claim).to_string();
        assert!(read(&normal).covers(None, path), "{normal} and {path}");
        assert_eq!(read(&normal), subject(claim));
    }
    let damaged = read("src/[");
    assert!(
        !damaged.covers(None, "src/a")
            && !damaged.conflicts(&subject("src"))
            && damaged == read("src/[")
    );
}

#[test]
fn slow_patterns_conflict_after_a_bounded_search() {
    let slow = |last: char| subject(&format!("{}{last}", "*a".repeat(200)));
    let (one, two) = (slow('b'), slow('c'));
    let (
        Some(SubjectKind::Path { patterns, .. }),
        Some(SubjectKind::Path {
            patterns: others, ..
        }),
    ) = (one.kind(), two.kind())
    else {
        unreachable!("both are paths")
    };
    let fuel = ComparisonBudget::of_pair();
    assert!(
        patterns[0].conflicts(&others[0], &fuel) && fuel.is_spent(),
        "in doubt, they conflict"
    );
    assert!(
        !one.covers(None, &"a".repeat(4000)),
        "in doubt, nothing is covered"
    );
}

#[test]
fn a_name_conflicts_only_with_the_same_name() {
    assert!(subject("task:Login").conflicts(&subject("TASK:login")));
    assert!(!subject("task:login").conflicts(&subject("lane:login")));
    assert!(!subject("task:src").conflicts(&subject("src")));
    assert!(!subject("web:src").conflicts(&subject("src")));
    assert!(subject("web:src/**").conflicts(&subject("WEB:src/a")));
}

#[test]
fn an_invalid_subject_is_rejected_with_a_fix() {
    for text in [
        "",
        "..",
        "a/../../b",
        "task:",
        "task:a b",
        "src/[",
        "src/{a",
        "src/[]",
        "a\\b",
        "a\nb",
        "b c:x",
        "{a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}",
    ] {
        let problem = ClaimSubject::parse(text).expect_err(text);
        assert_eq!(
            (problem.code.as_ref(), problem.fix.is_empty()),
            ("bad_claim", false),
            "{text}: {problem:?}"
        );
    }
}

/// Patterns over a small alphabet, so that overlaps are frequent.
fn patterns() -> impl Strategy<Value = String> {
    let component = prop_oneof![
        4 => proptest::collection::vec(
            prop_oneof![
                6 => Just("a"), 6 => Just("b"), 2 => Just("*"), 2 => Just("?"), 1 => Just("[ab]"), 1 => Just("[!a]"),
                1 => Just("{a,bb}"), 1 => Just("A"),
            ],
            1..4
        )
        .prop_map(|parts| parts.concat()),
        1 => Just("**".to_owned()),
    ];
    proptest::collection::vec(component, 1..4).prop_map(|parts| parts.join("/"))
}

/// All paths of at most three components of at most three of these letters.
fn paths() -> Vec<String> {
    let mut names = Vec::new();
    for length in 1..=3u32 {
        for n in 0..3usize.pow(length) {
            names.push(
                (0..length)
                    .map(|digit| ['a', 'b', 'c'][n / 3usize.pow(digit) % 3])
                    .collect::<String>(),
            );
        }
    }
    let short: Vec<&String> = names.iter().filter(|name| name.len() < 3).collect();
    let mut paths: Vec<String> = names.clone();
    for one in &names {
        paths.extend(short.iter().map(|two| format!("{one}/{two}")));
    }
    for one in &short {
        for two in &short {
            paths.extend(short.iter().map(|three| format!("{one}/{two}/{three}")));
        }
    }
    paths
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_overlap_is_missed(one in patterns(), two in patterns()) {
        let (one, two) = (subject(&one), subject(&two));
        prop_assert_eq!(one.conflicts(&two), two.conflicts(&one));
        let shared = paths().into_iter().find(|path| one.covers(None, path) && two.covers(None, path));
        if let Some(path) = shared {
            prop_assert!(one.conflicts(&two), "{} and {} both cover {}", one, two, path);
        }
    }

    #[test]
    fn simple_patterns_conflict_only_if_they_share_a_path(
        one in "[ab]{1,2}(/[ab*]{1,2}){0,2}", two in "[ab]{1,2}(/[ab*]{1,2}){0,2}"
    ) {
        let (one, two) = (subject(&one), subject(&two));
        let shared = paths().into_iter().any(|path| one.covers(None, &path) && two.covers(None, &path));
        // Two stars in a component may need a longer name than the enumeration has.
        if !shared && !one.as_str().contains('*') && !two.as_str().contains('*') {
            prop_assert!(!one.conflicts(&two), "{} and {}", one, two);
        }
    }
}
