//! Fuzz target: whole outboxes. One pass moves every file to its place: routed, rejected with a
//! reason, or kept with a reason. No file is lost, and a second pass has no work.
//!
//! An ack that refers to an unknown message needs a search of the whole log. On a busy machine, a pass can put such
//! searches off, so the ack stays in `spool/claim/`, with a reason in `status`.

use super::place::Place;
use mailbag::disk::{self, ReadLeaseResult, layout};
use mailbag::message::schema::{self, ParsedFile};
use mailbag::query::{status, verify};
use mailbag::router::daemon::{self, PassResult, RouterTotals};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const REGISTRY: &str = r#"{"agents": [
    {"id": "alice", "role": "lead"}, {"id": "bob", "role": "engineer", "name": "Sintra", "topics": ["news"]},
    {"id": "agent_engineer_1_abc123", "role": "engineer", "capabilities": ["web"]}, {"id": "old", "status": "retired"}],
  "aliases": {"owner": "cap:web"}}"#;
/// Three active agents, a retired one, and an unregistered one.
const AGENTS: [&str; 5] = ["alice", "bob", "agent_engineer_1_abc123", "old", "stranger"];
/// The separator of two files: not valid in UTF-8.
const BETWEEN: u8 = 0xff;
/// The most files, so that an input takes milliseconds.
const MOST: usize = 24;
/// An unfinished file is rejected after two seconds without a change; a slow machine may need this
/// time for the first pass.
const AT_ONCE: Duration = Duration::from_secs(1);
/// The limit of a copy: a factor for the sent bytes, and a constant. The first levels are indented.
const GROWTH: (usize, usize) = (8, 4096);

/// Files with 0xff between them. The first byte gives the owner and the kind, then comes the name
/// up to a newline, then the content.
pub(crate) fn run(bytes: &[u8]) {
    let place = Place::new(REGISTRY);
    let begun = Instant::now();
    let files: Vec<Dropped> = bytes
        .split(|byte| *byte == BETWEEN)
        .take(MOST)
        .filter_map(|file| drop_file(&place, file))
        .collect();
    let room = place.room();
    let first = routed(daemon::pass(&room));
    let before = everything(&place);
    all_accounted_for(&place, &files, &first);
    verify::verify(&room).expect("the log is whole");
    let is_done = children(&place.path("spool/claim")).is_empty();
    if is_done && begun.elapsed() < AT_ONCE {
        let again = routed(daemon::pass(&room));
        if begun.elapsed() < AT_ONCE {
            assert_eq!(
                (again.accepted, again.rejected, again.duplicates),
                (0, 0, 0),
                "the second pass had work"
            );
            assert_eq!(
                everything(&place),
                before,
                "the second pass changed something"
            );
        }
    }
}

/// A file that was dropped; no content where it is none.
struct Dropped {
    agent: &'static str,
    path: PathBuf,
    content: Option<Vec<u8>>,
}

fn drop_file(place: &Place, file: &[u8]) -> Option<Dropped> {
    let (head, rest) = file.split_first()?;
    let at = rest
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(rest.len());
    let (name, content) = (&rest[..at], rest.get(at + 1..).unwrap_or_default());
    let agent = AGENTS[usize::from(*head) % AGENTS.len()];
    let is_name = !name.is_empty()
        && name.len() <= 255
        && name != b"."
        && name != b".."
        && !name.contains(&b'/');
    let outbox = place.path("outbox").join(agent);
    let path = outbox.join(OsStr::from_bytes(name));
    if !is_name || name.contains(&0) || path.symlink_metadata().is_ok() {
        return None;
    }
    fs::create_dir_all(&outbox).expect("a directory");
    let elsewhere = place.path("elsewhere");
    let plain = match *head / 5 % 16 {
        0 => fs::create_dir(&path).map(|()| false),
        1 => std::os::unix::fs::symlink(place.path("registry.json"), &path).map(|()| false),
        2 => std::os::unix::fs::symlink("nowhere", &path).map(|()| false),
        3 => fs::write(&elsewhere, content)
            .and_then(|()| fs::hard_link(&elsewhere, &path))
            .map(|()| true),
        _ => fs::write(&path, content).map(|()| true),
    };
    let content = plain.expect("a file").then(|| content.to_vec());
    content.iter().for_each(|_| let_go(&path));
    Some(Dropped {
        agent,
        path,
        content,
    })
}

/// Waits until no process holds the file open. A program that another thread starts holds all files
/// of this process open for a moment, and the router skips open files.
pub(crate) fn let_go(path: &Path) {
    let begun = Instant::now();
    while fs::File::open(path).is_ok_and(|file| {
        disk::File::from(std::os::fd::OwnedFd::from(file)).lease() == ReadLeaseResult::Writer
    }) {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "somebody holds {} open",
            path.display()
        );
        std::thread::yield_now();
    }
}

fn routed(passed: mailbag::base::error::Result<PassResult>) -> RouterTotals {
    match passed {
        Ok(PassResult::Routed(tally)) => tally,
        other => panic!("a pass ended as {other:?}"),
    }
}

