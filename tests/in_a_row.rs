//! Two commands in a row: a command sees the result of the command before it, whichever process
//! routes.

mod readers;

use crate::files;
use crate::mcp::Client;
use crate::town::{PATIENCE, Town, so_within};
use crate::world::{Ran, World, lossy};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Number of tries of a pair while another process routes. A router that answers too early fails
/// within a few tries.
const TRIES: usize = 5;

/// The process that routes while the commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Routes {
    /// Each command by itself.
    Commands,
    /// A daemon with file events.
    Daemon,
    /// A daemon that only looks.
    Poller,
    /// The MCP server of a client that is open.
    Server,
}

/// A room with its router, which ends first.
struct Place {
    _server: Option<Client>,
    town: Town,
}

impl Place {
    fn new(routes: Routes) -> Place {
        let mut town = Town::of("alice bob carol dave");
        town.ok("agent set carol --topic news");
        match routes {
            Routes::Daemon => town.start(&[]),
            Routes::Poller => town.start(&["--poll"]),
            Routes::Commands | Routes::Server => {}
        }
        let server = (routes == Routes::Server).then(|| Client::of(&town, "dave"));
        if routes == Routes::Server {
            town.wait("the server routes", || {
                town.status()["router"]["mode"] == "alongside"
            });
        }
        Place {
            _server: server,
            town,
        }
    }

    fn ran(&self, words: &str) -> Ran {
        let words: Vec<&str> = words.split(' ').collect();
        World::run(&self.town, &words)
    }
}

/// The part of a reader's output that does not depend on the time, the number of messages before, and the router.
fn stable(ran: &Ran) -> String {
    let words = ran
        .out
        .split_whitespace()
        .filter(|word| !is_of_the_run(word))
        .collect::<Vec<_>>()
        .join(" ");
    format!("{} {words}", ran.code)
}

/// Returns true for a message's id, a number, a time, or the path of the room.
fn is_of_the_run(word: &str) -> bool {
    let is_time = word
        .as_bytes()
        .windows(3)
        .any(|at| at[1] == b':' && at[0].is_ascii_digit() && at[2].is_ascii_digit());
    let is_age = word.ends_with(['s', 'm', 'h']) && word.starts_with(|c: char| c.is_ascii_digit());
    let is_number = word
        .trim_start_matches('#')
        .bytes()
        .all(|byte| byte.is_ascii_digit());
    is_time || is_age || is_number || word.contains("-7") || word.contains(".mailbag")
}

/// A writing command of alice, and a text that a reader must show directly after it.
struct Pair {
    /// Run before, in order.
    before: &'static [&'static str],
    write: &'static str,
    /// The readers, each with a part of its output.
    reads: &'static [(&'static str, &'static str)],
}

const PAIRS: &[Pair] = &[
    Pair {
        before: &[],
        write: "send bob wordy --as alice",
        reads: &[
            ("inbox bob", "wordy"),
            ("list --as bob", "wordy"),
            ("search wordy --as bob", "wordy"),
            ("list --channel main", "wordy"),
            ("who", "bob"),
        ],
    },
    Pair {
        before: &["send bob which? --as alice --type question --thread T"],
        write: "reply 2 eighty --as bob",
        reads: &[
            ("inbox alice", "eighty"),
            ("thread T --as alice", "eighty"),
            ("trace 3", "alice: delivered"),
        ],
    },
    Pair {
        before: &["send bob which? --as alice --type question --requires-response"],
        write: "ack 2 --as bob --status resolved",
        reads: &[("trace 2", "resolved"), ("pending --as bob", "")],
    },
    Pair {
        before: &["send human decide? --as alice --type question --requires-response"],
        write: "dismiss 2 --as human",
        reads: &[("pending --as human", ""), ("trace 2", "abandoned")],
    },
    Pair {
        before: &[],
        write: "claim src/a --as alice",
        reads: &[("claims", "src/a"), ("claims --mine --as alice", "src/a")],
    },
    Pair {
        before: &["claim src/a --as alice"],
        write: "release src/a --as alice",
        reads: &[("claims", "")],
    },
    Pair {
        before: &["claim src/a --as alice"],
        write: "handoff bob src/a --as alice",
        reads: &[
            ("claims", "bob"),
            ("handoff --accept --as bob", "granted"),
            ("claims --mine --as bob", "src/a"),
        ],
    },
    Pair {
        before: &["claim src/a --as alice", "handoff bob src/a --as alice"],
        write: "handoff --decline --as bob",
        reads: &[("claims --mine --as alice", "src/a")],
    },
    Pair {
        before: &[],
        write: "send finished --type milestone --as alice",
        reads: &[("list --events", "finished"), ("inbox bob", "finished")],
    },
    Pair {
        before: &[],
        write: "agent set bob --topic ports",
        reads: &[("who --topic", "bob"), ("send --dry-run #ports", "bob")],
    },
    Pair {
        before: &["agent set bob --topic ports"],
        write: "agent set bob --no-topic ports",
        reads: &[("who --topic", "")],
    },
    Pair {
        before: &[],
        write: "send #news fresh --as alice",
        reads: &[("inbox carol", "fresh")],
    },
    Pair {
        before: &[],
        write: "send all freeze --as alice",
        reads: &[("inbox dave", "freeze")],
    },
    Pair {
        before: &["send bob first --as alice"],
        write: "read 2 --as bob",
        reads: &[("trace 2", "seen"), ("inbox bob", "")],
    },
];

