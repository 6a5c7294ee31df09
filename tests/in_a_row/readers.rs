//! Every command that reads sees a file that was dropped directly before it.

use super::{Place, Routes};
use crate::files;

/// A dropped file, and a command that must see it although it starts directly afterwards. `N` is replaced by a number.
struct Reader {
    sender: &'static str,
    dropped: &'static str,
    read: &'static str,
    shown: &'static str,
}

/// A dropped message of alice to bob.
const fn of_mail(read: &'static str, shown: &'static str) -> Reader {
    Reader {
        sender: "alice",
        dropped: r#"{"id":"id-N","to":"bob","type":"question","requires_response":true,"thread_id":"t-N","body":"word-N"}"#,
        read,
        shown,
    }
}

const fn of(dropped: &'static str, read: &'static str, shown: &'static str) -> Reader {
    Reader {
        sender: "alice",
        dropped,
        read,
        shown,
    }
}

const CLAIM: &str = r#"{"to":"bob","type":"claim","claims":["src/N"],"body":"mine"}"#;
const MILESTONE: &str = r#"{"to":"bob","type":"milestone","body":"word-N"}"#;
const INVALID: &str = r#"{"to":"word-N","body":"x"}"#;

/// Every command that shows or judges messages.
const READERS: &[Reader] = &[
    of_mail("inbox bob", "word-N"),
    of_mail("read id-N --as bob", "word-N"),
    of_mail("wait --as bob --thread t-N --timeout 1s", "word-N"),
    of_mail("list --as bob", "word-N"),
    of_mail("search word-N --as bob", "word-N"),
    of_mail("thread t-N --as bob", "word-N"),
    of_mail("trace id-N --as alice", "bob: delivered"),
    of_mail("pending --as bob --json", "word-N"),
    of_mail("context --as bob", "word-"),
    of_mail("list --channel main", "word-N"),
    of_mail("who --json", "\"bob\""),
    of_mail("channel roster main", "bob"),
    of_mail("reply id-N yes --as bob", "sent #"),
    of_mail("ack id-N --as bob", "from alice is acknowledged"),
    of_mail("ask alice which? --as bob --timeout 50ms", ""),
    of_mail("dismiss id-N --as bob", ""),
    of(MILESTONE, "list --events", "word-N"),
    of(CLAIM, "claims", "src/N"),
    of(CLAIM, "release src/N --as alice", ""),
    of(INVALID, "rejected", "word-N"),
    of(INVALID, "rejected show N.json", "word-N"),
];

/// Commands that only show the room: they deliver nothing themselves.
const OBSERVERS: &[&str] = &["status", "doctor", "log verify", "log head"];

#[test]
fn every_reader_sees_a_file_that_was_dropped_directly_before_it() {
    // P256, P530
    for routes in [
        Routes::Commands,
        Routes::Daemon,
        Routes::Server,
        Routes::Poller,
    ] {
        let place = Place::new(routes);
        for (n, reader) in READERS.iter().enumerate() {
            let fill = |text: &str| text.replace('N', &n.to_string());
            let file = place
                .town
                .room(&format!("outbox/{}/{n}.json", reader.sender));
            files::write(file, fill(reader.dropped));
            let ran = place.ran(&fill(reader.read));
            let is_timeout = reader.read.starts_with("ask");
            assert!(
                (ran.code == 0 || is_timeout) && ran.out.contains(&fill(reader.shown)),
                "{} with {routes:?}: {ran:?}",
                fill(reader.read)
            );
            assert_eq!(
                place.town.status()["waiting"],
                serde_json::json!([]),
                "{}",
                reader.read
            );
        }
    }
}

#[test]
fn an_observer_asks_a_router_and_delivers_nothing_without_one() {
    // P530
    for routes in [Routes::Commands, Routes::Daemon, Routes::Poller] {
        let place = Place::new(routes);
        for (n, reader) in OBSERVERS.iter().enumerate() {
            let file = place.town.room(&format!("outbox/alice/{n}.json"));
            files::write(&file, r#"{"to":"bob","body":"x"}"#);
            place.ran(reader);
            let is_routed = routes != Routes::Commands;
            assert_eq!(file.exists(), !is_routed, "{reader} with {routes:?}");
        }
    }
}

/// Commands that show no message of the room, commands that write or deliver, and commands in the table of pairs.
const NO_READERS: &[&str] = &[
    "agent",
    "decide",
    "handoff",
    "archive",
    "backup",
    "claim",
    "demo",
    "exec",
    "generate",
    "help",
    "hook",
    "init",
    "install",
    "join",
    "link",
    "mcp",
    "message",
    "run",
    "send",
    "settings",
    "share",
    "trust",
    "uninstall",
    "up",
    "watch",
    "web",
];

#[test]
fn the_tables_of_readers_have_every_command() {
    for command in mailbag::cli::command().get_subcommands() {
        let name = command.get_name();
        let reads = READERS
            .iter()
            .map(|reader| reader.read)
            .chain(OBSERVERS.iter().copied());
        let is_reader = reads
            .into_iter()
            .any(|read| read.split(' ').next() == Some(name));
        assert_ne!(
            is_reader,
            NO_READERS.contains(&name),
            "{name}: add it to one of the tables"
        );
    }
}
