//! The MCP server, spoken to by the test itself line by line, and by the official Python client.

mod attaching;
mod claims;
mod cost;
mod identity;
mod protocol;
mod python;
mod receipts;
mod tools;
mod waits;

use crate::town::{PATIENCE, so_within};
use crate::world::World;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// A client that speaks the protocol by itself, and its server.
pub(crate) struct Client {
    server: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    /// Messages that arrived before a test asked for them.
    early: RefCell<Vec<Value>>,
    last: RefCell<u64>,
}

impl Client {
    /// A client of that agent, by `MAILBAG_AGENT`.
    pub(crate) fn of(world: &World, agent: &str) -> Client {
        Client::with(world, &[], &[("MAILBAG_AGENT", agent)])
    }

    /// A client in a session of Claude Code, without an agent.
    fn session(world: &World, session: &str) -> Client {
        Client::with(world, &[], &[("CLAUDE_CODE_SESSION_ID", session)])
    }

    /// A client with these arguments and variables, after the handshake.
    fn with(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> Client {
        let client = Client::start(world, arguments, variables);
        client.handshake("2025-06-18");
        client
    }

    /// The same before it.
    fn start(world: &World, arguments: &[&str], variables: &[(&str, &str)]) -> Client {
        let mut command = world.bare(&[&["mcp"], arguments].concat());
        command.envs(variables.iter().copied());
        Client::of_command(command)
    }

    /// The same below a shell at this path.
    fn start_below(world: &World, shell: &std::path::Path, variables: &[(&str, &str)]) -> Client {
        let server = world.bare("");
        let mut command = std::process::Command::new(shell);
        // A last command would take the shell's place.
        command
            .args(["-c", "\"$0\" mcp; exit $?"])
            .arg(server.get_program())
            .current_dir(world.path());
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.envs(variables.iter().copied());
        Client::of_command(command)
    }

    fn of_command(mut command: std::process::Command) -> Client {
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = pipes.spawn().expect("the program starts");
        let (lines, output) = channel();
        let stdout = BufReader::new(server.stdout.take().expect("a pipe"));
        std::thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| lines.send(line))
        });
        let input = server.stdin.take();
        Client {
            server,
            input,
            output,
            early: RefCell::default(),
            last: RefCell::default(),
        }
    }

    /// Writes a line unchanged.
    fn line(&self, line: &str) {
        let mut input = self.input.as_ref().expect("it is open");
        input
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| input.flush())
            .expect("the server reads");
    }

    /// Sends a request, and returns its id.
    fn ask(&self, method: &str, params: Value) -> u64 {
        let id = self.last.replace_with(|last| *last + 1) + 1;
        self.line(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        id
    }

    /// Calls a tool, and returns the id of the request.
    fn ask_tool(&self, tool: &str, arguments: Value) -> u64 {
        self.ask("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Cancels a request.
    fn cancel(&self, id: u64) {
        let params = json!({"requestId": id, "reason": "too late"});
        let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        self.line(&note.to_string());
    }

    /// Waits for the answer to a request.
    #[track_caller]
    fn answer(&self, id: u64) -> Value {
        self.answer_within(id, PATIENCE)
            .unwrap_or_else(|| panic!("no answer to {id}"))
    }

    /// Waits for the answer with this id, which is missing in the answer to a line without one.
    #[track_caller]
    fn answer_to(&self, id: &Value) -> Value {
        self.answer_to_within(id, PATIENCE)
            .unwrap_or_else(|| panic!("no answer to {id}"))
    }

    fn answer_within(&self, id: u64, time: Duration) -> Option<Value> {
        self.answer_to_within(&json!(id), time)
    }

    fn answer_to_within(&self, id: &Value, time: Duration) -> Option<Value> {
        let is_meant = |message: &Value| message["id"] == *id;
        let deadline = Instant::now() + time;
        loop {
            let at = self.early.borrow().iter().position(is_meant);
            if let Some(at) = at {
                return Some(self.early.borrow_mut().remove(at));
            }
            let line = self
                .output
                .recv_timeout(deadline.saturating_duration_since(Instant::now()))
                .ok()?;
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|e| panic!("no protocol: {e}: {line}"));
            assert_eq!(message["jsonrpc"], "2.0", "{line}");
            self.early.borrow_mut().push(message);
        }
    }

    #[track_caller]
    pub(crate) fn request(&self, method: &str, params: Value) -> Value {
        self.answer(self.ask(method, params))
    }

    #[track_caller]
    fn handshake(&self, version: &str) -> Value {
        let info = json!({"name": "the tests", "version": "1"});
        let params = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info});
        let answer = self.request("initialize", params);
        self.line(r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#);
        answer["result"].clone()
    }

    /// Calls a tool, which must succeed, and returns its text and its data.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> (String, Value) {
        done(self.request("tools/call", json!({"name": tool, "arguments": arguments})))
    }

    /// The text alone.
    #[track_caller]
    pub(crate) fn text(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).0
    }

    /// Calls a tool, which must fail, and returns its error.
    #[track_caller]
    pub(crate) fn fails(&self, tool: &str, arguments: Value) -> String {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert!(answer["result"]["structuredContent"].is_null(), "{answer}");
        text_of(&answer)
    }

    /// Closes its input, and returns its exit status.
    #[track_caller]
    fn end(mut self) -> Option<i32> {
        self.input = None;
        self.ended()
    }

    #[track_caller]
    fn ended(&mut self) -> Option<i32> {
        let mut status = None;
        let ended = so_within(PATIENCE, || {
            status = self.server.try_wait().expect("a child");
            status.is_some()
        });
        assert!(ended, "the server never ended");
        status.and_then(|status| status.code())
    }

    fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.server), signal)
            .expect("it lives");
    }

    /// As the system does when memory is short.
    #[track_caller]
    fn kill(mut self) {
        self.server.kill().expect("it lives");
        self.ended();
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn text_of(answer: &Value) -> String {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {answer}"))
        .to_owned()
}

/// The text and the data of a call that succeeded.
#[track_caller]
fn done(answer: Value) -> (String, Value) {
    assert_eq!(answer["result"]["isError"], false, "{answer}");
    (
        text_of(&answer),
        answer["result"]["structuredContent"].clone(),
    )
}

/// Waits until an inbox has this much mail: the running server routes it, not the command that sent
/// it.
#[track_caller]
fn came(world: &World, agent: &str, count: usize) {
    world.wait("the mail comes", || world.inbox(agent).len() == count);
}

/// Waits until a call has begun: it renews the lease first.
#[track_caller]
fn began(world: &World, agent: &str, tool: &str) {
    let lease = world.room(&format!("sessions/{agent}.json"));
    let event = || {
        serde_json::from_slice::<Value>(&std::fs::read(&lease).ok()?)
            .ok()
            .map(|lease| lease["event"].clone())
    };
    world.wait("the call begins", || {
        event().is_some_and(|event| event == tool)
    });
}