fn all_accounted_for(place: &Place, files: &[Dropped], tally: &RouterTotals) {
    let status = status::status(&place.room()).expect("how the room stands");
    let mut gone: BTreeMap<&str, Vec<&Option<Vec<u8>>>> = BTreeMap::new();
    for Dropped {
        agent,
        path,
        content,
    } in files
    {
        if path.symlink_metadata().is_err() {
            gone.entry(agent).or_default().push(content);
            continue;
        }
        let name = path.file_name().expect("it has a name");
        let shown = format!("outbox/{agent}/{}", name.to_string_lossy());
        let turned_away = format!("outbox/{agent}");
        let has_reason = !layout::is_message_file(name)
            || status.blocked.iter().any(|one| {
                (one.path == shown || one.path == turned_away) && !one.reason.is_empty()
            });
        assert!(
            has_reason,
            "{shown} waits without a reason: {:?}",
            status.blocked
        );
    }
    let claims = children(&place.path("spool/claim"));
    for claim in &claims {
        let is_explained = status.blocked.iter().any(|one| {
            claim.ends_with(&one.path) && one.reason.contains("search of the whole log")
        });
        assert!(
            is_explained,
            "{} waits without a reason: {:?}",
            claim.display(),
            status.blocked
        );
    }
    let (mut originals, mut refused) = (0, 0);
    for agent in AGENTS {
        let mut wanted: Vec<_> = gone.remove(agent).unwrap_or_default();
        originals += wanted.len();
        let is_own = |claim: &&PathBuf| {
            let name = claim.file_name().expect("it has a name").to_string_lossy();
            layout::read_claim(&name).is_some_and(|name| name.agent == agent)
        };
        for path in claims.iter().filter(is_own) {
            taken_off(&mut wanted, path);
            originals -= 1;
        }
        for path in children(&place.path("sent").join(agent)) {
            taken_off(&mut wanted, &path);
        }
        for path in children(&place.path("rejected").join(agent)) {
            if path.to_string_lossy().ends_with(".error.json") {
                refused += 1;
                says_why(&path);
            } else {
                taken_off(&mut wanted, &path);
            }
        }
        assert!(
            wanted.is_empty(),
            "{} of the files of {agent} are lost",
            wanted.len()
        );
    }
    assert_eq!(
        originals as u64,
        tally.accepted + tally.rejected + tally.duplicates,
        "{tally:?}"
    );
    assert_eq!(refused, tally.rejected, "an explanation for each refusal");
    let left = children(&place.path("spool/stage"));
    assert_eq!(left, Vec::<PathBuf>::new(), "left over");
    let sent: usize = files
        .iter()
        .filter_map(|file| file.content.as_ref())
        .map(Vec::len)
        .max()
        .unwrap_or_default();
    copies_are_whole(place, sent);
}

// Each original is unchanged in its final place.
fn taken_off(wanted: &mut Vec<&Option<Vec<u8>>>, path: &Path) {
    let kept = path
        .symlink_metadata()
        .expect("it is there")
        .is_file()
        .then(|| fs::read(path).expect("a file"));
    let at = wanted.iter().position(|content| **content == kept);
    wanted.swap_remove(at.unwrap_or_else(|| panic!("{} is no original", path.display())));
}

fn says_why(path: &Path) {
    let explained =
        serde_json::from_slice::<Value>(&fs::read(path).expect("a file")).expect("JSON");
    let problems = explained["problems"].as_array().expect("a list");
    assert!(
        !problems.is_empty()
            && problems.iter().all(|problem| ["code", "what", "fix"]
                .iter()
                .all(|word| problem[word].as_str() > Some(""))),
        "{explained:#}"
    );
}

fn copies_are_whole(place: &Place, sent: usize) {
    for inbox in children(&place.path("inbox")) {
        let owner = inbox
            .file_name()
            .expect("it has a name")
            .to_string_lossy()
            .into_owned();
        for path in children(&inbox).into_iter().filter(|path| path.is_file()) {
            let bytes = fs::read(&path).expect("a file");
            let ParsedFile::Value(copy) = schema::parse(&bytes) else {
                panic!("{} doesn't read back", path.display())
            };
            assert_eq!(copy["to"], *owner, "{}", path.display());
            assert!(
                copy["delivery"]["seq"].is_number() && copy["from"].is_string(),
                "{copy:#}"
            );
            if copy["from"] != "mailbag" {
                let most = sent * GROWTH.0 + GROWTH.1;
                assert!(
                    bytes.len() <= most,
                    "a copy of {} bytes of at most {sent}",
                    bytes.len()
                );
            }
        }
    }
}

fn children(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Every file outside of the spool, with its content.
fn everything(place: &Place) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    let mut open = children(&place.path(""));
    while let Some(path) = open.pop() {
        let kind = path.symlink_metadata().expect("it is there").file_type();
        if kind.is_dir() && !path.ends_with("spool") {
            open.extend(children(&path));
        }
        let content = kind.is_file().then(|| fs::read(&path).expect("a file"));
        all.insert(path, content);
    }
    all
}
