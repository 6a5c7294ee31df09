//! `mailbag web`: the real program, asked over HTTP by a client that sends exactly what a test says, and by a real browser.

mod browser;
mod forms;
mod gate;
mod pages;
mod stream;

use crate::world::World;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A page of a room, served until dropped.
pub(super) struct Page {
    child: Child,
    pub(super) at: SocketAddr,
    pub(super) url: String,
    pub(super) token: String,
}

impl Page {
    pub(super) fn of(world: &World) -> Page {
        Page::with(world, &[])
    }

    pub(super) fn with(world: &World, more: &[&str]) -> Page {
        Page::by(world.bare(&[&["web", "--json"], more].concat()))
    }

    pub(super) fn by(mut command: Command) -> Page {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("the page starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("it says where it is");
        let started: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        let text = |field: &str| started[field].as_str().expect("a text").to_owned();
        let at = text("listen").parse().expect("an address");
        Page { child, at, url: text("url"), token: text("token") }
    }

    /// Sends these bytes, and gives everything that comes back.
    pub(super) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A page that refuses may close before it has read all.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a patience");
        stream
    }

    /// A request of a program with the token, with these further header lines.
    pub(super) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        Answer::read(&self.raw(&self.request(method, path, headers, body)))
    }

    fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {}\r\n{headers}Content-Length: {}\r\n\r\n",
            self.at,
            self.token,
            body.len()
        );
        [head.as_bytes(), body.as_bytes()].concat()
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "")
    }

    /// Posts a form as the page itself does.
    pub(super) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        Answer::read(&self.raw(&self.form(path, fields)))
    }

    /// Posts a form, and waits for no answer.
    pub(super) fn begin(&self, path: &str, fields: &[(&str, &str)]) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(&self.form(path, fields)).expect("it is sent");
        stream
    }

    fn form(&self, path: &str, fields: &[(&str, &str)]) -> Vec<u8> {
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let headers = format!("Origin: http://{}\r\nContent-Type: application/x-www-form-urlencoded\r\n", self.at);
        self.request("POST", path, &headers, &body.join("&"))
    }

    /// Posts a form, and gives the page that comes next.
    #[track_caller]
    pub(super) fn submit(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let answer = self.post(path, fields);
        assert_eq!(answer.status, 303, "{answer:?}");
        self.get(answer.header("location"))
    }

    /// The first line of an answer that may have no end.
    pub(super) fn get_head(&self, path: &str) -> String {
        let mut stream = self.connect();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n", self.at, self.token);
        let _ = stream.write_all(head.as_bytes());
        let mut line = String::new();
        let _ = BufReader::new(stream).read_line(&mut line);
        line
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, as `kill -9` does.
    pub(super) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    fn read(text: &str) -> Answer {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        let head = head.to_owned();
        let body =
            if head.to_lowercase().contains("transfer-encoding: chunked") { unchunked(body) } else { body.into() };
        Answer { status, head, body }
    }

    #[track_caller]
    pub(super) fn header(&self, name: &str) -> &str {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut values = lines.filter(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value);
        values.next().unwrap_or_else(|| panic!("no {name} in {}", self.head))
    }

    #[track_caller]
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let Ok(size @ 1..) = usize::from_str_radix(size, 16) else { break };
        whole += rest.get(..size).unwrap_or(rest);
        body = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
