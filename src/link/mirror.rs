//! Mirrors a link over a connection: sends the items in `out/` to the peer, and writes the peer's items into `in/`.
//!
//! The only acknowledgement is the state file of the other room's router. Items after that state are sent again over the
//! next connection.

use super::frames::{
    CarrierFrame, CarrierHello, FrameReader, ItemText, VERSION, gone, write_frame,
};
use super::receiver::{ItemReceiver, PeerUpdate, PeerUpdateChannel};
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::base::test_sizes;
use crate::disk::{Dir, layout};
use crate::room::Room;
use crate::room::links::{LinkEndState, items};
use crate::router::watcher::InboxWatch;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The interval of a carrier's checks of the files of its link if no event reports a change.
const CARRIER_LOOK: Duration = Duration::from_millis(500);
/// An item that is missing for this time is asked for again.
const CARRIER_AGAIN: Duration = Duration::from_secs(10);
/// The number of bytes of frames that are collected before they are written to the peer.
const HELD_SAYING: usize = 64 << 10;
/// The number of bytes in one write to a peer that can read: a pipe accepts them without a wait.
const SAID_AT_ONCE: usize = 4096;

/// Decides when a connection ends.
pub(super) trait ConnectionPolicy {
    /// Called when the first state of the other room has arrived.
    fn connected(&mut self) {}

    /// Returns false to end the connection. Called at least every [`CARRIER_LOOK`].
    fn continues(&mut self, progress: &LinkProgress) -> Result<bool>;
}

/// The states of both rooms.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct LinkProgress {
    pub(super) own: Option<LinkEndState>,
    pub(super) far: Option<LinkEndState>,
}

impl LinkProgress {
    /// Returns true if each room has committed all items of the other room.
    pub(super) fn is_settled(&self) -> bool {
        let (Some(own), Some(far)) = (&self.own, &self.far) else {
            return false;
        };
        has_committed_all(far, own) && has_committed_all(own, far)
    }

    /// Returns true if the other room has stopped the link, because this room lacks items that it had confirmed.
    pub(super) fn is_stopped_there(&self) -> bool {
        let (own, far) = (self.own.as_ref(), self.far.as_ref());
        own.zip(far)
            .is_some_and(|(own, far)| own.lacks_confirmed(far))
    }
}

/// Returns true if `receiver` has committed all items that `sender` has sent.
fn has_committed_all(receiver: &LinkEndState, sender: &LinkEndState) -> bool {
    match (&sender.out, &receiver.came) {
        (None, _) => true,
        (Some(out), Some(came)) => came.stream == out.stream && came.n >= out.n,
        (Some(out), None) => out.n == 0,
    }
}

/// Mirrors a link until the connection ends or `conduct` ends it.
pub(super) fn mirror(
    room: &Room,
    tag: &str,
    from: File,
    to: File,
    conduct: &mut dyn ConnectionPolicy,
) -> Result<()> {
    let watch = InboxWatch::of_link(&room.dir, tag)?;
    let told = PeerUpdateChannel::new(watch.waker());
    let (over, running) = std::io::pipe().doing("make a pipe for", room.dir.path())?;
    let receiver = ItemReceiver::new(room, tag, told.clone())?;
    let input = FrameReader::new(from, over, limits::FRAME_BYTES);
    let reader = std::thread::Builder::new()
        .name(format!("link {tag}"))
        .spawn(move || receiver.run(input));
    let reader = reader.doing("start a reader for", room.dir.path())?;
    let mut sender = ItemSender::new(
        room,
        tag,
        FrameWriter {
            to,
            told: told.clone(),
            held: Vec::new(),
        },
    )?;
    let done = sender.run(watch, conduct);
    if let Err(e) = &done {
        sender.output.send_bye(e);
    }
    drop(running);
    let _ = reader.join();
    done
}

