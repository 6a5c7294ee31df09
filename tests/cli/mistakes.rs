//! Typical mistakes on the command line, each with its answer: in the words of the command line, with a form that works.

use crate::world::{Ran, World};

/// The words after `mailbag`, and the essential part of the answer.
type Mistake = (&'static [&'static str], &'static str);

/// A room with three engineers, a question (#2), an approval (#3) and two offers (#6 and #7) to bob.
fn world() -> World {
    let world = World::new();
    world.ok(&[
        "agent", "add", "alice", "bob", "carol", "--role", "engineer",
    ]);
    for words in [
        &["send", "bob", "which?", "--type", "question"][..],
        &[
            "ask",
            "bob",
            "deploy?",
            "--options",
            "yes,no",
            "--timeout",
            "10ms",
        ],
        &["claim", "src/a"],
        &["claim", "src/b"],
        &["handoff", "bob", "src/a"],
        &["handoff", "bob", "src/b"],
    ] {
        world.run(&[words, &["--as", "alice"]].concat());
    }
    world
}

#[track_caller]
fn answer(world: &World, words: &[&str]) -> Ran {
    world.run(words)
}

/// Mistakes with an obvious meaning: the command accepts them.
const UNDERSTOOD: &[Mistake] = &[
    (&["decide", "--as", "bob"], "mailbag decide 3"),
    (&["reply", "--as", "bob"], "mailbag reply 2"),
    (&["send", "bob", "- item one", "--as", "alice"], "sent #"),
    (&["send", "bob", "-- all done", "--as", "alice"], "sent #"),
    (&["send", "bob", "--all is done", "--as", "alice"], "sent #"),
    (
        &["send", "bob", "--port=80 is taken", "--as", "alice"],
        "sent #",
    ),
    (&["send", "bob", "-q is quiet", "--as", "alice"], "sent #"),
    (
        &["send", "bob", "x", "--subject", "- s u", "--as", "alice"],
        "sent #",
    ),
    (
        &["send", "bob", "x", "--subject=- s u", "--as", "alice"],
        "sent #",
    ),
    (
        &[
            "send",
            "bob",
            "x",
            "--subject",
            "-5 degrees",
            "--as",
            "alice",
        ],
        "sent #",
    ),
    (
        &["--json", "send", "bob", "- x y", "--as", "alice"],
        "\"seq\"",
    ),
    (
        &["send", "bob", "- x y", "--json", "--as", "alice"],
        "\"seq\"",
    ),
    (&["reply", "2", "- a b", "--as", "bob"], "sent #"),
    (&["ack", "2", "--note", "- seen it", "--as", "bob"], "-7"),
    (
        &["claim", "src/n", "--note", "- my note", "--as", "alice"],
        "granted",
    ),
    (
        &["claim", "src/n", "-m", "my note", "--as", "alice"],
        "granted",
    ),
    (
        &["release", "src/n", "--note", "- a b", "--as", "alice"],
        "released",
    ),
    (
        &["send", "bob,carol", "hi", "--as", "alice"],
        "bob and carol",
    ),
    (
        &["send", "bob, carol", "hi", "--as", "alice"],
        "bob and carol",
    ),
    (
        &["send", "bob,", "carol", "hi", "--as", "alice"],
        "bob and carol",
    ),
    (&["send", "BOB", "hi", "--as", "ALICE"], "to bob"),
    (&["send", "@bob", "hi", "--as", "alice"], "to bob"),
    (
        &["send", "--to", "bob", "--body", "hi", "--as", "alice"],
        "to bob",
    ),
    (
        &["send", "--to=bob", "--body=hi there", "--as", "alice"],
        "to bob",
    ),
    (&["send", "--to", "bob", "hi", "--as", "alice"], "to bob"),
    (
        &[
            "send",
            "--to",
            "bob,carol",
            "--message",
            "hi",
            "--as",
            "alice",
        ],
        "bob and carol",
    ),
    (
        &["send", "bob", "-m", "- hi you", "--as", "alice"],
        "to bob",
    ),
    (
        &["send", "bob", "--message", "hi", "--from", "alice"],
        "to bob",
    ),
    (
        &["send", "bob", "hi", "--title", "x", "--as", "alice"],
        "to bob",
    ),
    (
        &["send", "bob", "hi", "--prio", "high", "--as", "alice"],
        "to bob",
    ),
    (
        &["send", "bob", "hi", "-p", "P1", "--as", "alice"],
        "to bob",
    ),
    (
        &["send", "bob", "hi", "--kind", "task", "--agent", "alice"],
        "to bob",
    ),
    (
        &["reply", "--id", "2", "--body", "eighty", "--as", "bob"],
        "sent #",
    ),
    (&["reply", "2", "-m", "eighty", "--as", "bob"], "sent #"),
    (&["inbox", "bob", "-n", "1"], "alice"),
    (&["inbox", "bob", "--last", "1"], "alice"),
    (&["list", "-n", "1", "--as", "bob"], "#"),
    (&["list", "--limit", "1", "--as", "bob"], "#"),
    (&["list", "--count=1", "--as", "bob"], "#"),
    (&["search", "which", "--last", "1", "--as", "bob"], "which"),
    (&["search", "which", "-n", "1", "--as", "bob"], "which"),
    (&["search", "--query", "which", "--as", "bob"], "which"),
    (&["trace", "--id", "2", "--as", "alice"], "bob: "),
];

