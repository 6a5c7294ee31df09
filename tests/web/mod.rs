//! `mailbag web`: the real program, asked over HTTP by a client that sends exactly the test's
//! bytes, and by a real browser.

mod attack;
mod browser;
mod forms;
mod gate;
mod pages;
mod stream;

use crate::files;
use crate::world::{KilledChild, World, lossy, parse_json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// The time limit of an answer.
const PATIENCE: Duration = Duration::from_secs(30);
/// The header line of a form.
pub(super) const FORM: &str = "Content-Type: application/x-www-form-urlencoded\r\n";

/// A page of a room, served until dropped.
pub(super) struct Page {
    child: KilledChild,
    pub(super) at: SocketAddr,
    pub(super) url: String,
    secret: OnceLock<String>,
}

impl Page {
    pub(super) fn of(world: &World) -> Page {
        Page::by(world.bare("web --json"))
    }

    pub(super) fn by(mut command: Command) -> Page {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the page starts");
        let mut child = KilledChild(child);
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("it says where it is");
        let started = parse_json(&line);
        let text = |field: &str| started[field].as_str().expect("a text").to_owned();
        let at = text("listen").parse().expect("an address");
        Page {
            child,
            at,
            url: text("url"),
            secret: OnceLock::new(),
        }
    }

    /// Enters with this token, as the script of the page does.
    pub(super) fn enter(&self, token: &str) -> Answer {
        let headers = format!("Origin: http://{}\r\n{FORM}", self.at);
        self.plain(
            "POST",
            "/enter",
            &headers,
            &format!("token={}", encoded(token)),
        )
    }

    /// The token in the printed URL.
    pub(super) fn entry(&self) -> &str {
        self.url
            .split_once("/#enter=")
            .expect("a token in the fragment")
            .1
    }

    /// The secret of a browser, which enters with the printed URL when it is first needed.
    pub(super) fn secret(&self) -> &str {
        self.secret.get_or_init(|| {
            let entered = self.enter(self.entry());
            assert_eq!(entered.status, 200, "{entered:?}");
            entered.json()["secret"]
                .as_str()
                .expect("a secret")
                .to_owned()
        })
    }

    /// A request with exactly these further header lines, and no secret.
    pub(super) fn plain(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let request = self.request(&format!("{method} {path}"), headers, body);
        Answer::read(&self.raw(request.as_bytes()))
    }

    fn request(&self, line: &str, headers: &str, body: &str) -> String {
        let (at, length) = (self.at, body.len());
        format!(
            "{line} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        )
    }

    /// The header line of a browser that has entered.
    pub(super) fn known(&self) -> String {
        format!("X-Mailbag-Secret: {}\r\n", self.secret())
    }

    /// Sends these bytes, and returns the complete response.
    pub(super) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A page that rejects a request may close before it has read all bytes.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        lossy(&answer)
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.at).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a patience");
        stream
    }

    /// A request of a browser that has entered, with these further header lines.
    pub(super) fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        self.plain(method, path, &(self.known() + headers), body)
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "", "")
    }

    /// Posts a form as the page itself does.
    pub(super) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        Answer::read(&self.raw(self.form(path, fields).as_bytes()))
    }

    /// Posts a form, and waits for no answer.
    pub(super) fn begin(&self, path: &str, fields: &[(&str, &str)]) -> TcpStream {
        let mut stream = self.connect();
        stream
            .write_all(self.form(path, fields).as_bytes())
            .expect("it is sent");
        stream
    }

    fn form(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let field = |(name, value): &(&str, &str)| format!("{name}={}", encoded(value));
        let body: Vec<String> = fields.iter().map(field).collect();
        let headers = format!("Origin: http://{}\r\n{FORM}{}", self.at, self.known());
        self.request(&format!("POST {path}"), &headers, &body.join("&"))
    }

    /// Posts a form that must succeed, and returns the result.
    #[track_caller]
    pub(super) fn submit(&self, path: &str, fields: &[(&str, &str)]) -> serde_json::Value {
        let answer = self.post(path, fields);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }

    /// The first line of an answer that may have no end.
    pub(super) fn get_head(&self, path: &str) -> String {
        let mut stream = self.connect();
        let head = self.request(&format!("GET {path}"), &self.known(), "");
        let _ = stream.write_all(head.as_bytes());
        let mut line = String::new();
        let _ = BufReader::new(stream).read_line(&mut line);
        line
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    /// The memory of its process, in kB.
    fn memory(&self) -> u64 {
        let status = files::read_text(format!("/proc/{}/status", self.process()));
        let mut lines = status.lines();
        let line = lines.find_map(|line| line.strip_prefix("VmRSS:"));
        let words = line.expect("its memory").split_whitespace().next();
        words.and_then(|word| word.parse().ok()).expect("a number")
    }

    /// Kills it, as `kill -9` does.
    pub(super) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Answer {
    fn read(text: &str) -> Answer {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        let status = status.unwrap_or_default();
        let head = head.to_owned();
        let body = if head.to_lowercase().contains("transfer-encoding: chunked") {
            unchunked(body)
        } else {
            body.into()
        };
        Answer { status, head, body }
    }

    #[track_caller]
    pub(super) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(one, _)| one.eq_ignore_ascii_case(name));
        found
            .unwrap_or_else(|| panic!("no {name} in {}", self.head))
            .1
    }

    #[track_caller]
    pub(super) fn json(&self) -> serde_json::Value {
        parse_json(&self.body)
    }
}

fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let Ok(size @ 1..) = usize::from_str_radix(size, 16) else {
            break;
        };
        whole += rest.get(..size).unwrap_or(rest);
        body = rest.get(size + 2..).unwrap_or_default();
    }
    whole
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}
