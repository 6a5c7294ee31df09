//! The room at the end of a story, and the rules for any room without waiting work.

use super::kept;
use super::outcomes::{outcomes, stable};
use super::story::{Play, Story, counts};
use crate::sim::Node;
use mailbag::Room;
use mailbag::disk::layout;
use mailbag::query::verify::verify;
use mailbag::router::daemon::pass;
use regex::Regex;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Files that are written again from the log, below a room.
const DERIVED: [&str; 6] = [
    "channels",
    "roster.json",
    "claims.json",
    "pending.json",
    "MAILBOX.md",
    "queue",
];

/// The number of times that each thing is there. It must be the same with and without a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ending(BTreeMap<String, usize>);

impl Ending {
    /// The differences from the ending without a crash.
    pub(crate) fn differences(&self, without: &Ending) -> Vec<String> {
        let all: BTreeSet<&String> = self.0.keys().chain(without.0.keys()).collect();
        let times = |ending: &Ending, what| ending.0.get(what).copied().unwrap_or_default();
        let differences = all.into_iter().filter_map(|what| {
            let (now, then) = (times(self, what), times(without, what));
            (now != then)
                .then(|| format!("{what}: {now} times, and {then} times without the crash"))
        });
        differences.collect()
    }
}

/// Lets mailbag finish its work, and describes the ending. An error is everything that is wrong.
pub(crate) fn end(story: &Story, play: &mut Play) -> Result<Ending, Vec<String>> {
    let mut wrong = Vec::new();
    // Mail of a linked room comes back in a later pass.
    for _ in 0..story.rooms.len() * 2 {
        for (room, _) in &story.rooms {
            let passed =
                play.as_process(|| Room::open(Path::new(room)).and_then(|room| pass(&room)));
            if let Err(e) = passed {
                wrong.push(format!("a pass at the end failed: {e}"));
            }
        }
    }
    let mut things = Vec::new();
    for (room, _) in &story.rooms {
        let room = Path::new(room);
        let tree = play.machine.tree(room);
        match kept::with_archived(room, &tree) {
            Ok(all) => things.extend(mail(room, &all)),
            Err(e) => wrong.push(e),
        }
        things.extend(kept::others(room, &tree));
        things.extend(derived(room, &tree));
        let told = outcomes(play, room);
        things.extend(told.things);
        wrong.extend(told.wrong);
        wrong.extend(left_over(room, &tree));
        wrong.extend(log(play, room, &tree));
        wrong.extend(rewritten(play, room));
    }
    match kept::outside(play) {
        Ok(outside) => things.extend(outside),
        Err(e) => wrong.push(e),
    }
    things.extend(
        play.taken
            .iter()
            .map(|(inbox, bytes)| format!("{inbox}: {}", name_of(bytes))),
    );
    if wrong.is_empty() {
        Ok(Ending(counts(things)))
    } else {
        Err(wrong)
    }
}

pub(crate) type Tree = BTreeMap<PathBuf, Node>;

pub(crate) fn files(tree: &Tree, below: impl AsRef<Path>) -> impl Iterator<Item = (&Path, &[u8])> {
    let nodes = tree
        .iter()
        .filter(move |(path, _)| path.starts_with(&below));
    nodes.filter_map(|(path, node)| match node {
        Node::File(bytes) => Some((path.as_path(), bytes.as_slice())),
        _ => None,
    })
}

/// Copies in inboxes, originals, and rejected files.
pub(crate) fn mail(room: &Path, tree: &Tree) -> Vec<String> {
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let label = room
        .strip_prefix("/home")
        .unwrap_or(room)
        .display()
        .to_string();
    let mut things = Vec::new();
    for (path, bytes) in
        files(tree, room.join("inbox")).filter(|(path, _)| !name(path).starts_with('.'))
    {
        let below = path.strip_prefix(room.join("inbox")).expect("it is below");
        let agent = below
            .iter()
            .next()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        things.push(format!("{label}/inbox/{agent}: {}", name_of(bytes)));
    }
    for (path, bytes) in files(tree, room.join("sent")) {
        let agent = name(path.parent().expect("it is in a directory"));
        let name = name(path);
        let subject = subject_of(bytes);
        let original = match (&subject, name.split_once('~')) {
            (Some(subject), _) => subject,
            (None, Some((_, original))) => original,
            (None, None) => &name,
        };
        things.push(stable(&format!("{label}: {agent} sent {original}")));
    }
    for (path, _) in files(tree, room.join("rejected")) {
        let below = path.strip_prefix(room).expect("it is below");
        things.push(stable(&format!("{label}: {}", below.display())));
    }
    things
}

/// The subject of a message, which names it where a command chose its id.
fn subject_of(message: &[u8]) -> Option<String> {
    let message: Value = serde_json::from_slice(message).ok()?;
    Some(message["subject"].as_str()?.to_owned())
}

/// A message is known by its subject, or else by its id.
fn name_of(copy: &[u8]) -> String {
    let Ok(mail) = serde_json::from_slice::<Value>(copy) else {
        return format!("damaged: {:?}", String::from_utf8_lossy(copy));
    };
    let text = |field: &str| mail[field].as_str().unwrap_or_default().to_owned();
    if text("from").ends_with("mailbag") {
        stable(&format!("from mailbag: {}", text("subject")))
    } else {
        let name = subject_of(copy).unwrap_or_else(|| text("id"));
        let attached: Vec<String> = mail["attachments"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|attachment| format!(" with {}", attachment["content"]))
            .collect();
        stable(&format!(
            "{name} from {}{}",
            text("from"),
            attached.concat()
        ))
    }
}

