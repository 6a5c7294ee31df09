//! The carrier over a NATS cluster: both rooms connect to it, and JetStream keeps what one of them says until the other one
//! has committed it.
//!
//! `servers` connects and makes what is needed there, `names` is how subjects are called, `peer` judges what comes, and
//! `bridge` hands on between the servers and the two ends that `mirror` speaks over.
//!
//! JetStream is not trusted to keep anything: a message there is a copy of a file in `links/<tag>/out/`, which stays until the
//! other room's router has confirmed it.

mod bridge;
mod names;
mod peer;
mod servers;

use crate::base::error::{Doing, Error, Result};
use crate::base::{limits, sanitize};
use crate::disk::layout;
use crate::link::frames::{Hello, VERSION, gone};
use crate::room::Room;
use crate::room::consent::Connection;
use crate::room::links::EndState;
use crate::room::settings::NatsAddress;
use bridge::{Bridge, Ends};
use names::Names;
use peer::{Peer, Said};
use servers::{Access, Servers};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

/// A connection to the servers.
pub(super) struct Client {
    thread: JoinHandle<std::result::Result<(), String>>,
}

impl Client {
    /// Connects. Gives what the other room says, and where to write for it.
    pub(super) fn start(
        room: &Room,
        connection: &Connection,
        known_as: &str,
    ) -> Result<(Client, (File, File))> {
        let begin = Begin::new(room, connection, known_as)?;
        let (from, to_room) = std::io::pipe().doing("make a pipe for", room.dir.path())?;
        let (from_room, to) = std::io::pipe().doing("make a pipe for", room.dir.path())?;
        let ends = Ends {
            to_room: to_room.into(),
            from_room: from_room.into(),
        };
        let (ready, is_ready) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("nats".into())
            .spawn(move || begin.run(ends, &ready));
        let client = Client {
            thread: thread.doing("start a thread for", &connection.address)?,
        };
        // It ends without a word if it cannot connect.
        if is_ready.recv().is_err() {
            return Err(gone(client.end()));
        }
        let file = |fd: OwnedFd| File::from(fd);
        Ok((client, (file(from.into()), file(to.into()))))
    }

    /// Waits a limited time until the servers have what this room said, and gives the reason if the connection ended.
    pub(super) fn end(self) -> String {
        let deadline = Instant::now() + limits::NATS_END + limits::LOCK_LOOK;
        while Instant::now() < deadline && !self.thread.is_finished() {
            std::thread::sleep(limits::LOCK_LOOK);
        }
        if !self.thread.is_finished() {
            return "the servers did not take everything that this room said".to_owned();
        }
        let done = self
            .thread
            .join()
            .unwrap_or_else(|_| Err("its thread broke".to_owned()));
        done.err()
            .map(|why| sanitize::brief(&why, limits::BYE_CHARS))
            .unwrap_or_default()
    }
}

/// What a connection begins with.
struct Begin {
    access: Access,
    names: Names,
    peer: Peer,
    said: Said,
}

impl Begin {
    fn new(room: &Room, connection: &Connection, known_as: &str) -> Result<Begin> {
        let Connection {
            link,
            address,
            credentials,
            ca,
            ..
        } = connection;
        let NatsAddress { servers, tls } =
            NatsAddress::parse(address).ok_or_else(|| Error::Usage {
                what: format!("{address} is no address of NATS servers"),
                cure: "write nats://HOST:PORT or tls://HOST:PORT".into(),
            })?;
        let read = |file: &crate::room::key_file::KeyFile| file.read();
        let credentials = credentials.as_ref().map(read).transpose()?;
        ca.as_ref().map(read).transpose()?;
        let replicas = room
            .settings()?
            .links
            .get(link)
            .and_then(|link| link.nats.replicas);
        let access = Access {
            servers,
            tls: tls || ca.is_some(),
            credentials: credentials.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
            ca: ca.as_ref().map(|file| file.place()),
            replicas: replicas.unwrap_or(limits::NATS_REPLICAS),
        };
        let id = room.id()?.unwrap_or_default();
        let own = EndState::read(&room.dir.make_loose(layout::link_out(link))?)?;
        let own = own.unwrap_or_else(|| EndState::of(&id, None, Arc::default()));
        let far = EndState::read(&room.dir.make_loose(layout::link_in(link))?)?;
        Ok(Begin {
            access,
            names: Names::new(known_as, link),
            peer: Peer::new(&own, far),
            said: Said::first(
                Hello {
                    version: VERSION,
                    room: id,
                },
                own,
            ),
        })
    }

    /// Runs until the room or the servers end it.
    fn run(self, ends: Ends, ready: &mpsc::Sender<()>) -> std::result::Result<(), String> {
        let Begin {
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
                tokio::time::timeout(limits::NATS_CONNECT, Servers::open(&access, &names, &said))
                    .await;
            let servers = opened.map_err(|_| "the servers do not answer".to_owned())??;
            let _ = ready.send(());
            Bridge::new(servers, names, peer, said).run(ends).await
        });
        // A look-up of a host's name may hang.
        runtime.shutdown_background();
        done
    }
}