/// The answers of all readers, in the order of the table.
fn answers(pair: &Pair, routes: Routes) -> Vec<String> {
    let place = Place::new(routes);
    for command in pair.before.iter().chain([&pair.write]) {
        let ran = place.ran(command);
        assert_eq!(ran.code, 0, "{command} with {routes:?}: {ran:?}");
    }
    let mut answers = Vec::new();
    for (reader, wanted) in pair.reads {
        let ran = place.ran(reader);
        assert!(
            ran.out.contains(wanted),
            "{reader} after {} with {routes:?}: {ran:?}",
            pair.write
        );
        answers.push(stable(&ran));
    }
    answers
}

#[test]
fn every_reader_shows_what_the_command_before_it_wrote_whoever_routes() {
    // P256
    for pair in PAIRS {
        let alone = answers(pair, Routes::Commands);
        for routes in [Routes::Daemon, Routes::Server, Routes::Poller] {
            let with = answers(pair, routes);
            for ((reader, _), (alone, with)) in pair.reads.iter().zip(alone.iter().zip(&with)) {
                // The presence and the age of an answer depend on the time.
                if !reader.starts_with("who") && !reader.starts_with("log") {
                    assert_eq!(alone, with, "{reader} after {} with {routes:?}", pair.write);
                }
            }
        }
    }
}

#[test]
fn a_message_is_found_by_the_id_that_its_command_prints() {
    for routes in [
        Routes::Commands,
        Routes::Daemon,
        Routes::Server,
        Routes::Poller,
    ] {
        let place = Place::new(routes);
        for n in 0..TRIES * 4 {
            let id = place.town.send("alice", "bob", &format!("message {n}"));
            assert_contains!(place.town.ok(&["trace", &id]), "bob: delivered"; "{routes:?}");
            assert_eq!(place.town.count("bob"), n + 1, "{routes:?}");
        }
    }
}

#[test]
fn a_reader_shows_what_was_dropped_before_it_started() {
    // P255
    for routes in [
        Routes::Commands,
        Routes::Daemon,
        Routes::Server,
        Routes::Poller,
    ] {
        let place = Place::new(routes);
        let town = &place.town;
        for n in 0..TRIES * 4 {
            let body = format!("dropped {n}");
            let name = format!("{n}.json");
            // Each way that a file appears in an outbox.
            match n % 3 {
                0 => {
                    town.mail("alice", &name, json!({"to": "bob", "body": body}));
                }
                1 => {
                    let draft = town.mail("alice", ".draft", json!({"to": "bob", "body": body}));
                    files::rename(draft, town.room(&format!("outbox/alice/{name}")));
                }
                _ => {
                    let draft = town.mail("carol", ".draft", json!({"to": "bob", "body": body}));
                    std::fs::hard_link(&draft, town.room(&format!("outbox/carol/{name}")))
                        .expect("it is linked");
                    files::remove_file(draft);
                }
            }
            let inbox = town.ok("inbox bob");
            assert!(inbox.contains(&body), "{routes:?}, {n}: {inbox}");
        }
    }
}

#[test]
fn tools_see_the_result_of_the_tool_before_and_of_commands() {
    for routes in [Routes::Commands, Routes::Daemon] {
        let place = Place::new(routes);
        let (alice, bob) = (
            Client::of(&place.town, "alice"),
            Client::of(&place.town, "bob"),
        );
        for n in 0..TRIES * 2 {
            let body = format!("tool {n}");
            let (text, data) = alice.call("send_message", json!({"to": ["bob"], "body": body}));
            assert!(text.starts_with("sent #") && data["seq"].is_u64(), "{text}");
            assert!(
                bob.text("fetch_inbox", json!({})).contains(&body),
                "{routes:?}, {n}"
            );
            let seq = data["seq"].to_string();
            alice.call("get_thread", json!({"id": seq}));
            bob.call("acknowledge_message", json!({"id": seq}));
            assert_contains!(place.town.ok(&["trace", &seq]), "acknowledged"; "{routes:?}, {n}");
            bob.call(
                "reply_message",
                json!({"id": seq, "body": format!("answer {n}")}),
            );
            assert_contains!(place.town.ok("inbox alice"), &format!("answer {n}"); "{routes:?}, {n}");
            place
                .town
                .ok(&["send", "bob", &format!("command {n}"), "--as", "carol"]);
            assert_contains!(bob.text("fetch_inbox", json!({})), &format!("command {n}"); "{routes:?}, {n}");
        }
    }
}