/// Claims, and questions for the person.
fn derived(room: &Path, tree: &Tree) -> Vec<String> {
    let json = |name: &str| match tree.get(&room.join(name)) {
        Some(Node::File(bytes)) => serde_json::from_slice(bytes).unwrap_or_default(),
        _ => Value::Null,
    };
    let mut things = Vec::new();
    for claim in json("claims.json")["claims"]
        .as_array()
        .into_iter()
        .flatten()
    {
        things.push(format!("{} owns {}", claim["owner"], claim["subject"]));
    }
    for offer in json("claims.json")["offers"]
        .as_array()
        .into_iter()
        .flatten()
    {
        things.push(format!("{} is offered", offer["offer"]));
    }
    for (agent, items) in json("pending.json")["pending"]
        .as_object()
        .into_iter()
        .flatten()
    {
        things.extend(items.as_array().into_iter().flatten().map(|item| {
            let (kind, title) = (&item["kind"], &item["title"]);
            stable(&format!("{agent} has to see to the {kind} {title}"))
        }));
    }
    things
}

/// Files that should have gone somewhere.
fn left_over(room: &Path, tree: &Tree) -> Vec<String> {
    let places = ["outbox", "spool/claim", "spool/stage"];
    let waiting = places.iter().flat_map(|place| {
        files(tree, room.join(place))
            .map(|(path, _)| path)
            .collect::<Vec<_>>()
    });
    // Both sides of a link have confirmed everything.
    let items = files(tree, room.join("links"))
        .map(|(path, _)| path)
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(|first: char| first.is_ascii_digit())
        });
    let drafts = files(tree, room).map(|(path, _)| path).filter(|path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().ends_with(".tmp"))
    });
    // Only a person removes the draft of a killed command from an outbox.
    let is_begun = |path: &&Path| {
        path.file_name().is_some_and(|name| {
            layout::is_unsent(name) || name.to_str().is_some_and(layout::is_command_draft)
        })
    };
    waiting
        .chain(items)
        .chain(drafts)
        .filter(|path| !is_begun(path))
        .map(|path| format!("left over: {}", path.display()))
        .collect()
}

/// The log is whole, and its numbers follow each other.
fn log(play: &mut Play, room: &Path, tree: &Tree) -> Vec<String> {
    let mut wrong = Vec::new();
    let verified = play.as_process(|| Room::open(room).and_then(|room| verify(&room)));
    if let Err(e) = verified {
        wrong.push(format!("the log is damaged: {e}"));
    }
    let lines =
        files(tree, room.join("log")).flat_map(|(_, bytes)| bytes.split(|byte| *byte == b'\n'));
    let numbers: Vec<u64> = lines
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok()?["seq"].as_u64())
        .collect();
    if !numbers.windows(2).all(|pair| pair[1] == pair[0] + 1) {
        wrong.push(format!("the numbers of the log are {numbers:?}"));
    }
    wrong
}

/// Derived files agree with the log: after one more message, they are the same as if the router had found none.
fn rewritten(play: &Play, room: &Path) -> Vec<String> {
    let derived = |play: &Play| -> BTreeMap<PathBuf, String> {
        let beside = room.with_file_name("WORKLOG.md");
        let below = DERIVED.iter().map(|name| room.join(name));
        let tree = play.machine.tree(room.parent().unwrap_or(room));
        let all = below.chain([beside]).flat_map(|path| {
            let found = files(&tree, path).filter(|(path, _)| !is_kept_aside(path));
            found
                .map(|(path, bytes)| (path.to_owned(), plain(bytes)))
                .collect::<Vec<_>>()
        });
        all.collect()
    };
    let (mut with, mut without) = (play.clone(), play.clone());
    for path in derived(play).into_keys() {
        without.machine.remove(path);
    }
    let mut wrong = Vec::new();
    for play in [&mut with, &mut without] {
        play.machine.write(
            room.join("outbox/human/last.json"),
            r#"{"id": "last", "to": "human", "body": "last"}"#,
        );
        let passed = play.as_process(|| Room::open(room).and_then(|room| pass(&room)));
        wrong.extend(
            passed
                .err()
                .map(|e| format!("a pass over derived files failed: {e}")),
        );
    }
    let (with, without) = (derived(&with), derived(&without));
    for path in with.keys().chain(without.keys()).collect::<BTreeSet<_>>() {
        let (with, without) = (with.get(path), without.get(path));
        if with != without {
            let text = |found: Option<&String>| {
                found.map_or("missing".to_owned(), |text| format!("\n{text}"))
            };
            let (with, without) = (text(with), text(without));
            wrong.push(format!(
                "{} is {with}\nand written again it is {without}",
                path.display()
            ));
        }
    }
    wrong
}

fn is_kept_aside(path: &Path) -> bool {
    path.to_string_lossy().contains(".kept-")
}

/// The content of a file without the time of its writing, the last record and the check.
fn plain(bytes: &[u8]) -> String {
    static TIME: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[0-9-]{10}T[0-9:]{8}(\.[0-9]+)?Z").expect("a pattern"));
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if let Ok(Value::Object(mut fields)) = serde_json::from_slice(bytes) {
        fields.retain(|name, _| !["seq", "last", "end", "hash", "check"].contains(&&**name));
        text = Value::Object(fields).to_string();
    }
    let lines = text.lines().filter(|line| !line.contains(" Check: "));
    let text: Vec<_> = lines.map(|line| TIME.replace_all(line, "TIME")).collect();
    text.join("\n")
}
