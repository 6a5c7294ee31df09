//! Turns of a session, as the files of its client show them. No hook reports an interrupted turn in Claude Code, or an
//! error of the model's server in Codex.

use super::install::homes;
use super::kind::{Client, TurnRecord};
use crate::base::clock::Stamp;
use crate::base::limits;
use crate::disk::{Dir, layout, machine};
use crate::room::sessions::SessionLease;
use serde_json::Value;
use std::path::Path;

/// The number of bytes at the end of a transcript that show the end of the last turn.
const TRANSCRIPT_END: u64 = 64 << 10;

/// The variable that gives a background waiter the transcript of its session.
pub(super) const TRANSCRIPT: &str = "MAILBAG_TRANSCRIPT";

/// Returns true if a file of the client shows that the last turn of this session has ended.
pub(super) fn has_ended_turn(lease: &SessionLease) -> bool {
    let Ok(client) = Client::parse(&lease.client) else {
        return false;
    };
    match client.facts().turns {
        TurnRecord::Unknown => false,
        TurnRecord::SessionFile => session_file(client, lease).unwrap_or_default(),
        TurnRecord::Transcript { ends, begins } => {
            let last = machine::variable(TRANSCRIPT)
                .and_then(|path| last_event(Path::new(&path), &[ends, begins].concat()));
            last.is_some_and(|event| ends.contains(&&*event))
        }
    }
}

/// The file of the client's process names its session, and `idle` or `busy` with the time of the change.
fn session_file(client: Client, lease: &SessionLease) -> Option<bool> {
    let homes = homes(lease.directory.as_deref()?).ok()?;
    let files = Dir::open(&layout::of_client(&client.directory(&homes), "sessions")).ok()?;
    let file = files
        .read(
            format!("{}.json", lease.process?.pid),
            limits::SESSION_BYTES,
        )
        .ok()??;
    let file: Value = serde_json::from_slice(&file).ok()?;
    let is_ours = file["sessionId"].as_str() == lease.session.as_deref();
    let changed = Stamp::from_micros(file["statusUpdatedAt"].as_i64()?.checked_mul(1_000)?);
    Some(is_ours && file["status"] == "idle" && changed >= lease.last()?)
}

/// The last of these events in a transcript with one JSON object in each line.
fn last_event(path: &Path, events: &[&str]) -> Option<String> {
    let end = Dir::open(path.parent()?)
        .ok()?
        .read_end(path.file_name()?, TRANSCRIPT_END)
        .ok()?;
    let lines = end
        .rsplit(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let mut kinds = lines.filter_map(|line| Some(line["payload"]["type"].as_str()?.to_owned()));
    kinds.find(|kind| events.contains(&&**kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(kind: &str) -> String {
        format!("{{\"type\":\"event_msg\",\"payload\":{{\"type\":\"{kind}\"}}}}\n")
    }

    #[test]
    fn the_last_event_of_a_transcript_shows_whether_its_turn_has_ended() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("rollout.jsonl");
        let events = ["task_started", "task_complete"];
        assert_eq!(last_event(&path, &events), None);
        let long = line(&"x".repeat(2 * TRANSCRIPT_END as usize));
        std::fs::write(&path, long + &line("task_complete") + &line("token_count"))
            .expect("a transcript");
        assert_eq!(last_event(&path, &events).as_deref(), Some("task_complete"));
        let begun =
            line("task_complete") + &line("task_started") + "{\"type\":\"event_msg\",\"payl";
        std::fs::write(&path, begun).expect("a transcript");
        assert_eq!(last_event(&path, &events).as_deref(), Some("task_started"));
    }
}