/// Mistakes that are answered with the correct form.
const ANSWERED: &[Mistake] = &[
    (
        &["sned", "bob", "hi"],
        "`sned` is not a command; did you mean `mailbag send`?",
    ),
    (
        &["frobnicate"],
        "`frobnicate` is not a command; `mailbag help --all` lists all commands",
    ),
    (
        &["msg", "bob", "hi there", "--as", "alice"],
        "run `mailbag send bob 'hi there' --as alice`",
    ),
    (
        &["milestone", "all done"],
        "run `mailbag send 'all done' --type milestone`",
    ),
    (&["answer", "2", "eighty"], "run `mailbag reply 2 eighty`"),
    (&["approve", "3"], "run `mailbag decide 3 yes`"),
    (&["show", "2"], "run `mailbag read 2`"),
    (&["whoami"], "run `mailbag agent show`"),
    (
        &["wait", "--timeout", "x", "--as", "bob"],
        "`x` is not valid for `--timeout <TIME>`: \"x\" is not a duration",
    ),
    (
        &["send", "bob", "hi", "--metadata", "x", "--as", "alice"],
        "`x` is not valid for `--metadata <KEY=VALUE>`: expected KEY=VALUE; for example",
    ),
    (
        &["web", "--port", "x"],
        "`--port <PORT>`: a number is needed",
    ),
    (&["install", "claud"], "did you mean `claude`?"),
    (
        &["inbox", "bob", "--as", "alice"],
        "cannot be used together; usage: mailbag inbox",
    ),
    (
        &["ack", "99", "--as", "alice"],
        "error: alice neither sent nor received a message \"99\"",
    ),
    (
        &["dismiss", "99", "--as", "alice"],
        "error: alice neither sent nor received a message \"99\"",
    ),
    (
        &["send", "bob", "--as", "alice"],
        "error: the message has no text; write it after the address",
    ),
    (&["agent", "add", "a b"], "error: id must be 1 to 64"),
    (&["follow"], "run `mailbag list --follow`"),
    (
        &["agent", "create", "zoe"],
        "`create` is not a command of `mailbag agent`; run `mailbag agent add zoe`",
    ),
    (
        &["agent", "remvoe", "bob"],
        "did you mean `mailbag agent remove`?",
    ),
    (
        &["channel", "send", "main", "bob", "x"],
        "run `mailbag send --channel main bob x`",
    ),
    (
        &["topic", "join", "news"],
        "run `mailbag topic subscribe news`",
    ),
    (
        &["send", "bob", "x", "--subjct", "y"],
        "`--subjct` is not an option of `mailbag send`; did you mean `--subject`?",
    ),
    (
        &["send", "bob", "x", "--frobnicate"],
        "`mailbag help send` lists its options",
    ),
    (
        &["send", "bob", "-item"],
        "text that begins with `-` follows `--`",
    ),
    (
        &["agent", "add", "zoe", "--roel", "x"],
        "did you mean `--role`?",
    ),
    (
        &["who", "extra"],
        "`extra` is one argument too many for `mailbag who`; usage: mailbag who",
    ),
    (
        &["claim"],
        "`mailbag claim` needs <SUBJECT>...; for example `mailbag claim",
    ),
    (
        &["trace"],
        "`mailbag trace` needs <ID>; for example `mailbag trace",
    ),
    (
        &["send", "all_enginers", "x", "--as", "alice"],
        "error: all_enginers reaches no agent: no agent has the role \"enginers\"; did you mean all_engineer?",
    ),
    (&["send", "bbo", "x", "--as", "alice"], "did you mean bob?"),
    (
        &["send", "bob", "x", "--priority", "P9", "--as", "alice"],
        "error: --priority: must be one of low, normal, high, urgent (or P0 to P3), not \"P9\"; for example \"high\"",
    ),
    (
        &["send", "bob", "x", "--type", "qestion", "--as", "alice"],
        "error: --type: unknown type \"qestion\"; did you mean question?",
    ),
    (
        &["agent", "add", "bob"],
        "error: bob is registered already; change it with `mailbag agent set bob`",
    ),
    (
        &["agent", "add", "BOB"],
        "error: BOB is another name of agent bob",
    ),
    (
        &["agent", "show", "bbo"],
        "no agent is called \"bbo\"; did you mean bob?",
    ),
    (&["inbox", "zed"], "`mailbag agent add zed` registers it"),
    (
        &["handoff", "--accept", "--as", "bob"],
        "there are 2 open offers; run `mailbag handoff --accept NUMBER`:\n  #",
    ),
    (
        &["decide", "3", "--as", "bob"],
        "run `mailbag decide 3 OPTION` with one of: yes, no",
    ),
    (&["decide", "99", "yes", "--as", "bob"], "99"),
    (&["reply", "99", "x", "--as", "bob"], "99"),
    (&["read", "nothing", "--as", "bob"], "nothing"),
    (
        &["send", "bob", "x", "--expires", "soon", "--as", "alice"],
        "soon",
    ),
];

