//! The connection to the servers, with a stream for each room and a consumer for the other room's messages.

use super::names::{NatsMessageKind, NatsNames};
use super::peer::StateMessage;
use crate::base::limits;
use async_nats::datetime::DateTime;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::context::{ContextBuilder, CreateStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::stream::{
    Config, ConsumerErrorKind, DiscardPolicy, RetentionPolicy, StorageType,
};
use async_nats::jetstream::{Context, ErrorCode};
use async_nats::{ConnectOptions, Event, ServerAddr, ServerError};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

/// The time limit for one answer of a NATS server.
const NATS_ANSWER: Duration = Duration::from_secs(5);
/// The number of messages in one request.
const NATS_BATCH: usize = 100;
/// The number of messages that NATS servers send before this room has committed them.
const NATS_OPEN: i64 = 4 * limits::FLYING_ITEMS as i64;
/// NATS servers send uncommitted messages again after this time.
const NATS_REPEAT: Duration = Duration::from_secs(300);

/// The addresses of the servers, and the credentials of this room.
pub(super) struct NatsAccess {
    pub(super) servers: Vec<String>,
    pub(super) tls: bool,
    pub(super) credentials: Option<String>,
    pub(super) ca: Option<PathBuf>,
    pub(super) replicas: u8,
}

/// A connection.
pub(super) struct NatsConnection {
    pub(super) context: Context,
    /// The messages of the other room.
    pub(super) heard: pull::Stream,
    /// The start of this connection, by the servers' clock.
    pub(super) since: DateTime,
    /// The number of messages to this room at the start of this connection.
    pub(super) waiting: u64,
    /// The reason for the end of the connection.
    pub(super) over: mpsc::Receiver<String>,
    /// The largest size of a message, in bytes.
    pub(super) most: usize,
}

impl NatsConnection {
    /// Connects, and sends the first state message of this room.
    pub(super) async fn open(
        access: &NatsAccess,
        names: &NatsNames,
        said: &StateMessage,
    ) -> Result<NatsConnection, String> {
        let (tell, mut over) = mpsc::channel(8);
        let client = connect(access, names, tell).await?;
        let most = client.server_info().max_payload;
        let context = ContextBuilder::new().timeout(NATS_ANSWER).build(client);
        let made = NatsSetup {
            context: &context,
            access,
            names,
        };
        // The server reports a missing permission only as an event.
        let IncomingMessages {
            heard,
            since,
            waiting,
        } = tokio::select! {
            biased;
            Some(why) = over.recv() => return Err(why),
            heard = made.all(said) => heard?,
        };
        Ok(NatsConnection {
            context,
            heard,
            since,
            waiting,
            over,
            most,
        })
    }
}

async fn connect(
    access: &NatsAccess,
    names: &NatsNames,
    tell: mpsc::Sender<String>,
) -> Result<async_nats::Client, String> {
    let addresses: Result<Vec<ServerAddr>, _> =
        access.servers.iter().map(|server| server.parse()).collect();
    let addresses = addresses.map_err(|e| e.to_string())?;
    let mut options = ConnectOptions::new()
        .name("mailbag")
        .custom_inbox_prefix(names.inbox())
        // The person agreed to these servers, and to no others.
        .ignore_discovered_servers()
        .require_tls(access.tls)
        .connection_timeout(NATS_ANSWER)
        .request_timeout(Some(NATS_ANSWER))
        .ping_interval(limits::CARRIER_BEAT)
        .event_callback(move |event| {
            let why = reason(event);
            // Only the first reason is needed.
            if let Some(why) = why {
                let _ = tell.try_send(why);
            }
            std::future::ready(())
        });
    if let Some(ca) = &access.ca {
        options = options.add_root_certificates(ca.clone());
    }
    if let Some(text) = &access.credentials {
        options = authenticate(options, text)?;
    }
    options
        .connect(addresses)
        .await
        .map_err(|e| format!("cannot connect to {}: {e}", access.servers.join(", ")))
}

/// The reason if an event ends the connection.
fn reason(event: Event) -> Option<String> {
    match event {
        Event::Disconnected | Event::Closed => Some("the server ended the connection".to_owned()),
        Event::LameDuckMode => Some("the server is shutting down".to_owned()),
        Event::ServerError(ServerError::Other(why)) => Some(format!("the server reports: {why}")),
        Event::ServerError(why) => Some(why.to_string()),
        _ => None,
    }
}

fn authenticate(options: ConnectOptions, text: &str) -> Result<ConnectOptions, String> {
    if text.contains("-----BEGIN NATS USER JWT-----") {
        return options
            .credentials(text)
            .map_err(|e| format!("the file with the credentials is damaged: {e}"));
    }
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    match (lines.next(), lines.next()) {
        (Some(line), None) => Ok(match line.split_once(':') {
            Some((user, password)) => options.user_and_password(user.to_owned(), password.to_owned()),
            None => options.nkey(line.to_owned()),
        }),
        _ => {
            Err("the file with the credentials has neither a JWT of NATS nor one line with an NKey or `user:password`"
                .into())
        }
    }
}

/// The messages of the other room, and the number of waiting ones.
struct IncomingMessages {
    heard: pull::Stream,
    since: DateTime,
    waiting: u64,
}

/// Creates missing streams and consumers on the servers.
struct NatsSetup<'a> {
    context: &'a Context,
    access: &'a NatsAccess,
    names: &'a NatsNames,
}

