//! The inputs that fuzzing begins with, made of the fixtures.

use crate::files;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// An input: its name and its bytes.
pub(super) type Seed = (String, Vec<u8>);

/// Files larger than this teach a fuzzer nothing that smaller ones don't.
const LARGEST: usize = 16 << 10;

/// The inputs of a target.
pub(super) fn of(target: &str) -> Vec<Seed> {
    let mut seeds = match target {
        "message" => messages(),
        "registry" => registries(),
        "address" => addresses(),
        "log" => logs(),
        "outbox" => outboxes(),
        "settings" => settings(),
        other => panic!("no target {other}"),
    };
    seeds.retain(|(_, bytes)| bytes.len() <= LARGEST);
    seeds
}

/// Writes all inputs, with a directory for each target.
pub(super) fn write(below: &Path, targets: &[&str]) {
    for target in targets {
        let directory = below.join(target);
        files::make_dir(&directory);
        for (name, bytes) in of(target) {
            files::write(directory.join(name), bytes);
        }
    }
}

fn files(below: &str) -> Vec<Seed> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(below);
    let entries =
        fs::read_dir(&directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    let mut files: Vec<Seed> = entries
        .flatten()
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                entry.path(),
            )
        })
        .filter(|(name, path)| path.is_file() && !name.ends_with(".expected.json"))
        .map(|(name, path)| (name, files::read(path)))
        .collect();
    files.sort();
    files
}

fn messages() -> Vec<Seed> {
    [files("messages/valid"), files("messages/invalid")].concat()
}

fn cases() -> impl Iterator<Item = (String, Value)> {
    files("addresses")
        .into_iter()
        .map(|(name, bytes)| (name, serde_json::from_slice(&bytes).expect("a case")))
}

fn registries() -> Vec<Seed> {
    let text = |value: &Value| serde_json::to_vec(value).expect("JSON prints");
    let mut seeds: Vec<Seed> = cases()
        .map(|(name, case)| (name, text(&case["registry"])))
        .collect();
    seeds.sort_by(|a, b| a.1.cmp(&b.1));
    seeds.dedup_by(|a, b| a.1 == b.1);
    seeds.extend(
        files("rooms/v1")
            .into_iter()
            .filter(|(name, _)| name == "registry.json"),
    );
    let more = [
        r#"{"version":1,"note":"kept","agents":[{"id":"a","name":"Sintra","instance":1,"supervisor":"human"}]}"#,
        r#"{"agents":[{"id":"a","status":"bussy"},{"id":"A"},{"id":"all"},7],"aliases":{"x":[],"a":"b"}}"#,
        "{\"agents\": [\n{\"id\": \"a\"",
    ];
    seeds.extend(
        more.iter()
            .enumerate()
            .map(|(n, text)| (format!("more-{n}"), text.as_bytes().to_vec())),
    );
    seeds
}

fn addresses() -> Vec<Seed> {
    let one = |(n, (name, case)): (usize, (String, Value))| {
        let addresses: Vec<&str> = case["addresses"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        (name, [&[n as u8], addresses.join("\n").as_bytes()].concat())
    };
    cases().enumerate().map(one).collect()
}

fn logs() -> Vec<Seed> {
    let edits: [(&str, &[u8]); 10] = [
        ("untouched", &[0]),
        ("flipped", &[0, 0, 1, 0, 7]),
        ("cut", &[0, 1, 12, 0, 0]),
        ("hole", &[0, 2, 6, 0, 90]),
        ("inserted", &[0, 3, 5, 5, 5, b'h', b'e', b'l', b'l', b'o']),
        ("line-twice", &[0, 4, 0, 3, 2]),
        ("line-gone", &[0, 5, 0, 0, 4]),
        ("forged", &[2, 0, 2, 2, 1]),
        ("forged-and-numbered", &[6, 5, 0, 0, 2]),
        ("two-segments", &[8, 0, 14, 2, 1]),
    ];
    let mut seeds: Vec<Seed> = edits
        .iter()
        .map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()))
        .collect();
    let (_, log) = files("rooms/v1/log").swap_remove(0);
    for how in [1, 3, 7, 9] {
        seeds.push((format!("itself-{how}"), [&[how], &*log].concat()));
    }
    let text = String::from_utf8_lossy(&log).replace("\"5~", &format!("\"{}~", u64::MAX));
    seeds.push(("largest-claim".to_owned(), [&[7], text.as_bytes()].concat()));
    seeds
}

fn outboxes() -> Vec<Seed> {
    // Owner and kind of the file: see the target.
    let head = |agent: u8, kind: u8| agent + 5 * kind;
    let file =
        |head: u8, name: &str, content: &[u8]| [&[head], name.as_bytes(), b"\n", content].concat();
    let fixtures = messages();
    let mut seeds: Vec<Seed> = fixtures
        .chunks(6)
        .enumerate()
        .map(|(n, some)| {
            let files = some
                .iter()
                .enumerate()
                .map(|(i, (name, content))| file(head(i as u8 % 3, 4), name, content));
            (
                format!("messages-{n}"),
                files.collect::<Vec<_>>().join(&0xff),
            )
        })
        .collect();
    let hi: &[u8] = br#"{"to":"bob","body":"hi"}"#;
    let known: &[u8] = br#"{"id":"m-1","to":["all","owner"],"body":"hi"}"#;
    let other: &[u8] = br#"{"id":"m-1","to":"any_engineer","body":"other"}"#;
    let topic: &[u8] = br##"{"to":"#news","body":"x"}"##;
    let (a, b) = (head(0, 4), head(1, 4));
    let odd = [
        (
            "kinds",
            (0..8)
                .map(|kind| file(head(0, kind), &format!("{kind}.json"), hi))
                .collect::<Vec<_>>(),
        ),
        (
            "agents",
            (0..5)
                .map(|agent| file(head(agent, 4), "x.json", hi))
                .collect(),
        ),
        (
            "ids",
            vec![
                file(a, "1.json", known),
                file(a, "2.json", known),
                file(a, "3.json", other),
                file(b, "1.json", known),
            ],
        ),
        (
            "names",
            vec![
                file(a, "x.txt", hi),
                file(a, ".x.json", hi),
                file(a, "1~alice~x.json", hi),
                file(a, ".json", hi),
            ],
        ),
        (
            "unfinished",
            vec![
                file(a, "x.json", b""),
                file(a, "y.json", b"{\"to\":"),
                file(a, "z.json", b"\xc3"),
            ],
        ),
        (
            "topic",
            vec![
                file(a, "1.json", br#"{"type":"subscribe","topic":"news"}"#),
                file(b, "2.json", topic),
            ],
        ),
    ];
    seeds.extend(
        odd.into_iter()
            .map(|(name, files)| (name.to_owned(), files.join(&0xff))),
    );
    seeds
}

fn settings() -> Vec<Seed> {
    let texts = [
        "tag = \"po\"\nadmission = \"open\"\ncontext = \"../shared\"\nmessage_bytes = 0x10_0000\n",
        "names = [\"Sintra\", \"Porto\"]\n",
        "\nadmision = \"open\"\ncontext = \"inbox/x\"\nmessage_bytes = 0\nnames = [\"a1\"]\n",
        "tag = \n",
        "[table]\nx = 1979-05-27T07:32:00Z\n[[list]]\n",
        "tag = '''x'''\ntag = \"\\u0041\"\n",
    ];
    texts
        .iter()
        .enumerate()
        .map(|(n, text)| (format!("{n}.toml"), text.as_bytes().to_vec()))
        .collect()
}
