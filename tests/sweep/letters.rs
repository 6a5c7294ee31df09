//! The mail of a sweep: a hundred letters with their recipients, and the check of a delivered copy.

use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The agents of the room, with roles. The room has the human as well, but these lists do not.
pub(crate) const AGENTS: [(&str, Option<&str>); 8] = [
    ("alice", Some("writer")),
    ("bob", Some("writer")),
    ("agent_engineer_1_abc", Some("engineer")),
    ("agent_engineer_2_def", Some("engineer")),
    ("agent_engineer_3_ghi", Some("engineer")),
    ("rita", Some("reviewer")),
    ("rolf", Some("reviewer")),
    ("carl", None),
];
/// The agent that joins while mail is in transit, if a sweep wants that.
pub(crate) const LATE: &str = "late";
/// The final name of that agent, if a sweep wants that.
pub(crate) const HEIR: &str = "heir";
/// Letters come in this many waves after the first, which waits when the router starts.
pub(crate) const WAVES: usize = 4;
const LETTERS: usize = 100;
/// A letter is a milestone if its number ends with this digit. The worklog shows milestones.
const MILESTONE: usize = 9;
/// The subject of some claims.
const LANE: &str = "lane:sweep";
/// The agent that drops all its mail for a wave as one file with one message per line.
pub(crate) const WRITER_OF_LINES: &str = "rita";

/// The same numbers for the same seed, on every machine (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    fn agent(&mut self) -> &'static str {
        AGENTS[self.below(AGENTS.len())].0
    }
}

/// One file that a sender drops.
#[derive(Debug, Clone)]
pub(crate) struct Letter {
    /// A text that identifies the letter, even if it has no id.
    pub(crate) token: String,
    pub(crate) sender: &'static str,
    /// The name of its dropped file. Some names are used repeatedly.
    pub(crate) file: String,
    pub(crate) bytes: Vec<u8>,
    /// The agents that must get it once. Empty for a letter that was dropped before.
    pub(crate) recipients: BTreeSet<&'static str>,
    /// Its wave; 0 exists from the start.
    pub(crate) wave: usize,
    /// It stands in the file of another letter, as one of its lines.
    pub(crate) rides: bool,
    /// The message as it was written.
    message: Value,
}

/// A hundred letters with about two hundred copies, the last ones joined by some of the first, which come again.
/// From the wave `late` on, some go to the newcomer.
pub(crate) fn letters(seed: u64, late: Option<usize>) -> Vec<Letter> {
    let mut random = Random(seed);
    let mut letters: Vec<Letter> = (0..LETTERS).map(|n| letter(n, &mut random, late)).collect();
    let again = letters.iter().step_by(4).filter(|letter| letter.message["id"].is_string());
    let again: Vec<Letter> = again
        .map(|letter| Letter {
            file: format!("again-{}", letter.file),
            recipients: BTreeSet::new(),
            wave: (letter.wave + 1 + random.below(2)).min(WAVES),
            ..letter.clone()
        })
        .collect();
    for wave in 0..=WAVES {
        bundle(&mut letters, wave);
    }
    letters.extend(again);
    letters
}

/// The first seed, from this one on, with several lines in the files of lines of every wave.
pub(crate) fn seed_with_lines(from: u64) -> u64 {
    let several = |seed: &u64| {
        let letters = letters(*seed, None);
        let lines = |wave| letters.iter().filter(|l| l.sender == WRITER_OF_LINES && l.wave == wave && l.file.contains("lines")).count();
        let riding = |wave| letters.iter().filter(|l| l.rides && l.wave == wave).count();
        (0..=WAVES).all(|wave| lines(wave) > 0 && riding(wave) > 1)
    };
    (from..).find(several).expect("there are many seeds")
}

/// Puts all letters of one sender in a wave into one file.
fn bundle(letters: &mut [Letter], wave: usize) {
    let mut of_wave: Vec<&mut Letter> =
        letters.iter_mut().filter(|letter| letter.sender == WRITER_OF_LINES && letter.wave == wave).collect();
    let lines: String = of_wave.iter().map(|letter| format!("{}\n", letter.message)).collect();
    let Some((first, others)) = of_wave.split_first_mut() else { return };
    (first.file, first.bytes) = (format!("lines-{wave}.ndjson"), lines.into_bytes());
    others.iter_mut().for_each(|letter| letter.rides = true);
}

