//! A hostile room at the other end: a process that can write into `links/<tag>/in/` makes items of
//! any kind.

use super::{Rooms, bounced, records, set};
use crate::files;
use crate::world::{World, parse_json};
use mailbag::features::links::item::seal;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;

/// A room with an unserved link, and its incoming items.
pub(super) struct Prey {
    rooms: Rooms,
    pub(super) n: u64,
    prev: String,
}

impl Prey {
    pub(super) fn new() -> Prey {
        let rooms = Rooms::new();
        rooms.po.pass();
        Prey {
            rooms,
            n: 0,
            prev: "0".repeat(64),
        }
    }

    pub(super) fn po(&self) -> &World {
        &self.rooms.po
    }

    /// The next item, with these fields besides its number.
    pub(super) fn item(&self, fields: Value) -> String {
        let mut item = json!({"stream": "evil", "n": self.n + 1, "prev": self.prev, "seq": 1});
        item.as_object_mut()
            .expect("fields")
            .extend(fields.as_object().expect("fields").clone());
        seal(item.as_object().expect("fields").clone())
    }

    /// Puts an item there, and delivers.
    #[track_caller]
    fn put(&mut self, item: String) {
        let (po, next) = (self.po(), self.n + 1);
        po.write(&format!("links/fit/in/{next:012}.json"), &item);
        po.pass();
        if records(po)
            .iter()
            .any(|record| record["arrived"]["n"] == next)
        {
            self.follows(&item);
        }
    }

    /// The next item follows this one.
    pub(super) fn follows(&mut self, item: &str) {
        self.n += 1;
        let item = parse_json(item);
        self.prev = item["digest"].as_str().expect("a digest").to_owned();
    }

    #[track_caller]
    pub(super) fn message(&mut self, from: &str, to: Value, message: Value) {
        let item = self.item(json!({"from": from, "to": to, "message": message}));
        self.put(item);
    }

    /// A message of mallory to sintra.
    fn attack(&mut self, message: Value) {
        self.message("mallory", json!(["sintra"]), message);
    }

    /// This number of items was taken, and each was rejected.
    #[track_caller]
    pub(super) fn has_rejected(&self, count: usize) {
        let rejected = self.po().log("rejected").lines().count();
        assert_eq!((self.n, rejected), (count as u64, count));
    }
}

#[test]
fn a_far_sender_with_a_local_name_is_a_far_sender() {
    let mut prey = Prey::new();
    for from in ["human", "mailbag", "sintra", "bob"] {
        let message = json!({"id": format!("m-{from}"), "type": "message", "body": from});
        prey.message(from, json!(["sintra"]), message);
    }
    for mail in prey.po().inbox("sintra") {
        let from = format!("fit:{}", mail["body"].as_str().expect("a name"));
        assert_eq!(mail["from"], from);
    }
    assert_eq!(prey.n, 4);
    let shown = prey.po().ok("read --all --as sintra");
    assert!(
        !shown.contains("from: human") && !shown.contains("from: mailbag"),
        "{shown}"
    );
}

#[test]
fn a_room_rejects_messages_from_a_link_that_act_on_it() {
    let mut prey = Prey::new();
    prey.po().ok("claim src/** --as bob");
    let message = json!({"id": "m-1", "to": "sintra", "body": "x"});
    prey.po().route("bob", "m.json", message);
    let acts = [
        json!({"type": "ack", "refs": ["bob/m-1"], "status": "withdrawn"}),
        json!({"type": "claim", "claims": ["docs/**"]}),
        json!({"type": "release", "claims": "all", "of": "bob"}),
        json!({"type": "handoff", "claims": ["src/**"]}),
        json!({"type": "subscribe", "topic": "x"}),
        json!({"type": "link", "link": "fit", "action": "bounce"}),
        json!({"type": "approval", "subject": "Deploy?"}),
        json!({"type": "decision", "in_reply_to": "bob/m-1", "option": "yes"}),
    ];
    let claims = prey.po().json("claims");
    for (n, mut act) in acts.into_iter().enumerate() {
        act["id"] = json!(format!("e-{n}"));
        prey.attack(act);
    }
    prey.has_rejected(8);
    assert_eq!(prey.po().bodies("sintra"), ["x"]);
    assert_eq!(prey.po().json("claims")["claims"], claims["claims"]);
}

