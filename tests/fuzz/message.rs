//! Fuzz target: the bytes of a message file, to a message or to everything that is wrong with them.

use mailbag::base::clock::Stamp;
use mailbag::base::error::Problem;
use mailbag::base::limits;
use mailbag::message::Message;
use mailbag::message::record::{Event, MessageName, Record, RouterNotice};
use mailbag::message::schema::{self, ParsedFile};

/// The owner of the outbox, as in the fixtures, and its display name.
pub(crate) const SENDER: &str = "agent_engineer_1_abc123";
const NAME: &str = "Sintra";
/// The size limit of all errors about one file, without the examples and without the quoted parts
/// of the file.
const SAID: usize = 64 << 10;

/// Reads the bytes as the router does, and checks the result.
pub(crate) fn run(bytes: &[u8]) {
    let now = Stamp::parse("2026-11-21T10:30:00Z").expect("a time");
    let value = match schema::parse(bytes) {
        ParsedFile::Value(value) => value,
        ParsedFile::Unfinished(problem) | ParsedFile::Bad(problem) => {
            return helps(&[problem], bytes);
        }
    };
    let text = serde_json::to_string(&value).expect("JSON prints");
    assert!(
        matches!(schema::parse(text.as_bytes()), ParsedFile::Value(again) if again == value),
        "reads back: {text}"
    );
    match schema::check_as(value, SENDER, &[NAME], now) {
        Ok(message) => keeps(&message, now),
        Err(problems) => helps(&problems, bytes),
    }
}

// Every rejection has a reason and a fix, in a readable length.
fn helps(problems: &[Problem], bytes: &[u8]) {
    assert!(
        !problems.is_empty() && problems.len() <= limits::PROBLEMS,
        "{} problems",
        problems.len()
    );
    for problem in problems {
        let said = [&problem.code, &problem.what, &problem.fix];
        assert!(
            said.iter().all(|text| !text.is_empty()),
            "says nothing: {problem:?}"
        );
    }
    let examples = problems
        .iter()
        .filter_map(|problem| problem.example.as_ref());
    examples.for_each(|example| {
        assert!(
            example.to_string().len() <= limits::EXAMPLE_BYTES,
            "{example}"
        )
    });
    let said: usize = problems
        .iter()
        .map(|p| p.code.len() + p.what.len() + p.fix.len())
        .sum();
    assert!(said <= SAID, "{said} bytes about {} bytes", bytes.len());
}

// An accepted message has all required fields, is read back from its copy and from the log, and is
// accepted again.
fn keeps(message: &Message, now: Stamp) {
    assert_eq!(message.from(), SENDER);
    assert!(
        mailbag::message::id::is_message_id(message.id()),
        "{:?}",
        message.id()
    );
    let digest = message.digest();
    let pretty = serde_json::to_string_pretty(message.fields()).expect("JSON prints");
    let ParsedFile::Value(copy) = schema::parse(pretty.as_bytes()) else {
        panic!("the copy doesn't read back: {pretty}")
    };
    let again = schema::check(copy, SENDER, now)
        .unwrap_or_else(|e| panic!("refused the second time: {e:?}\n{pretty}"));
    assert_eq!(again.digest(), digest, "the digest changed: {pretty}");
    assert_eq!(again.addresses(), message.addresses());
    let event = Event::Notice(Box::new(RouterNotice {
        name: MessageName {
            from: message.from().into(),
            id: message.id().to_owned(),
            digest,
        },
        about: String::new(),
        to: Vec::new(),
        message: serde_json::value::to_raw_value(message.fields()).expect("JSON"),
    }));
    let line = Record::new(event).line();
    assert_eq!(
        line.iter().filter(|byte| **byte == b'\n').count(),
        1,
        "a record is one line"
    );
    let read: Record = serde_json::from_slice(&line).expect("the log reads its own line");
    let fields = read.message_fields().expect("it has the message");
    let folded = Message::from_fields(fields).expect("it has id, sender and type");
    assert_eq!(folded.digest(), digest, "another digest in the log");
}