fn letter(n: usize, random: &mut Random, late: Option<usize>) -> Letter {
    let sender = random.agent();
    let wave = (n * (WAVES + 2) / LETTERS).saturating_sub(1);
    let to = address(n, random, late.is_some_and(|late| wave >= late));
    // Without `all` it does not matter to a letter whether the newcomer was there yet.
    let to = if late.is_some() && to == "all" { json!("all_engineers") } else { to };
    let token = format!("token-{n:03}");
    let body = format!("Letter {n}: \"quotes\"\n{{braces}} and käse 🧀. ").repeat(1 + random.below(40));
    let mut message = json!({"to": to, "subject": format!("No. {n}"), "body": body, "metadata": {"token": token}});
    // A letter without an id gets a new id whenever it is picked up, so only the pickup prevents two letters.
    if n % 5 != 3 {
        message["id"] = json!(format!("m-{n:03}"));
    }
    if n % 7 == 1 {
        message["from"] = json!(sender);
    }
    // Some are claims, too, all of them for the same lane: the first agent owns it, and the others wait.
    // A file of lines with claims is not routed in several batches.
    let claims = n % 10 == 2 && sender != WRITER_OF_LINES;
    if claims {
        (message["type"], message["claims"], message["wait"]) = (json!("claim"), json!([LANE]), json!(true));
    }
    let reached: Vec<_> = addresses(&to).flat_map(|to| reached(sender, to)).collect();
    // Some ask for a decision with a deadline after the end of the sweep.
    if n % 10 == 3 && sender != WRITER_OF_LINES && reached.iter().any(|agent| *agent != sender) {
        (message["type"], message["deadline"]) = (json!("approval"), json!("30d"));
    }
    if n % 10 == MILESTONE {
        message["type"] = json!("milestone");
    }
    let bytes = if n.is_multiple_of(2) { serde_json::to_vec_pretty(&message) } else { serde_json::to_vec(&message) };
    let file = if n % 9 == 4 { "next.json".to_owned() } else { format!("note-{n:03}.json") };
    let recipients = reached.into_iter().chain(claims.then_some(sender)).collect();
    let bytes = bytes.expect("plain JSON");
    Letter { token, sender, file, bytes, recipients, wave, rides: false, message }
}

fn address(n: usize, random: &mut Random, newcomer: bool) -> Value {
    match n % 20 {
        11 if newcomer => json!([LATE, "carl"]),
        14 if newcomer => json!(LATE),
        5 | 15 => json!("all_engineers"),
        6 => json!("all"),
        7 => json!("agent_engineer_*"),
        8 => json!(["@reviewers", "alice", "agent_engineer_1_abc"]),
        9 | 13 | 17 => json!([random.agent(), random.agent(), "carl"]),
        _ => json!(random.agent()),
    }
}

fn addresses(to: &Value) -> impl Iterator<Item = &str> {
    let several = to.as_array().into_iter().flatten();
    several.chain(Some(to)).filter_map(Value::as_str)
}

fn reached(sender: &str, to: &str) -> Vec<&'static str> {
    let others = AGENTS.iter().filter(|(id, _)| *id != sender);
    let role = |role: &str| others.clone().filter(|(_, r)| *r == Some(role)).map(|(id, _)| *id).collect();
    match to {
        "all" => others.clone().map(|(id, _)| *id).collect(),
        "all_engineers" | "agent_engineer_*" => role("engineer"),
        "@reviewers" => role("reviewer"),
        LATE => vec![LATE],
        id => AGENTS.iter().filter(|(agent, _)| *agent == id).map(|(id, _)| *id).collect(),
    }
}

impl Letter {
    /// Returns true if the worklog shows it.
    pub(crate) fn is_milestone(&self) -> bool {
        self.message["type"] == "milestone"
    }

    /// Its subject.
    pub(crate) fn subject(&self) -> String {
        self.message["subject"].as_str().unwrap_or_default().to_owned()
    }

    /// The error in the copy of `recipient`. `None` if the copy is right.
    pub(crate) fn wrong_with(&self, recipient: &str, copy: &Value) -> Option<String> {
        let wrong = |field: &str, wanted: &Value| {
            let got = &copy[field];
            (got != wanted).then(|| format!("{} for {recipient}: {field} is {got}, not {wanted}", self.token))
        };
        let given = self.message.as_object().into_iter().flatten();
        given
            .filter(|(field, _)| *field != "to")
            .find_map(|(field, value)| wrong(field, value))
            .or_else(|| wrong("to", &json!(recipient)))
            .or_else(|| wrong("from", &json!(self.sender)))
            .or_else(|| wrong("addressed_to", &self.message["to"]))
            .or_else(|| (!copy["delivery"]["seq"].is_number()).then(|| format!("{} has no delivery.seq", self.token)))
    }
}

#[test]
fn a_hundred_letters_have_about_two_hundred_copies_and_come_in_all_waves() {
    for late in [None, Some(WAVES), Some(0)] {
        let letters = letters(1, late);
        let copies: usize = letters.iter().map(|letter| letter.recipients.len()).sum();
        assert!((160..=280).contains(&copies), "{copies}");
        assert_eq!(letters.iter().filter(|letter| !letter.recipients.is_empty()).count(), LETTERS);
        assert!(letters.iter().filter(|letter| letter.rides).count() > 3, "some letters share a file");
        assert!(letters.len() > LETTERS + 15, "{} files", letters.len());
        let waves: BTreeSet<usize> = letters.iter().map(|letter| letter.wave).collect();
        assert_eq!(waves, (0..=WAVES).collect());
        assert_eq!(letters.iter().any(|letter| letter.recipients.contains(LATE)), late.is_some());
    }
}
