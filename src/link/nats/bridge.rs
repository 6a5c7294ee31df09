//! Hands on what the two ends of a link say: frames of this room's end become messages on the servers, and messages of the
//! other room become frames.
//!
//! A message with an item is acknowledged to the servers only when this room has committed the item, so they keep it if this
//! process is killed. They delete it then, but the sender's copy goes only when its router hears of the commit.

use super::names::{Kind, Names};
use super::peer::{Heard, Peer, Said};
use super::servers::{Servers, not_taken};
use crate::base::limits;
use crate::link::frames::{Frame, Hello, ItemText, VERSION};
use crate::room::links::EndState;
use async_nats::jetstream::context::PublishAckFuture;
use async_nats::jetstream::message::{Acker, Message};
use futures_util::StreamExt;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

/// The ends of the pipes to this room's end of the link.
pub(super) struct Ends {
    pub(super) to_room: OwnedFd,
    pub(super) from_room: OwnedFd,
}

/// Whether it goes on.
enum Next {
    On,
    /// This room has ended the connection.
    End,
}

/// What a message on its way to the servers is.
enum Sent {
    State,
    Other,
}

pub(super) struct Bridge {
    servers: Servers,
    names: Names,
    peer: Peer,
    /// What this room said last of itself, whether that is new, and whether it is on its way.
    said: Said,
    wanted: Option<EndState>,
    is_telling: bool,
    /// Up to which item this room has committed them, and the messages with those behind it.
    committed: u64,
    open: BTreeMap<u64, Vec<Acker>>,
    /// The number of its last item.
    last: u64,
    /// Messages that the servers have not confirmed.
    flying: JoinSet<Result<Sent, String>>,
}