impl NatsSetup<'_> {
    async fn all(&self, said: &StateMessage) -> Result<IncomingMessages, String> {
        let [own, peer] = self.names.subjects();
        self.remove_consumer(&own).await?;
        let heard = self.consumer().await?;
        match self.publish_state(said).await {
            Err(PublishErrorKind::StreamNotFound) => {
                self.stream(self.names.peer_stream(), peer).await?;
                self.publish_state(said)
                    .await
                    .map_err(|kind| not_taken(&kind.to_string()))?;
            }
            said => said.map_err(|kind| not_taken(&kind.to_string()))?,
        }
        Ok(heard)
    }

    /// Removes the consumer of an earlier connection, so that uncommitted messages arrive without a delay. Creates this
    /// room's stream if it is missing.
    async fn remove_consumer(&self, subjects: &str) -> Result<(), String> {
        let stream = self.names.own_stream();
        let Err(e) = self
            .context
            .delete_consumer_from_stream(self.names.consumer(), &stream)
            .await
        else {
            return Ok(());
        };
        match e.kind() {
            ConsumerErrorKind::JetStream(e) if e.error_code() == ErrorCode::CONSUMER_NOT_FOUND => {
                Ok(())
            }
            ConsumerErrorKind::JetStream(e) if e.error_code() == ErrorCode::STREAM_NOT_FOUND => {
                self.stream(stream, subjects.to_owned()).await
            }
            _ => Err(format!("cannot use the stream {stream}: {e}")),
        }
    }

    async fn stream(&self, name: String, subjects: String) -> Result<(), String> {
        let config = Config {
            name: name.clone(),
            subjects: vec![subjects],
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::File,
            num_replicas: self.access.replicas.into(),
            // A repeated message replaces the earlier one.
            max_messages_per_subject: 1,
            discard: DiscardPolicy::Old,
            max_message_size: (limits::NATS_PART + limits::NATS_MORE) as i32,
            description: Some("mail between rooms of mailbag".to_owned()),
            ..Config::default()
        };
        let Err(e) = self.context.create_stream(config).await else {
            return Ok(());
        };
        match e.kind() {
            // The other room has just created it.
            CreateStreamErrorKind::JetStream(e)
                if e.error_code() == ErrorCode::STREAM_NAME_EXIST =>
            {
                Ok(())
            }
            _ => Err(format!("cannot create the stream {name}: {e}")),
        }
    }

    async fn consumer(&self) -> Result<IncomingMessages, String> {
        let config = pull::Config {
            durable_name: Some(self.names.consumer().to_owned()),
            filter_subject: self.names.heard(),
            ack_policy: AckPolicy::Explicit,
            ack_wait: NATS_REPEAT,
            max_ack_pending: NATS_OPEN,
            ..pull::Config::default()
        };
        let stream = self.names.own_stream();
        let made = self
            .context
            .create_consumer_on_stream(config, &stream)
            .await;
        let consumer = made.map_err(|e| format!("cannot read the stream {stream}: {e}"))?;
        let heard = consumer
            .stream()
            .max_messages_per_batch(NATS_BATCH)
            .heartbeat(HEARTBEAT)
            .messages()
            .await;
        let heard = heard.map_err(|e| format!("cannot read the stream {stream}: {e}"))?;
        let info = consumer.cached_info();
        Ok(IncomingMessages {
            heard,
            since: info.created,
            waiting: info.num_pending,
        })
    }

    async fn publish_state(&self, said: &StateMessage) -> Result<(), PublishErrorKind> {
        let asked = self
            .context
            .publish(
                self.names.subject(&NatsMessageKind::State),
                said.bytes().into(),
            )
            .await;
        asked
            .map_err(|e| e.kind())?
            .await
            .map(drop)
            .map_err(|e| e.kind())
    }
}

/// The error for a message that the servers did not accept.
pub(super) fn not_taken(why: &str) -> String {
    format!("the servers did not accept a message of this room: {why}")
}

const HEARTBEAT: Duration = Duration::from_secs(5);
