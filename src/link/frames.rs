//! The protocol between two carriers: frames, one JSON line each. The length of the peer's lines is limited.

use crate::base::error::{Error, ErrorContext, Result};
use crate::base::test_sizes;
use crate::base::{limits, sanitize};
use crate::features::links::item::LinkItem;
use crate::room::links::LinkEndState;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fs::File;
use std::io::{PipeReader, Read, Write};
use std::time::Instant;

/// The version of this protocol.
pub(super) const VERSION: u32 = 1;

/// A message from one carrier to the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CarrierFrame {
    /// The first frame: the version and the room.
    Hello(CarrierHello),
    /// The state of the carrier's room.
    State(LinkEndState),
    /// The next item.
    Item(ItemText),
    /// A request to send the items with these numbers again; both numbers are included.
    Again(u64, u64),
    /// The reason for the end of the connection.
    Bye(String),
}

/// The text of an item, one line of JSON, as its router wrote it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ItemText(Box<RawValue>);

impl ItemText {
    /// Returns `None` if this is not JSON, or not one line.
    pub(super) fn new(bytes: Vec<u8>) -> Option<ItemText> {
        let text = RawValue::from_string(String::from_utf8(bytes).ok()?).ok()?;
        (!text.get().contains('\n')).then_some(ItemText(text))
    }

    /// The text, without a newline.
    pub(super) fn text(&self) -> &str {
        self.0.get()
    }

    /// The item, if it is complete and valid.
    pub(super) fn read(&self) -> Option<LinkItem> {
        LinkItem::read(serde_json::from_str(self.text()).ok()?).ok()
    }
}

impl PartialEq for ItemText {
    fn eq(&self, other: &ItemText) -> bool {
        self.text() == other.text()
    }
}

/// The first frame of a carrier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CarrierHello {
    /// The version of this protocol.
    pub(super) version: u32,
    /// The id of the room.
    pub(super) room: String,
}

impl CarrierFrame {
    /// The frame as a line of JSON.
    pub(super) fn line(&self) -> Vec<u8> {
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }
}

/// Reads the peer's frames.
pub(super) struct FrameReader {
    from: File,
    /// Reaches its end when this carrier has ended the connection.
    over: PipeReader,
    bytes: Vec<u8>,
    /// The start of the next line in `bytes`.
    at: usize,
    most: usize,
}

impl FrameReader {
    /// Reads frames of at most `most` bytes.
    pub(super) fn new(from: File, over: PipeReader, most: u64) -> FrameReader {
        FrameReader {
            from,
            over,
            bytes: Vec::new(),
            at: 0,
            most: most as usize,
        }
    }

    /// The next frame. `None` at the end of the connection.
    pub(super) fn next(&mut self) -> Result<Option<CarrierFrame>> {
        let mut searched = self.at;
        loop {
            if let Some(end) =
                memchr::memchr(b'\n', &self.bytes[searched..]).map(|end| searched + end)
            {
                let line = std::mem::replace(&mut self.at, end + 1)..end;
                return read(&self.bytes[line]).map(Some);
            }
            self.bytes.drain(..std::mem::take(&mut self.at));
            searched = self.bytes.len();
            if searched > self.most {
                return Err(gone(format!(
                    "the peer sends a frame of more than {} bytes",
                    self.most
                )));
            }
            if !self.fill()? {
                return Ok(None);
            }
        }
    }