struct ItemSender {
    room: String,
    out: Dir,
    into: Dir,
    output: FrameWriter,
    /// The stream of `sent` and `flying`.
    stream: Option<Arc<str>>,
    /// The number of the last item sent.
    sent: u64,
    /// The items sent and not yet committed by the other room, with their sizes in bytes.
    flying: VecDeque<(u64, u64)>,
    /// The sum of the sizes in `flying`.
    bytes: u64,
    /// The last state sent to the peer, and its time.
    told: Option<(LinkEndState, Instant)>,
    /// The first missing item at the last check, and the time of that check.
    missing: (u64, Instant),
}

impl ItemSender {
    fn new(room: &Room, tag: &str, output: FrameWriter) -> Result<ItemSender> {
        Ok(ItemSender {
            room: room.id()?.unwrap_or_default(),
            out: room.dir.make_loose(layout::link_out(tag))?,
            into: room.dir.make_loose(layout::link_in(tag))?,
            output,
            stream: None,
            sent: 0,
            flying: VecDeque::new(),
            bytes: 0,
            told: None,
            missing: (0, Instant::now()),
        })
    }

    fn run(&mut self, mut watch: InboxWatch, conduct: &mut dyn ConnectionPolicy) -> Result<()> {
        write_frame(
            &mut self.output,
            &CarrierFrame::Hello(CarrierHello {
                version: VERSION,
                room: self.room.clone(),
            }),
        )?;
        self.flush()?;
        let mut is_connected = false;
        loop {
            let PeerUpdate {
                far,
                again,
                got,
                over,
                ..
            } = self.output.told.take();
            if let Some(over) = over {
                return over.and_then(|()| Err(gone("the connection ended".into())));
            }
            // In a room without mail, the router has not written its state yet.
            let own = LinkEndState::read(&self.out)?
                .unwrap_or_else(|| LinkEndState::of(&self.room, None, Arc::default()));
            self.send_state(&own)?;
            if let Some(far) = &far {
                self.send_items(&own, far, again)?;
                self.request_missing(&own, far, got)?;
            }
            self.flush()?;
            if far.is_some() && !std::mem::replace(&mut is_connected, true) {
                conduct.connected();
            }
            if !conduct.continues(&LinkProgress {
                own: Some(own),
                far,
            })? {
                return Ok(());
            }
            watch.wait(CARRIER_LOOK);
        }
    }

    fn flush(&mut self) -> Result<()> {
        self.output.flush().doing("write to", "the peer")
    }

    /// Sends the state of this room if it has changed, or to keep the connection alive.
    fn send_state(&mut self, own: &LinkEndState) -> Result<()> {
        if self
            .told
            .as_ref()
            .is_some_and(|(told, at)| told == own && at.elapsed() < limits::CARRIER_BEAT)
        {
            return Ok(());
        }
        write_frame(&mut self.output, &CarrierFrame::State(own.clone()))?;
        self.told = Some((own.clone(), Instant::now()));
        Ok(())
    }

    /// Sends the items that the other room has not committed, within the limits, and the items that it asks for again.
    fn send_items(
        &mut self,
        own: &LinkEndState,
        far: &LinkEndState,
        again: Option<(u64, u64)>,
    ) -> Result<()> {
        let Some(out) = &own.out else { return Ok(()) };
        let base = match &far.came {
            None => 0,
            Some(came) if came.stream == out.stream => came.n,
            // The routers notice this and stop the link.
            Some(_) => return Ok(()),
        };
        if self.stream.as_ref() != Some(&out.stream) {
            (self.stream, self.sent, self.bytes) = (Some(out.stream.clone()), base, 0);
            self.flying.clear();
        }
        while self.flying.front().is_some_and(|(n, _)| *n <= base) {
            self.bytes -= self.flying.pop_front().map_or(0, |(_, size)| size);
        }
        self.sent = self.sent.max(base);
        if let Some((from, to)) = again {
            for n in from.max(base + 1)..=to.min(self.sent) {
                let Some((item, _)) = self.read_item(n, &out.stream)? else {
                    break;
                };
                write_frame(&mut self.output, &CarrierFrame::Item(item))?;
            }
        }
        while self.sent < out.n.min(base + limits::FLYING_ITEMS) {
            let Some((item, size)) = self.read_item(self.sent + 1, &out.stream)? else {
                break;
            };
            if !self.flying.is_empty() && self.bytes + size > limits::FLYING_BYTES {
                break;
            }
            write_frame(&mut self.output, &CarrierFrame::Item(item))?;
            self.sent += 1;
            self.bytes += size;
            self.flying.push_back((self.sent, size));
        }
        Ok(())
    }

