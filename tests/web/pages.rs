//! The pages show everything in the room, and senders' texts only as text.

use super::Page;
use crate::world::World;
use serde_json::json;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

#[test]
fn each_page_shows_its_part_of_the_room() {
    let world = World::alice_and_bob();
    world.ok("send human 'May I deploy?' --as alice --type approval");
    world.ok("send bob 'Which port?' --as alice --type question --subject Ports");
    world.ok("reply 3 8080 --as bob");
    world.ok("claim src/** --as alice --note 'the login'");
    world.ok("send --type milestone 'Login works' --as bob");
    world.drop_file("alice", "bad.json", r#"{"to": "bbo", "body": "x"}"#);
    let claim = r#"{"type": "claim", "claims": ["/etc/hosts"]}"#;
    world.route("alice", "claim.json", claim);
    let page = Page::of(&world);
    let shows = |path: &str, words: &[&str]| {
        let answer = page.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        for word in words {
            assert!(
                answer.body.contains(word),
                "{path} without {word}: {}",
                answer.body
            );
        }
    };
    shows(
        "/",
        &["Needs you", "May I deploy?", "value=\"yes\"", "alice"],
    );
    shows("/all", &["All mail", "Which port?", "bad.json"]);
    shows("/more", &["Rejected", "alice"]);
    let agents = page.get("/part/side?place=/").body;
    let text = regex::Regex::new("<[^>]*>")
        .expect("a pattern")
        .replace_all(&agents, "")
        .into_owned();
    assert_contains!(text, "waits for human: May I deploy?");
    shows("/all?agent=bob", &["Which port?", "value=\"bob\""]);
    shows("/all?type=milestone", &["Login works"]);
    assert!(!page.get("/all?type=milestone").body.contains("Which port?"));
    shows(
        "/message/3",
        &[
            "Ports",
            "Which port?",
            "Receipts",
            "bob",
            "&quot;body&quot;: &quot;Which port?&quot;",
        ],
    );
    shows("/thread/3", &["Which port?", "8080"]);
    shows(
        "/rejected",
        &["bbo", "→", "href=\"/rejected/", "claim /etc/hosts"],
    );
    shows("/search?q=PORT", &["Which", "<mark>port</mark>"]);
    shows(
        "/search?q=bob+port&type=question",
        &["<mark>port</mark>", "/thread/3"],
    );
    shows(
        "/search?q=port+which",
        &["<mark>Which</mark> <mark>port</mark>"],
    );
    assert!(!page.get("/search?q=port&type=task").body.contains("<mark>"));
    shows(
        "/search?q=port+(&regex=true",
        &["is not a regular expression", "value=\"port (\"", "checked"],
    );
    shows(
        "/thread/3?of=%2Fsearch%3Fq%3DPORT",
        &["<mark>port</mark>", "8080"],
    );
    assert!(
        !page
            .get("/thread/3?of=//other.example")
            .body
            .contains("other.example")
    );
    shows(
        "/room",
        &["Router", "src/**", "the login", "mailbag link add"],
    );
    shows("/write?to=all", &["Reaches", "alice", "bob"]);
}

#[test]
fn an_empty_room_says_what_to_do_next() {
    let world = World::new();
    let page = Page::of(&world);
    for (path, next) in [
        ("/", "mailbag up"),
        ("/", "mailbag ask human"),
        ("/all", "mailbag send all"),
        ("/rejected", "mailbag send --dry-run --file FILE"),
        ("/room", "mailbag claim"),
        ("/room", "mailbag link add"),
        ("/search", "mailbag search"),
    ] {
        assert!(page.get(path).body.contains(next), "{path} without {next}");
    }
}

#[test]
fn text_of_agents_is_only_ever_text() {
    let hostile = "<img src=x onerror=alert(1)>\"'><script>alert(2)</script>\u{202e}gnp\u{1b}[31m&amp;{{7*7}}";
    let world = World::alice_and_bob();
    let message = json!({
        "to": ["bob", "human"], "type": "question", "subject": hostile, "body": hostile.repeat(3), "thread_id": hostile,
        "topic": "x", "metadata": {"session_id": hostile, hostile: hostile}, hostile: hostile, "action": hostile,
        "attachments": [{"name": hostile, "content": hostile}], "requires_response": true,
    });
    world.mail("alice", "one.json", &message);
    let options = json!({"to": "human", "type": "approval", "body": hostile, "options": ["<b>yes</b>", "\"><i>no"]});
    world.mail("alice", "two.json", &options);
    world.mail(
        "alice",
        "<svg onload=alert(3)>.json",
        json!({"to": hostile, "body": hostile}),
    );
    world.mail(
        "bob",
        "claim.json",
        json!({"type": "claim", "claims": ["src/<u>x</u>"], "body": hostile}),
    );
    world.route(
        "bob",
        "done.json",
        json!({"type": "milestone", "subject": hostile, "body": "x"}),
    );
    let page = Page::of(&world);
    let rejected = world.json("rejected list")["rejected"][0]["seq"].to_string();
    let mut paths = [
        "/",
        "/inbox",
        "/all",
        "/rejected",
        "/room",
        "/search?q=alert",
        "/part/needs",
        "/part/side?place=%22%3E%3Cb%3E",
        "/part/reaches?to=%3Cb%3E",
        "/part/timeline?after=0",
        "/search?q=%3Cscript%3E",
        "/all?agent=%22%3E%3Cscript%3E",
        "/write?to=%22%3E%3Cb%3E&body=%3C/textarea%3E%3Cb%3E",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.push(format!("/rejected/{rejected}"));
    for place in ["message", "thread", "part/thread"] {
        paths.extend((1..=8).map(|n| format!("/{place}/{n}")));
    }
    for path in paths {
        let body = page.get(&path).body;
        for markup in [
            "<img",
            "<script>",
            "<svg",
            "<b>yes",
            "<i>no",
            "<u>x",
            "\"><script>",
            "</textarea><b>",
            "<b>\"",
        ] {
            assert!(!body.contains(markup), "{path} has {markup}: {body}");
        }
        assert!(!body.contains(['\u{202e}', '\u{1b}']), "{path}: {body}");
    }
}

#[test]
fn a_search_shows_the_newest_first_however_much_there_is() {
    let world = World::with("alice");
    let lines = |from: usize| {
        (from..from + 125)
            .map(|n| json!({"to": "human", "body": format!("needle {n} {}", "x".repeat(1500))}))
    };
    for from in [0, 125] {
        let text: Vec<String> = lines(from).map(|line| line.to_string()).collect();
        world.route("alice", &format!("{from}.ndjson"), text.join("\n") + "\n");
    }
    let page = Page::of(&world);
    let found = page.get("/search?q=needle").body;
    let places: Vec<usize> = ["needle 249", "needle 248", "needle 51", "needle 50"]
        .iter()
        .map(|words| {
            found
                .find(&words.replace("needle", "needle</mark>"))
                .unwrap_or_else(|| panic!("no {words}"))
        })
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!found.contains("needle</mark> 49 "), "200 are shown");
}

#[test]
fn addresses_that_lead_elsewhere_find_nothing() {
    let world = World::with("alice");
    world.send("alice", "human", "hello");
    let page = Page::of(&world);
    for path in [
        "/message/../registry.json",
        "/message/..%2f..%2fregistry.json",
        "/message/-1",
        "/message/0",
        "/message/99999999999999999999",
        "/message/7e1",
        "/rejected/..%2F..%2Fsettings.toml",
        "/thread/%00",
        "/style.css/../../registry.json",
        "//etc/passwd",
        "/registry.json",
    ] {
        let answer = page.get(path);
        assert!(
            [400, 404].contains(&answer.status),
            "{path}: {}",
            answer.status
        );
        assert!(
            !answer.body.contains("\"agents\""),
            "{path}: {}",
            answer.body
        );
    }
}

#[test]
fn a_body_of_a_megabyte_is_a_short_entry_and_a_whole_message() {
    let world = World::with("alice");
    let body = "word ".repeat(200_000);
    world.route("alice", "long.json", json!({"to": "human", "body": body}));
    let page = Page::of(&world);
    for place in ["/", "/inbox", "/all"] {
        assert!(page.get(place).body.len() < 40_000, "{place}");
    }
    let opened = page.get("/thread/2").body;
    assert!(opened.len() < 80_000 && opened.contains("Show the complete message"));
    assert!(page.get("/message/2").body.len() > 1_000_000);
}

#[test]
fn the_page_is_small() {
    let world = World::with("alice");
    let page = Page::of(&world);
    let size: usize = ["/", "/style.css", "/page.js", "/icon.svg"]
        .iter()
        .map(|path| page.get(path).body.len())
        .sum();
    assert!(size < 150_000, "{size} bytes");
}

#[test]
fn the_inbox_has_the_unread_mail_of_the_person_and_reading_a_message_is_a_form() {
    let world = World::alice_and_bob();
    world.send("alice", "human", "first");
    world.send("alice", "human", "second");
    world.send("alice", "bob", "not for the person");
    let page = Page::of(&world);
    let inbox = || page.get("/inbox").body;
    let unread = |body: &str| {
        body.matches("<span class=\"badge new\">unread</span>")
            .count()
    };
    assert_eq!(unread(&inbox()), 2);
    assert!(!inbox().contains("not for the person"));
    let opened = page.get("/thread/2?of=/inbox").body;
    assert_eq!(unread(&opened), 2, "asking for a page changes nothing");
    let at = regex::Regex::new("data-at=\"([^\"]+)\"").expect("a pattern");
    let at = at.captures(&opened).expect("an accept time")[1].to_owned();
    page.submit("/read", &[("at", &at)]);
    let listed = world.items("inbox human");
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(unread(&inbox()), 1);
    assert_contains!(inbox(), "Inbox <span class=\"count\">1</span>");
    page.submit(
        "/read",
        &[("at", "../../registry.json 2026-01-01T00:00:00Z")],
    );
    assert_eq!(unread(&inbox()), 1);
    world.take("human");
    assert_eq!(unread(&inbox()), 1, "a taken message is unread");
    assert_contains!(inbox(), "Inbox <span class=\"count\">1</span>");
}

#[test]
fn a_conversation_opens_beside_the_list_with_the_decision_below_its_newest_message() {
    let world = World::with("alice");
    world.ok("send human 'May I deploy?' --as alice --type approval");
    let body = Page::of(&world).get("/thread/2?of=/").body;
    let place = |words: &str| {
        body.find(words)
            .unwrap_or_else(|| panic!("no {words}: {body}"))
    };
    let conversation = place("id=\"open\"");
    assert!(place("id=\"needs\"") < conversation && body.contains("class=\"opened\""));
    let opened = &body[conversation..];
    let (text, buttons) = (opened.find("| May I deploy?"), opened.find("value=\"yes\""));
    assert!(
        text.is_some() && text < buttons && buttons < opened.find("class=\"reply\""),
        "{opened}"
    );
}

#[test]
fn equal_reports_of_the_router_are_one_row_and_no_reply_to_the_router_is_offered() {
    let world = World::alice_and_bob();
    for n in 0..4 {
        let name = format!("{n}.json");
        world.drop_file("human", &name, r#"{"to": "nobody_there", "body": "x"}"#);
    }
    world.pass();
    let page = Page::of(&world);
    let list = page.get("/part/needs").body;
    assert_contains!(list, "4 rejections, oldest", "Dismiss all");
    assert!(!list.contains("value=\"reply\""), "{list}");
    let seqs = regex::Regex::new("name=\"seqs\" value=\"([0-9 ]+)\"").expect("a pattern");
    let seqs = seqs.captures(&list).expect("numbers")[1].to_owned();
    page.submit("/dismiss", &[("kind", "rejection"), ("seqs", &seqs)]);
    assert_eq!(world.json("pending --as human")["items"], json!([]));
    let again = page.post("/dismiss", &[("kind", "rejection"), ("seqs", &seqs)]);
    assert!(
        again.status == 404 && again.body.contains("no longer open"),
        "{again:?}"
    );
}

#[test]
fn a_page_with_many_messages_and_items_stays_small() {
    let world = World::with("alice bob carol");
    let lines = |count: usize, line: &dyn Fn(usize) -> serde_json::Value| {
        let lines: Vec<String> = (0..count).map(|n| line(n).to_string()).collect();
        lines.join("\n") + "\n"
    };
    let mail = lines(
        1_000,
        &|n| json!({"to": "bob", "subject": format!("Message {n}"), "body": "word ".repeat(60)}),
    );
    let items = lines(100, &|n| {
        json!({"to": "human", "type": if n % 2 == 0 { "approval" } else { "question" },
        "subject": format!("Item {n}"), "body": format!("May I do {n}? {}", "word ".repeat(40))})
    });
    world.drop_file("alice", "mail.ndjson", mail);
    world.route("carol", "items.ndjson", items);
    let page = Page::of(&world);
    for place in ["/", "/inbox", "/all"] {
        let size = page.get(place).body.len();
        println!("{place}: {size} bytes of HTML");
        assert!(size <= 60_000, "{place}: {size}");
    }
    assert_eq!(
        page.get("/").body.matches("data-open").count(),
        100,
        "all items are listed"
    );
}

#[test]
fn many_searches_do_not_keep_other_requests_waiting() {
    const SEARCHES: usize = 24;
    let world = World::with("alice");
    let line = json!({"to": "human", "body": "x".repeat(4000)}).to_string();
    for n in 0..3 {
        let lines = [line.as_str(); 250].join("\n") + "\n";
        world.route("alice", &format!("{n}.ndjson"), lines);
    }
    let page = Page::of(&world);
    page.secret();
    let finished = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..SEARCHES {
            scope.spawn(|| {
                // Each line is compared with an expression that has no literal.
                page.get("/search?q=(a%7Cb)*z%24&regex=true");
                finished.fetch_add(1, Relaxed);
            });
        }
        while finished.load(Relaxed) == 0 {
            std::thread::yield_now();
        }
        assert_eq!(page.get("/part/needs").status, 200);
        let before = finished.load(Relaxed);
        assert!(
            before < SEARCHES / 2,
            "{before} searches were answered first"
        );
    });
}