    /// Waits for more bytes of the peer. Returns false at the end.
    fn fill(&mut self) -> Result<bool> {
        let deadline = Instant::now() + test_sizes::carrier_silence();
        loop {
            let mut waited = [
                PollFd::new(&self.from, PollFlags::IN),
                PollFd::new(&self.over, PollFlags::IN),
            ];
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec {
                tv_sec: left.as_secs() as _,
                tv_nsec: left.subsec_nanos() as _,
            };
            match poll(&mut waited, Some(&left)) {
                Err(rustix::io::Errno::INTR) => continue,
                Err(e) => return Err(e).doing("wait for", "the peer"),
                Ok(0) => {
                    return Err(gone(format!(
                        "the peer sent nothing for {:?}",
                        test_sizes::carrier_silence()
                    )));
                }
                Ok(_) if !waited[1].revents().is_empty() => return Ok(false),
                Ok(_) => break,
            }
        }
        let begin = self.bytes.len();
        self.bytes.resize(begin + CHUNK, 0);
        let got = self.from.read(&mut self.bytes[begin..]);
        self.bytes.truncate(begin + *got.as_ref().unwrap_or(&0));
        Ok(got.doing("read from", "the peer")? > 0)
    }
}

const CHUNK: usize = 64 << 10;

fn read(line: &[u8]) -> Result<CarrierFrame> {
    serde_json::from_slice(line).map_err(|_| {
        let line = sanitize::quote(
            &String::from_utf8_lossy(&line[..line.len().min(limits::TITLE * 4)]),
            limits::TITLE,
        );
        gone(format!(
            "the peer does not use the link protocol: it sends {line}"
        ))
    })
}

/// Writes a frame to the peer.
pub(super) fn write_frame(to: &mut impl Write, frame: &CarrierFrame) -> Result<()> {
    to.write_all(&frame.line()).doing("write to", "the peer")
}

/// The error of a connection that cannot continue.
pub(super) fn gone(what: String) -> Error {
    Error::busy(what, "the carrier connects again")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::pipe;
    use std::sync::Arc;

    fn read_all(text: Vec<u8>) -> Vec<Result<Option<CarrierFrame>>> {
        let (from, mut to) = pipe().expect("a pipe");
        let (over, _held) = pipe().expect("a pipe");
        let writer = std::thread::spawn(move || to.write_all(&text));
        let mut input = FrameReader::new(File::from(std::os::fd::OwnedFd::from(from)), over, 1000);
        let mut frames = Vec::new();
        loop {
            frames.push(input.next());
            if !matches!(frames.last(), Some(Ok(Some(_)))) {
                drop(input);
                let _ = writer.join();
                return frames;
            }
        }
    }

    #[test]
    fn frames_are_lines() {
        let all = [
            CarrierFrame::Hello(CarrierHello {
                version: 1,
                room: "r".into(),
            }),
            CarrierFrame::State(LinkEndState {
                room: "r".into(),
                came: None,
                out: None,
                agents: Arc::default(),
            }),
            CarrierFrame::Item(
                ItemText::new(br#"{"n": 1, "body": "a\nb"}"#.to_vec()).expect("one line"),
            ),
            CarrierFrame::Again(3, 7),
            CarrierFrame::Bye("enough".into()),
        ];
        let results = read_all(all.iter().flat_map(CarrierFrame::line).collect());
        let frames: Vec<CarrierFrame> = results
            .into_iter()
            .filter_map(|frame| frame.ok().flatten())
            .collect();
        assert_eq!(frames, all);
    }

    #[test]
    fn a_frame_without_an_end_is_rejected_at_the_limit() {
        let huge = vec![b'x'; 1 << 20];
        let error = read_all(huge)
            .pop()
            .expect("something")
            .expect_err("rejected")
            .to_string();
        assert!(error.contains("more than 1000 bytes"), "{error}");
    }

    #[test]
    fn text_that_is_not_a_frame_is_rejected_and_quoted() {
        for text in [
            "\u{1b}[31mhi\n",
            "{}\n",
            "[]\n",
            "{\"run\":\"id\"}\n",
            "{\"again\":[-1,2]}\n",
            "\0\n",
        ] {
            let error = read_all(text.into())
                .pop()
                .expect("something")
                .expect_err("rejected")
                .to_string();
            assert!(
                error.contains("does not use the link protocol") && !error.contains('\u{1b}'),
                "{error:?}"
            );
        }
    }
}
