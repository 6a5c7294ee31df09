//! The carrier over a NATS cluster. Both rooms connect to it, and JetStream stores the messages of one room until the other
//! room has committed them.
//!
//! `servers` connects and creates streams and consumers, `names` defines their names, `peer` checks incoming messages, and
//! `bridge` forwards between the servers and `mirror`.
//!
//! JetStream is not trusted to keep anything: a message there is a copy of a file in `links/<tag>/out/`, and the file stays
//! until the other room's router has confirmed the item.

mod bridge;
mod names;
mod peer;
mod servers;

use crate::base::error::{Error, ErrorContext, Result};
use crate::base::{limits, sanitize};
use crate::disk::layout;
use crate::link::frames::{CarrierHello, VERSION, gone};
use crate::room::Room;
use crate::room::key_file::KeyFile;
use crate::room::links::LinkEndState;
use crate::room::settings::{LinkConnection, NatsAddress};
use bridge::{NatsBridge, PipeEnds};
use names::NatsNames;
use peer::{NatsPeer, StateMessage};
use servers::{NatsAccess, NatsConnection};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use std::time::Instant;

/// The time limit for a connection to NATS servers and the setup there.
const NATS_CONNECT: Duration = Duration::from_secs(30);
/// The default number of NATS servers that keep a stream.
const NATS_REPLICAS: u8 = 3;

/// A connection to the servers.
pub(super) struct NatsClient {
    thread: JoinHandle<std::result::Result<(), String>>,
}

impl NatsClient {
    /// Connects. Returns the file to read from the other room, and the file to write to it.
    pub(super) fn start(
        room: &Room,
        connection: &LinkConnection,
        known_as: &str,
    ) -> Result<(NatsClient, (File, File))> {
        let begin = ConnectionStart::new(room, connection, known_as)?;
        let (from, to_room) = std::io::pipe().doing("make a pipe for", room.dir.path())?;
        let (from_room, to) = std::io::pipe().doing("make a pipe for", room.dir.path())?;
        let ends = PipeEnds {
            to_room: to_room.into(),
            from_room: from_room.into(),
        };
        let (ready, is_ready) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("nats".into())
            .spawn(move || begin.run(ends, &ready));
        let client = NatsClient {
            thread: thread.doing("start a thread for", &connection.address)?,
        };
        // The thread ends without this signal if it cannot connect.
        if is_ready.recv().is_err() {
            return Err(gone(client.end()));
        }
        let file = |fd: OwnedFd| File::from(fd);
        Ok((client, (file(from.into()), file(to.into()))))
    }

    /// Waits for a limited time until the servers have all messages of this room. Returns the reason if the connection ended.
    pub(super) fn end(self) -> String {
        let deadline = Instant::now() + limits::NATS_END + limits::LOCK_LOOK;
        while Instant::now() < deadline && !self.thread.is_finished() {
            std::thread::sleep(limits::LOCK_LOOK);
        }
        if !self.thread.is_finished() {
            return "the servers did not accept all messages of this room".to_owned();
        }
        let done = self
            .thread
            .join()
            .unwrap_or_else(|_| Err("its thread failed unexpectedly".to_owned()));
        done.err()
            .map(|why| sanitize::brief(&why, limits::BYE_CHARS))
            .unwrap_or_default()
    }
}

/// The data for a new connection.
struct ConnectionStart {
    access: NatsAccess,
    names: NatsNames,
    peer: NatsPeer,
    said: StateMessage,
}

impl ConnectionStart {
    fn new(room: &Room, connection: &LinkConnection, known_as: &str) -> Result<ConnectionStart> {
        let LinkConnection {
            link,
            address,
            credentials,
            ca,
            ..
        } = connection;
        let NatsAddress { servers, tls } = NatsAddress::parse(address).ok_or_else(|| {
            Error::usage(
                format!("{address} is not an address of NATS servers"),
                "write nats://HOST:PORT or tls://HOST:PORT",
            )
        })?;
        let read = |file: &crate::room::key_file::KeyFile| file.read();
        let credentials = credentials.as_ref().map(read).transpose()?;
        ca.as_ref().map(read).transpose()?;
        let replicas = room
            .settings()?
            .links
            .get(link)
            .and_then(|link| link.nats.replicas);
        let access = NatsAccess {
            servers,
            tls: tls || ca.is_some(),
            credentials: credentials.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            ca: ca.as_ref().map(KeyFile::place),
            replicas: replicas.unwrap_or(NATS_REPLICAS),
        };
        let id = room.id()?.unwrap_or_default();
        let own = LinkEndState::read(&room.dir.make_loose(layout::link_out(link))?)?;
        let own = own.unwrap_or_else(|| LinkEndState::of(&id, None, Arc::default()));
        let far = LinkEndState::read(&room.dir.make_loose(layout::link_in(link))?)?;
        Ok(ConnectionStart {
            access,
            names: NatsNames::new(known_as, link),
            peer: NatsPeer::new(&own, far),
            said: StateMessage::first(
                CarrierHello {
                    version: VERSION,
                    room: id,
                },
                own,
            ),
        })
    }

    /// Runs until the room or the servers end the connection.
    fn run(self, ends: PipeEnds, ready: &mpsc::Sender<()>) -> std::result::Result<(), String> {
        let ConnectionStart {
            access,
            names,
            peer,
            said,
        } = self;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| e.to_string())?;
        let done = runtime.block_on(async {
            let opened =
                tokio::time::timeout(NATS_CONNECT, NatsConnection::open(&access, &names, &said))
                    .await;
            let servers = opened.map_err(|_| "the servers do not answer".to_owned())??;
            let _ = ready.send(());
            NatsBridge::new(servers, names, peer, said).run(ends).await
        });
        // A lookup of a host name can hang.
        runtime.shutdown_background();
        done
    }
}