    /// Reads an item in `out/`. A damaged item is removed: the router then creates it again.
    fn read_item(&self, n: u64, stream: &str) -> Result<Option<(ItemText, u64)>> {
        let name = layout::item(n);
        let Some(bytes) = self
            .out
            .read(&name, limits::MESSAGE_BYTES_MOST + limits::ITEM_MORE)?
        else {
            return Ok(None);
        };
        let (size, text) = (bytes.len() as u64, ItemText::new(bytes));
        if let Some(text) = text.filter(|text| {
            text.read()
                .is_some_and(|item| item.n == n && *item.stream == *stream)
        }) {
            return Ok(Some((text, size)));
        }
        tracing::warn!(
            item = name,
            "an item in {} was damaged; the router creates it again",
            self.out.path().display()
        );
        self.out.remove(&name)?;
        Ok(None)
    }

    /// Requests items that arrived, are not committed, and no longer exist in `in/`.
    fn request_missing(&mut self, own: &LinkEndState, far: &LinkEndState, got: u64) -> Result<()> {
        let (known, since) = self.missing;
        if since.elapsed() < CARRIER_AGAIN {
            return Ok(());
        }
        let is_same = |stream: &Arc<str>| far.out.as_ref().is_some_and(|out| out.stream == *stream);
        let committed = match &own.came {
            None => 0,
            Some(came) if is_same(&came.stream) => came.n,
            Some(_) => return Ok(()),
        };
        let mut from = committed + 1;
        let mut to = got;
        for (n, _) in items(&self.into)?
            .into_iter()
            .skip_while(|(n, _)| *n <= committed)
        {
            if n != from {
                to = to.min(n - 1);
                break;
            }
            from += 1;
        }
        self.missing = (from, Instant::now());
        if from == known && from <= to {
            write_frame(&mut self.output, &CarrierFrame::Again(from, to))?;
        }
        Ok(())
    }
}

/// The connection to the peer. A write waits for the peer at most as long as the peer may be silent.
struct FrameWriter {
    to: File,
    told: PeerUpdateChannel,
    /// Unwritten frames. Small frames are collected for one write.
    held: Vec<u8>,
}

impl FrameWriter {
    fn is_ready(&self, within: Duration) -> std::io::Result<bool> {
        let within = Timespec {
            tv_sec: within.as_secs() as _,
            tv_nsec: within.subsec_nanos() as _,
        };
        match poll(&mut [PollFd::new(&self.to, PollFlags::OUT)], Some(&within)) {
            Err(rustix::io::Errno::INTR) => Ok(false),
            ready => Ok(ready? > 0),
        }
    }

    fn wait_until_ready(&self) -> std::io::Result<()> {
        let begun = Instant::now();
        while !self.is_ready(CARRIER_LOOK)? {
            if self.told.is_over() || begun.elapsed() > test_sizes::carrier_silence() {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }

    /// Sends the reason for the end to the peer, if this does not block.
    fn send_bye(&mut self, e: &Error) {
        let why = match e {
            Error::Busy { what, .. } => what.chars().take(limits::BYE_CHARS).collect(),
            _ => "its carrier failed".to_owned(),
        };
        if self.is_ready(Duration::ZERO).unwrap_or(false) {
            // The connection ends even if this fails.
            let _ = self.to.write(&CarrierFrame::Bye(why).line());
        }
    }
}

impl Write for FrameWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.held.extend_from_slice(bytes);
        if self.held.len() >= HELD_SAYING {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let held = std::mem::take(&mut self.held);
        for part in held.chunks(SAID_AT_ONCE) {
            self.wait_until_ready()?;
            self.to.write_all(part)?;
        }
        Ok(())
    }
}
