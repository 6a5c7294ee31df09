//! Forwards between the two ends of a link: this room's frames become messages on the servers, and the other room's messages
//! become frames.
//!
//! A message with an item is acknowledged to the servers only after this room has committed the item, so the servers keep it
//! if this process is killed. The sender's router deletes its own copy only after it has learned of the commit.

use super::names::{NatsMessageKind, NatsNames};
use super::peer::{MessageTreatment, NatsPeer, StateMessage};
use super::servers::{NatsConnection, not_taken};
use crate::base::limits;
use crate::link::frames::{CarrierFrame, CarrierHello, ItemText, VERSION};
use crate::room::links::LinkEndState;
use async_nats::jetstream::context::PublishAckFuture;
use async_nats::jetstream::message::{Acker, Message};
use futures_util::StreamExt;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::ControlFlow::{self, Break, Continue};
use std::os::fd::OwnedFd;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

/// The number of messages that a carrier sends to NATS servers before they confirm them.
const NATS_FLYING: usize = 256;

/// The ends of the pipes to this room's end of the link.
pub(super) struct PipeEnds {
    pub(super) to_room: OwnedFd,
    pub(super) from_room: OwnedFd,
}

/// The kind of a message in transit to the servers.
enum TransitMessageKind {
    State,
    Other,
}

pub(super) struct NatsBridge {
    servers: NatsConnection,
    names: NatsNames,
    peer: NatsPeer,
    /// The last state message of this room.
    said: StateMessage,
    /// A newer state that has to be sent.
    wanted: Option<LinkEndState>,
    /// Whether a state message is in transit.
    is_telling: bool,
    /// The number of the last item that this room has committed.
    committed: u64,
    /// The unacknowledged messages with later items, by number.
    open: BTreeMap<u64, Vec<Acker>>,
    /// The number of this room's last item.
    last: u64,
    /// The messages not yet confirmed by the servers.
    flying: JoinSet<Result<TransitMessageKind, String>>,
}

impl NatsBridge {
    pub(super) fn new(
        servers: NatsConnection,
        names: NatsNames,
        peer: NatsPeer,
        said: StateMessage,
    ) -> NatsBridge {
        let committed = said.state.came.as_ref().map_or(0, |came| came.n);
        NatsBridge {
            servers,
            names,
            peer,
            said,
            wanted: None,
            is_telling: false,
            committed,
            open: BTreeMap::new(),
            last: 0,
            flying: JoinSet::new(),
        }
    }