#[test]
fn typical_mistakes_are_understood() {
    // P531
    let world = world();
    for (words, expected) in UNDERSTOOD {
        let ran = answer(&world, words);
        assert!(
            ran.code == 0 && ran.out.contains(expected),
            "{words:?}: {ran:?}"
        );
    }
}

#[test]
fn typical_mistakes_are_answered_with_the_correct_form() {
    // P531
    let world = world();
    for (words, expected) in ANSWERED {
        let ran = answer(&world, words);
        assert!(
            ran.code != 0 && ran.err.contains(expected),
            "{words:?}: {ran:?}"
        );
        for odd in ["error: /", "line 1: line 1", "-- --", "tip:"] {
            assert!(!ran.err.contains(odd), "{words:?}: {ran:?}");
        }
    }
    assert!(UNDERSTOOD.len() + ANSWERED.len() >= 60);
}

#[test]
fn the_forms_in_answers_work_when_they_are_pasted() {
    let world = world();
    for (words, _) in ANSWERED {
        let ran = answer(&world, words);
        for form in ran.err.split('`').skip(1).step_by(2) {
            let has_placeholder = form
                .split(' ')
                .any(|word| word.len() > 1 && word == word.to_uppercase());
            let Some(pasted) = form
                .strip_prefix("mailbag ")
                .filter(|_| !has_placeholder && !form.contains("--follow"))
            else {
                continue;
            };
            let pasted = shell_words(pasted);
            let again = world.run(&pasted.iter().map(String::as_str).collect::<Vec<_>>());
            for odd in ["is not a command", "is not an option", "too many"] {
                assert!(!again.err.contains(odd), "{words:?}: {form}: {again:?}");
            }
        }
    }
}

/// The words of a line with quoted words.
fn shell_words(line: &str) -> Vec<String> {
    line.split('\'')
        .enumerate()
        .flat_map(|(n, part)| {
            if n % 2 == 1 {
                vec![part.to_owned()]
            } else {
                part.split_whitespace().map(str::to_owned).collect()
            }
        })
        .collect()
}