#[test]
fn a_hook_announces_what_was_sent_just_before() {
    let place = Place::new(Routes::Daemon);
    let town = &place.town;
    for n in 0..TRIES * 2 {
        town.mail(
            "alice",
            &format!("{n}.json"),
            json!({"to": "bob", "body": format!("before the stop {n}")}),
        );
        let event = json!({"hook_event_name": "Stop", "session_id": "s", "cwd": town.path()});
        let ran = town.pipe("hook claude --as bob", event.to_string());
        assert_contains!(ran.out, "alice"; "{n}: {ran:?}");
    }
}

#[test]
fn a_command_does_not_wait_long_for_a_router_that_does_not_answer() {
    let place = Place::new(Routes::Daemon);
    let town = &place.town;
    town.send("alice", "bob", "before");
    town.router().signal(rustix::process::Signal::STOP);
    let timed = |words: &[&str]| {
        let begun = Instant::now();
        // Without /proc, a stopped process looks like one that hangs.
        let ran = town.run_env(words, "MAILBAG_TEST_PROC", "/nonexistent");
        (ran, begun.elapsed())
    };
    let (read, took) = timed(&["inbox", "bob"]);
    assert!(
        read.out.contains("before") && took < Duration::from_secs(1),
        "{took:?}: {read:?}"
    );
    let (read, took) = timed(&["inbox", "bob", "--no-wait"]);
    assert!(
        read.out.contains("before") && took < Duration::from_millis(190),
        "{took:?}: {read:?}"
    );
    let (sent, took) = timed(&["send", "bob", "later", "--as", "alice"]);
    let second = Duration::from_secs(1);
    assert!(
        sent.code == 0 && took > second && took < 4 * second,
        "{took:?}: {sent:?}"
    );
    assert_contains!(sent.out, "pending to bob", "do not send it again"; "{sent:?}");
    let (sent, took) = timed(&[
        "send",
        "-q",
        "bob",
        "later still",
        "--as",
        "alice",
        "--no-wait",
    ]);
    assert!(sent.code == 0 && took < second, "{took:?}: {sent:?}");
    assert!(
        sent.err.contains("do not send it again") && sent.out.trim().len() == 36,
        "{sent:?}"
    );
    let (sent, _) = timed(&["ack", "2", "--as", "bob"]);
    assert!(
        sent.code == 0 && sent.err.contains("do not send it again"),
        "{sent:?}"
    );
    // The exit status 0 of a claim means that it is granted.
    let (claimed, took) = timed(&["claim", "src/a", "--as", "alice"]);
    assert!(
        claimed.code == 75 && took < 4 * second,
        "{took:?}: {claimed:?}"
    );
    assert_contains!(claimed.err, "do not send it again"; "{claimed:?}");
    town.router().signal(rustix::process::Signal::CONT);
    town.wait_for_bodies("bob", &["before", "later", "later still"]);
    assert_contains!(town.ok("claims"), "src/a");
    let left = |agent: &str| {
        std::fs::read_dir(town.room(&format!("outbox/{agent}")))
            .expect("an outbox")
            .count()
    };
    assert_eq!((left("alice"), left("human")), (0, 0), "no request stays");
}

#[test]
fn a_command_routes_itself_when_the_router_dies_while_it_waits() {
    let place = Place::new(Routes::Daemon);
    let town = &place.town;
    town.router().signal(rustix::process::Signal::STOP);
    let mut send = town.bare("send bob orphan --as alice");
    send.env("MAILBAG_TEST_PROC", "/nonexistent");
    let sending = send
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the program starts");
    assert!(
        so_within(PATIENCE, || std::fs::read_dir(town.room("outbox/human"))
            .expect("an outbox")
            .count()
            > 0),
        "the command asks the router"
    );
    town.router().signal(rustix::process::Signal::KILL);
    let out = sending.wait_with_output().expect("the program ends");
    let text = lossy(&out.stdout);
    assert!(text.starts_with("sent #"), "{text}");
    assert_eq!(town.bodies("bob"), ["orphan"]);
}