    /// Runs until this room ends the connection. Fails with the reason if it cannot continue.
    pub(super) async fn run(mut self, ends: PipeEnds) -> Result<(), String> {
        let pipes = pipe::Sender::from_owned_fd(ends.to_room)
            .and_then(|to| Ok((to, pipe::Receiver::from_owned_fd(ends.from_room)?)));
        let (mut to, from) = pipes.map_err(|e| e.to_string())?;
        let mut lines = BufReader::new(from).lines();
        let room = Some(&self.peer.state().room)
            .filter(|room| !room.is_empty())
            .cloned();
        let hello = CarrierHello {
            version: VERSION,
            room: room.unwrap_or_else(|| NOT_HEARD.to_owned()),
        };
        let mut next = write_frame(&mut to, &CarrierFrame::Hello(hello)).await;
        if next.is_continue() && self.servers.waiting == 0 {
            next = self.repeat_state(&mut to).await;
        }
        let mut beat = interval_at(Instant::now() + limits::CARRIER_BEAT, limits::CARRIER_BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while next.is_continue() {
            let takes = self.flying.len() < NATS_FLYING;
            next = tokio::select! {
                biased;
                Some(why) = self.servers.over.recv() => return Err(why),
                Some(done) = self.flying.join_next() => {
                    self.confirmed(done.unwrap_or_else(|e| Err(e.to_string()))?).await?;
                    Continue(())
                }
                line = lines.next_line(), if takes => match line {
                    Ok(Some(line)) => {
                        self.forward(line).await?;
                        Continue(())
                    }
                    _ => Break(()),
                },
                message = self.servers.heard.next() => match message {
                    Some(Ok(message)) => match self.receive(message, &mut to).await? {
                        Continue(()) => self.count_waiting(&mut to).await,
                        Break(()) => Break(()),
                    },
                    Some(Err(e)) => return Err(format!("cannot read the messages to this room: {e}")),
                    None => return Err("the servers ended the stream of this room".to_owned()),
                },
                _ = beat.tick() => self.beat(&mut to).await,
            };
        }
        timeout(limits::NATS_END, self.finish())
            .await
            .map_err(|_| not_taken("they do not answer"))?
    }

    /// Forwards a frame of this room.
    async fn forward(&mut self, line: String) -> Result<(), String> {
        match serde_json::from_str(&line).map_err(|e| e.to_string())? {
            CarrierFrame::State(state) => self.forward_state(state).await?,
            CarrierFrame::Item(item) => {
                let n = number(&item).unwrap_or_default();
                let parts = line
                    .as_bytes()
                    .chunks(limits::NATS_PART.min(self.servers.most));
                let of = parts.len() as u64;
                for (part, bytes) in (1..).zip(parts) {
                    self.publish(
                        &NatsMessageKind::Item { n, part, of },
                        bytes.to_vec(),
                        TransitMessageKind::Other,
                    )
                    .await?;
                }
            }
            CarrierFrame::Again(..) => {
                self.publish(
                    &NatsMessageKind::Again,
                    line.into_bytes(),
                    TransitMessageKind::Other,
                )
                .await?
            }
            // The connection to the servers has its own start and end.
            CarrierFrame::Hello(_) | CarrierFrame::Bye(_) => {}
        }
        Ok(())
    }

    /// Sends the states one after the other, so that they cannot overtake each other.
    async fn forward_state(&mut self, state: LinkEndState) -> Result<(), String> {
        self.committed = state.came.as_ref().map_or(0, |came| came.n);
        self.last = state.out.as_ref().map_or(0, |out| out.n);
        let behind = self.open.split_off(&(self.committed + 1));
        for acker in std::mem::replace(&mut self.open, behind)
            .into_values()
            .flatten()
        {
            acknowledge(&acker).await?;
        }
        self.wanted = Some(state);
        self.send_state().await
    }

    async fn send_state(&mut self) -> Result<(), String> {
        if self.is_telling {
            return Ok(());
        }
        if let Some(state) = self.wanted.take() {
            self.said.next(state);
            self.is_telling = true;
            self.publish(
                &NatsMessageKind::State,
                self.said.bytes(),
                TransitMessageKind::State,
            )
            .await?;
        }
        Ok(())
    }

    async fn publish(
        &mut self,
        kind: &NatsMessageKind,
        bytes: Vec<u8>,
        sent: TransitMessageKind,
    ) -> Result<(), String> {
        let asked = self
            .servers
            .context
            .publish(self.names.subject(kind), bytes.into())
            .await;
        let answer: PublishAckFuture = asked.map_err(|e| not_taken(&e.to_string()))?;
        self.flying.spawn(async move {
            answer
                .await
                .map(|_| sent)
                .map_err(|e| not_taken(&e.to_string()))
        });
        Ok(())
    }

    async fn confirmed(&mut self, sent: TransitMessageKind) -> Result<(), String> {
        if let TransitMessageKind::State = sent {
            self.is_telling = false;
            self.send_state().await?;
        }
        Ok(())
    }

    /// Handles a message of the other room.
    async fn receive(
        &mut self,
        message: Message,
        to: &mut pipe::Sender,
    ) -> Result<ControlFlow<()>, String> {
        let is_now = message
            .info()
            .is_ok_and(|info| info.published >= self.servers.since);
        let (message, acker) = message.split();
        let mut next = Continue(());
        match self.names.kind(&message.subject) {
            // A valid sender does not send later items.
            Some(NatsMessageKind::Item { n, part, of })
                if n <= self.committed + limits::FLYING_ITEMS =>
            {
                if let Some(frame) = self.peer.add(n, part, of, &message.payload) {
                    next = write_frame(to, &frame).await;
                }
                if n > self.committed {
                    self.open.entry(n).or_default().push(acker);
                    return Ok(next);
                }
            }
            Some(NatsMessageKind::State) => {
                next = self.receive_state(&message.payload, is_now, to).await?
            }
            Some(NatsMessageKind::Again) => {
                if let Ok(frame @ CarrierFrame::Again(..)) =
                    serde_json::from_slice(&message.payload)
                {
                    next = write_frame(to, &frame).await;
                }
            }
            _ => {}
        }
        // This also deletes messages that have no use here.
        acknowledge(&acker).await?;
        Ok(next)
    }

    async fn receive_state(
        &mut self,
        bytes: &[u8],
        is_now: bool,
        to: &mut pipe::Sender,
    ) -> Result<ControlFlow<()>, String> {
        let heard = self.peer.hear(bytes, self.said.room(), is_now)?;
        if heard == MessageTreatment::Old {
            return Ok(Continue(()));
        }
        Ok(match self.repeat_state(to).await {
            Continue(()) if heard == MessageTreatment::Begun => self.request_again(to).await,
            next => next,
        })
    }

    /// Counts the messages that the servers had at the start of the connection. The other room's state is used only after the
    /// last of them, because they can contain a reason why the rooms cannot communicate.
    async fn count_waiting(&mut self, to: &mut pipe::Sender) -> ControlFlow<()> {
        let waiting = self.servers.waiting;
        self.servers.waiting = waiting.saturating_sub(1);
        match waiting {
            1 => self.repeat_state(to).await,
            _ => Continue(()),
        }
    }

    /// Sends the other room's state to this room. The other room counts as connected while the servers are connected.
    async fn repeat_state(&self, to: &mut pipe::Sender) -> ControlFlow<()> {
        write_frame(to, &CarrierFrame::State(self.peer.state().clone())).await
    }

    async fn beat(&mut self, to: &mut pipe::Sender) -> ControlFlow<()> {
        self.repeat_state(to).await?;
        if self.peer.is_stuck(self.last) {
            self.request_again(to).await
        } else {
            Continue(())
        }
    }

    /// Requests from this room all items that the other room has not committed.
    async fn request_again(&self, to: &mut pipe::Sender) -> ControlFlow<()> {
        write_frame(to, &CarrierFrame::Again(self.peer.has() + 1, u64::MAX)).await
    }

    /// Waits until the servers have confirmed all messages.
    async fn finish(&mut self) -> Result<(), String> {
        while let Some(done) = self.flying.join_next().await {
            self.confirmed(done.unwrap_or_else(|e| Err(e.to_string()))?)
                .await?;
        }
        self.servers
            .context
            .client()
            .flush()
            .await
            .map_err(|e| e.to_string())
    }
}

/// A placeholder for the id of a room without messages.
const NOT_HEARD: &str = "not heard yet";

/// The number of an item. The rest of the item can be damaged.
fn number(item: &ItemText) -> Option<u64> {
    #[derive(Deserialize)]
    struct ItemNumber {
        n: u64,
    }
    serde_json::from_str(item.text())
        .ok()
        .map(|ItemNumber { n }| n)
}

async fn write_frame(to: &mut pipe::Sender, frame: &CarrierFrame) -> ControlFlow<()> {
    match to.write_all(&frame.line()).await {
        Ok(()) => Continue(()),
        Err(_) => Break(()),
    }
}

async fn acknowledge(acker: &Acker) -> Result<(), String> {
    acker.ack().await.map_err(|e| e.to_string())
}