#[test]
fn no_type_of_the_router_or_the_person_comes_from_another_room() {
    // P207
    let mut prey = Prey::new();
    let kinds = [
        "decision",
        "error",
        "escalation",
        "milestone",
        "user",
        "escalation.requested",
        "decision.recorded",
    ];
    for kind in kinds {
        let message = json!({"id": format!("m-{kind}"), "type": kind, "body": "x", "metadata": {"approval": {"option": "yes"}}});
        prey.message("human", json!(["sintra"]), message);
    }
    prey.has_rejected(kinds.len());
    assert!(prey.po().inbox("sintra").is_empty());
    assert_eq!(prey.po().json("pending --as human")["items"], json!([]));
    // A bounce of the other router comes.
    let bounce = json!({"id": "bounce", "type": "error", "body": "x"});
    prey.message("mailbag", json!(["sintra"]), bounce);
    assert_eq!(prey.po().inbox("sintra")[0]["from"], "fit:mailbag");
}

#[test]
fn a_proposal_from_another_room_changes_no_disagreement() {
    // P139
    let mut prey = Prey::new();
    set(prey.po(), "escalation = { attempts = 1 }");
    for round in [1, 2] {
        for (from, kind) in [("eve", "proposal"), ("mallory", "objection")] {
            let id = format!("{kind}-{round}");
            let message = json!({"id": id, "type": kind, "body": "x", "thread_id": "t"});
            prey.message(from, json!(["sintra"]), message);
        }
    }
    assert_eq!(prey.po().inbox("sintra").len(), 4);
    assert!(prey.po().inbox("human").is_empty());
}

#[test]
fn invalid_names_from_a_link_are_rejected() {
    let mut prey = Prey::new();
    let before = prey.po().names("../");
    let message = json!({"id": "m", "type": "message", "body": "x"});
    for bad in [
        "../../x",
        "a/b",
        "fit:alice",
        "",
        "\u{1b}[2J",
        "a\nb",
        "..",
        ".",
        "x\u{202e}y",
        &"a".repeat(300),
    ] {
        prey.message(bad, json!(["sintra"]), message.clone());
        assert_eq!(prey.n, 0, "a sender of the form {bad:?}");
        let fields =
            json!({"stream": bad, "from": "mallory", "to": ["sintra"], "message": message});
        prey.put(prey.item(fields));
        assert_eq!(prey.n, 0, "a stream of the form {bad:?}");
    }
    for bad in ["../../x", "a/b", "", "\u{1b}[2J", "a\nb", "third:carol"] {
        let message = |id: &str| json!({"id": id, "type": "message", "body": "x"});
        let id = format!("t-{}", prey.n);
        prey.message("mallory", json!([bad]), message(&id));
        prey.attack(message(bad));
    }
    assert_eq!(prey.n, 12);
    assert!(prey.po().inbox("sintra").is_empty());
    assert_eq!(prey.po().names("../"), before);
}

#[test]
fn an_oversized_message_from_a_link_bounces_and_the_next_one_is_delivered() {
    let rooms = Rooms::new();
    set(&rooms.po, "message_bytes = 2048");
    rooms.alice_says(json!({"id": "large", "to": "po:sintra", "body": "x".repeat(200_000)}));
    rooms.alice_writes("small");
    assert_eq!(rooms.po.bodies("sintra"), ["small"]);
    assert_eq!(bounced(&rooms.fit, "alice"), ["po:mailbag too_large"]);
    assert_contains!(rooms.fit.inbox("alice")[0]["body"].to_string(), "large");
}

#[test]
fn a_flood_of_items_delays_no_other_mail() {
    let mut prey = Prey::new();
    for n in 0..3_000 {
        prey.po()
            .write(&format!("links/fit/in/{:012}.json", n + 5), "{");
        if n % 100 == 0 {
            prey.po().write(&format!("links/fit/in/x{n}.json"), "{}");
        }
    }
    let local = json!({"to": "sintra", "body": "local"});
    prey.po().mail("bob", "b.json", local);
    prey.attack(json!({"id": "m-1", "type": "message", "body": "far"}));
    let mut bodies = prey.po().bodies("sintra");
    bodies.sort();
    assert_eq!(bodies, ["far", "local"]);
}