#[test]
fn a_recipient_that_is_blocked_delays_no_sender() {
    let place = Place::new(Routes::Daemon);
    let town = &place.town;
    files::remove_dir(town.room("inbox/bob"));
    town.write("inbox/bob", "no directory");
    let begun = Instant::now();
    let sent = town.json("send bob carol 'to both' --as alice");
    assert!(
        begun.elapsed() < Duration::from_millis(1500),
        "{:?}",
        begun.elapsed()
    );
    let reach: BTreeMap<&str, &Value> = sent["recipients"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (one["agent"].as_str().unwrap_or_default(), &one["reach"]))
        .collect();
    assert_eq!(
        (reach["bob"], reach["carol"]),
        (&json!("blocked"), &json!("not_running")),
        "{sent}"
    );
    assert_contains!(town.ok("inbox carol"), "to both");
}

#[test]
fn a_request_for_a_pass_can_be_made_with_plain_files() {
    let place = Place::new(Routes::Daemon);
    let town = &place.town;
    for n in 0..TRIES {
        town.mail(
            "alice",
            &format!("{n}.json"),
            json!({"to": "bob", "body": "plain"}),
        );
        let request = town.drop_file("alice", ".pass-me", "");
        town.wait("the router removes the request", || !request.exists());
        assert_eq!(town.count("bob"), n + 1);
    }
    // A file that cannot be removed delays no command.
    files::make_dir(town.room("outbox/alice/.pass-directory"));
    assert_contains!(town.ok("inbox bob"), "plain");
}

#[test]
fn a_sender_learns_how_each_recipient_will_receive_the_message() {
    let world = World::with("alice bob carol dave erin");
    let event = |name: &str, session: &str, agent: &str| {
        let event = json!({"hook_event_name": name, "session_id": session, "cwd": world.path()});
        world
            .pipe(&["hook", "claude", "--as", agent], event.to_string())
            .ok();
    };
    event("SessionStart", "b", "bob");
    event("UserPromptSubmit", "b", "bob");
    event("SessionStart", "c", "carol");
    event("UserPromptSubmit", "c", "carol");
    event("Stop", "c", "carol");
    event("SessionStart", "d", "dave");
    event("SessionEnd", "d", "dave");
    let sent = world.json("send bob carol dave erin hello --as alice");
    let reach: Vec<&str> = sent["recipients"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["reach"].as_str())
        .collect();
    assert_eq!(reach, ["working", "idle", "away", "not_running"], "{sent}");
    assert!(sent["recipients"][2]["since"].is_string(), "{sent}");
    let text = world.ok("send bob carol hello --as alice");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "sent #3 to bob and carol");
    assert!(
        lines.contains(&"  bob: working; sees it at the next tool call"),
        "{text}"
    );
    assert!(
        lines.contains(&"  carol: idle; sees it at the next prompt"),
        "{text}"
    );
    let id = world.ok("send -q bob hello --as alice");
    assert_eq!(id.trim().len(), 36, "{id}");
    let reply = world.ok("reply 3 hi --as bob");
    assert!(reply.starts_with("sent #5 to alice\n"), "{reply}");
}

#[test]
fn a_sender_learns_when_a_message_is_announced_later_or_not_at_all() {
    // P443
    let world = World::alice_and_bob();
    let event = |name: &str| {
        let event = json!({"hook_event_name": name, "session_id": "b", "cwd": world.path()});
        let ran = world.pipe("hook claude --as bob", event.to_string());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.out
    };
    event("SessionStart");
    event("UserPromptSubmit");
    let mut reached = BTreeMap::new();
    for _ in 0..24 {
        let sent = world.json("send bob 'are you done?' --as alice");
        let reach = sent["recipients"][0]["reach"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let is_announced = event("PostToolUse").contains("are you done?");
        assert_eq!(is_announced, reach == "working", "{sent}");
        assert_eq!(
            sent["recipients"][0]["at"].is_string(),
            reach == "announced_later"
        );
        *reached.entry(reach).or_insert(0) += 1;
    }
    assert!(
        reached["working"] > 0 && reached["announced_later"] > 0,
        "{reached:?}"
    );
    for words in [
        ["send", "bob", "aside", "--priority", "low"],
        ["send", "alice", "note", "--type", "message"],
    ] {
        let sent = world.json(&[&words[..], &["--as", "alice"]].concat());
        let reach = sent["recipients"][0]["reach"].clone();
        assert!(reach == "not_announced" || words[1] == "alice", "{sent}");
    }
    assert!(!event("PostToolUse").contains("aside"));
}