#[test]
fn a_request_that_cannot_be_read_is_answered_as_other_errors() {
    let world = World::with("alice");
    let page = Page::of(&world);
    let wrong = [
        ("/part/nope", "does not exist"),
        ("/events?since=x", "since"),
        ("/events?from=alice", "unknown field `from`"),
        ("/part/timeline?before=x", "before"),
    ];
    for (address, reason) in wrong {
        let answer = page.get(address);
        assert!((400..500).contains(&answer.status), "{address}: {answer:?}");
        assert_contains!(answer.json()["error"]["what"].as_str().expect("an error"), reason; "{address}");
    }
    for (address, reason) in [("/all?before=x", "before"), ("/inbox?before=x", "before")] {
        let answer = page.get(address);
        assert!(
            answer.status == 400 && answer.head.contains("text/html"),
            "{address}: {answer:?}"
        );
        assert_contains!(answer.body, "cannot read the query of the address", reason; "{address}");
    }
    let own = format!("Origin: http://{}\r\n", page.at);
    let entered = page.plain("POST", "/enter", &own, "token");
    assert_eq!(entered.status, 415, "{entered:?}");
    assert_contains!(
        entered.json()["error"]["what"].to_string(),
        "cannot read the form"
    );
    let answer = page.post("/answer", &[("kind", "question")]);
    assert_contains!(answer.json()["error"]["what"].to_string(), "missing field");
}
