//! The floor's output: a recipient's copy and a log record, in the router's sizes.

use mailbag::base::clock::Stamp;
use serde_json::{Map, Value};
use std::io::Write;

/// Bytes of a record besides the message: kind, seq, batch, times, digest, the hash of the line
/// before.
const RECORD_BESIDE: usize = 353;
/// Bytes of a record per recipient: its name; the rule that found it appears once for all.
const RECORD_PER_RECIPIENT: usize = 9;
/// The text in place of the router's digests.
const FILLER: [u8; 64] = [b'0'; 64];

/// The copies of one message: the same for every recipient up to its name, so written out once and ended per recipient.
pub(super) struct Copies {
    bytes: Vec<u8>,
    common: usize,
}

impl Copies {
    /// The message, pretty-printed, with the fields that the router adds.
    pub(super) fn new(
        mut message: Map<String, Value>,
        from: &str,
        seq: u64,
        accepted: Stamp,
    ) -> Copies {
        let to = message.shift_remove("to").unwrap_or_default();
        message.insert("from".into(), from.into());
        message.insert("timestamp".into(), accepted.to_string().into());
        message.insert("addressed_to".into(), to);
        let delivery = [
            ("seq", seq.into()),
            ("accepted_at", accepted.to_string().into()),
            ("via", "direct".into()),
        ];
        message.insert(
            "delivery".into(),
            delivery
                .into_iter()
                .map(|(k, v): (&str, Value)| (k.to_owned(), v))
                .collect(),
        );
        let mut bytes = Vec::with_capacity(1024);
        // Writing to memory can't fail, and a map of strings can't be refused.
        let _ = serde_json::to_writer_pretty(&mut bytes, &message);
        bytes.truncate(bytes.len() - "\n}".len());
        bytes.extend_from_slice(b",\n  \"to\": \"");
        let common = bytes.len();
        Copies { bytes, common }
    }

    /// The bytes of one recipient's copy.
    pub(super) fn for_recipient(&mut self, recipient: &str) -> &[u8] {
        self.bytes.truncate(self.common);
        self.bytes.extend_from_slice(recipient.as_bytes());
        self.bytes.extend_from_slice(b"\"\n}\n");
        &self.bytes
    }
}

/// Adds the record of one message to the batch's append: the message compact, and filler of the size of the rest.
pub(super) fn record(log: &mut Vec<u8>, message: &Map<String, Value>, recipients: usize) {
    let _ = log.write_all(b"{\"message\":");
    let _ = serde_json::to_writer(&mut *log, message);
    let _ = log.write_all(b",\"rest\":\"");
    let mut rest =
        RECORD_BESIDE + recipients * RECORD_PER_RECIPIENT - "{\"message\":,\"rest\":\"\"}\n".len();
    while rest > 0 {
        let part = rest.min(FILLER.len());
        log.extend_from_slice(&FILLER[..part]);
        rest -= part;
    }
    log.extend_from_slice(b"\"}\n");
}