impl Bridge {
    pub(super) fn new(servers: Servers, names: Names, peer: Peer, said: Said) -> Bridge {
        let committed = said.state.came.as_ref().map_or(0, |came| came.n);
        Bridge {
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

    /// Runs until this room ends the connection. `Err` is why it could not go on.
    pub(super) async fn run(mut self, ends: Ends) -> Result<(), String> {
        let pipes = pipe::Sender::from_owned_fd(ends.to_room)
            .and_then(|to| Ok((to, pipe::Receiver::from_owned_fd(ends.from_room)?)));
        let (mut to, from) = pipes.map_err(|e| e.to_string())?;
        let mut lines = BufReader::new(from).lines();
        let room = Some(&self.peer.state().room)
            .filter(|room| !room.is_empty())
            .cloned();
        let hello = Hello {
            version: VERSION,
            room: room.unwrap_or_else(|| NOT_HEARD.to_owned()),
        };
        let mut next = hand_on(&mut to, &Frame::Hello(hello)).await;
        if let (Next::On, 0) = (&next, self.servers.waiting) {
            next = self.repeat(&mut to).await;
        }
        let mut beat = interval_at(Instant::now() + limits::CARRIER_BEAT, limits::CARRIER_BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while let Next::On = next {
            let takes = self.flying.len() < limits::NATS_FLYING;
            next = tokio::select! {
                biased;
                Some(why) = self.servers.over.recv() => return Err(why),
                Some(done) = self.flying.join_next() => self.confirmed(done.unwrap_or_else(|e| Err(e.to_string()))?).await?,
                line = lines.next_line(), if takes => match line {
                    Ok(Some(line)) => self.say(line).await?,
                    _ => Next::End,
                },
                message = self.servers.heard.next() => match message {
                    Some(Ok(message)) => match self.hear(message, &mut to).await? {
                        Next::On => self.begin(&mut to).await,
                        Next::End => Next::End,
                    },
                    Some(Err(e)) => return Err(format!("cannot read what is for this room: {e}")),
                    None => return Err("the servers have nothing more for this room".to_owned()),
                },
                _ = beat.tick() => self.beat(&mut to).await,
            };
        }
        timeout(limits::NATS_END, self.finish())
            .await
            .map_err(|_| not_taken("they do not answer"))?
    }

    /// What this room says.
    async fn say(&mut self, line: String) -> Result<Next, String> {
        match serde_json::from_str(&line).map_err(|e| e.to_string())? {
            Frame::State(state) => self.say_state(state).await?,
            Frame::Item(item) => {
                let n = number(&item).unwrap_or_default();
                let parts = line
                    .as_bytes()
                    .chunks(limits::NATS_PART.min(self.servers.most));
                let of = parts.len() as u64;
                for (part, bytes) in (1..).zip(parts) {
                    self.publish(&Kind::Item { n, part, of }, bytes.to_vec(), Sent::Other)
                        .await?;
                }
            }
            Frame::Again(..) => {
                self.publish(&Kind::Again, line.into_bytes(), Sent::Other)
                    .await?
            }
            // Each connection to the servers has its own beginning and end.
            Frame::Hello(_) | Frame::Bye(_) => {}
        }
        Ok(Next::On)
    }

    /// One state after the other is on its way, so that they cannot overtake each other.
    async fn say_state(&mut self, state: EndState) -> Result<(), String> {
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
        self.tell().await
    }

    async fn tell(&mut self) -> Result<(), String> {
        if self.is_telling {
            return Ok(());
        }
        if let Some(state) = self.wanted.take() {
            self.said.next(state);
            self.is_telling = true;
            self.publish(&Kind::State, self.said.bytes(), Sent::State)
                .await?;
        }
        Ok(())
    }

    async fn publish(&mut self, kind: &Kind, bytes: Vec<u8>, sent: Sent) -> Result<(), String> {
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

    async fn confirmed(&mut self, sent: Sent) -> Result<Next, String> {
        if let Sent::State = sent {
            self.is_telling = false;
            self.tell().await?;
        }
        Ok(Next::On)
    }

    /// What the other room says.
    async fn hear(&mut self, message: Message, to: &mut pipe::Sender) -> Result<Next, String> {
        let is_now = message
            .info()
            .is_ok_and(|info| info.published >= self.servers.since);
        let (message, acker) = message.split();
        let mut next = Next::On;
        match self.names.kind(&message.subject) {
            // No sender goes further ahead.
            Some(Kind::Item { n, part, of }) if n <= self.committed + limits::FLYING_ITEMS => {
                if let Some(frame) = self.peer.add(n, part, of, &message.payload) {
                    next = hand_on(to, &frame).await;
                }
                if n > self.committed {
                    self.open.entry(n).or_default().push(acker);
                    return Ok(next);
                }
            }
            Some(Kind::State) => next = self.hear_state(&message.payload, is_now, to).await?,
            Some(Kind::Again) => {
                if let Ok(frame @ Frame::Again(..)) = serde_json::from_slice(&message.payload) {
                    next = hand_on(to, &frame).await;
                }
            }
            _ => {}
        }
        // What is of no use here is gone with this.
        acknowledge(&acker).await?;
        Ok(next)
    }

    async fn hear_state(
        &mut self,
        bytes: &[u8],
        is_now: bool,
        to: &mut pipe::Sender,
    ) -> Result<Next, String> {
        let heard = self.peer.hear(bytes, self.said.room(), is_now)?;
        if heard == Heard::Old {
            return Ok(Next::On);
        }
        Ok(match self.repeat(to).await {
            Next::On if heard == Heard::Begun => self.send_again(to).await,
            next => next,
        })
    }

    /// What this room knows of the other one counts once it has heard all that the servers had when the connection began: they
    /// may have a reason why the rooms cannot speak with each other.
    async fn begin(&mut self, to: &mut pipe::Sender) -> Next {
        let waiting = self.servers.waiting;
        self.servers.waiting = waiting.saturating_sub(1);
        match waiting {
            1 => self.repeat(to).await,
            _ => Next::On,
        }
    }

    /// Says how far the other room is. It counts as there as long as the servers are.
    async fn repeat(&self, to: &mut pipe::Sender) -> Next {
        hand_on(to, &Frame::State(self.peer.state().clone())).await
    }

    async fn beat(&mut self, to: &mut pipe::Sender) -> Next {
        match self.repeat(to).await {
            Next::On if self.peer.is_stuck(self.last) => self.send_again(to).await,
            next => next,
        }
    }

    /// Has this room's end send everything that the other room has not committed.
    async fn send_again(&self, to: &mut pipe::Sender) -> Next {
        hand_on(to, &Frame::Again(self.peer.has() + 1, u64::MAX)).await
    }

    /// Gives the servers what this room has said.
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

/// Stands for the id of a room that has not spoken yet.
const NOT_HEARD: &str = "not heard yet";

/// The number of an item. The rest of it may be damaged.
fn number(item: &ItemText) -> Option<u64> {
    #[derive(Deserialize)]
    struct Head {
        n: u64,
    }
    serde_json::from_str(item.text()).ok().map(|Head { n }| n)
}

async fn hand_on(to: &mut pipe::Sender, frame: &Frame) -> Next {
    match to.write_all(&frame.line()).await {
        Ok(()) => Next::On,
        Err(_) => Next::End,
    }
}

async fn acknowledge(acker: &Acker) -> Result<(), String> {
    acker.ack().await.map_err(|e| e.to_string())
}