#[test]
fn receipts_for_mail_of_others_change_nothing() {
    let mut prey = Prey::new();
    let question = json!({"id": "m-1", "to": "sintra", "body": "x", "requires_response": true});
    prey.po().route("bob", "m.json", question);
    let before = prey.po().json("trace m-1");
    let item = prey.item(json!({"receipts": [
        {"status": "seen", "agent": "sintra", "seqs": [2]}, {"status": "resolved", "agent": "sintra", "seqs": [0, 2, u64::MAX]},
        {"status": "withdrawn", "agent": "../x", "seqs": [2]},
    ]}));
    prey.put(item);
    assert_eq!(prey.n, 1);
    let after = prey.po().json("trace m-1");
    assert_eq!(after["recipients"][0], before["recipients"][0]);
    assert_eq!(prey.po().inbox("sintra").len(), 1);
}

#[test]
fn an_invalid_state_of_another_room_confirms_no_item() {
    let rooms = Rooms::new();
    rooms.po.write("settings.toml", "");
    rooms.alice_drops("x");
    rooms.fit.pass();
    let stream = rooms.fit.read("links/po/out/state.json")["out"]["stream"].clone();
    let came = |stream: &Value, n: u64, digest: &str| {
        json!({"room": "r", "in": {"stream": stream, "n": n, "digest": digest}, "out": null})
            .to_string()
    };
    let zeros = "0".repeat(64);
    let lies = [
        "garbage".to_owned(),
        "{}".to_owned(),
        "[".repeat(100_000),
        came(&stream, 1, &zeros),
        came(&stream, 1, "x"),
        came(&stream, 9, &zeros),
        came(&json!("other"), 1, &zeros),
    ];
    for lie in lies {
        rooms.fit.write("links/po/in/state.json", &lie);
        rooms.fit.pass();
        let waiting = rooms.fit.names("links/po/out");
        assert!(waiting[0] == "000000000001.json", "{lie:.80}: {waiting:?}");
    }
    rooms.fit.pass();
    let told = rooms.fit.inbox("human").len();
    assert_eq!(told, 3, "once for each reason");
}

#[test]
fn items_that_are_no_files_hang_nothing() {
    let prey = Prey::new();
    let place = prey.po().room("links/fit/in");
    let next = place.join("000000000001.json");
    symlink("/etc/passwd", &next).expect("a link");
    symlink("/etc/passwd", place.join("state.json.x")).expect("a link");
    prey.po().pass();
    fs::remove_file(&next).ok();
    files::make_fifo(&next);
    prey.po().pass();
    fs::remove_file(&next).ok();
    files::make_dir(&next);
    let local = json!({"to": "sintra", "body": "local"});
    prey.po().route("bob", "b.json", local);
    assert_eq!(prey.po().bodies("sintra"), ["local"]);
}

#[test]
fn a_roster_of_another_room_names_only_names_and_is_bounded() {
    // P233
    let rooms = Rooms::new();
    rooms.settle();
    let bad = [
        "human\u{1b}[2J",
        "a b",
        "../x",
        "",
        "x\u{202e}y",
        "fit:alice",
    ];
    let mut agents = bad.map(|id| json!({"id": id, "name": "Eve"})).to_vec();
    agents.extend([
        json!({"id": "odd", "name": "two words"}),
        json!({"id": "rod", "role": "a\nb"}),
        json!({"id": "eve", "name": "Eve"}),
    ]);
    let state = |agents: &[Value]| {
        json!({"room": "r", "in": null, "out": null, "agents": agents}).to_string()
    };
    rooms.fit.write("links/po/in/state.json", state(&agents));
    let remote = rooms.fit.json("who")["remote"].clone();
    assert_eq!(remote, json!([{"id": "po:eve", "name": "Eve"}]));
    let many: Vec<Value> = (0..3_000).map(|n| json!({"id": format!("a{n}")})).collect();
    rooms.fit.write("links/po/in/state.json", state(&many));
    assert!(
        rooms.fit.json("who")["remote"]
            .as_array()
            .is_none_or(|all| all.len() <= 200)
    );
}
