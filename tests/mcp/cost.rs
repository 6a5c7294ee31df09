//! The cost of mail for a model: the tests count the figures of `docs/agents.md`.
//!
//! Counted are all bytes that the model of a Claude Code session reads and writes because of mail,
//! divided by four: output of hooks, with the client's frame, tool calls as JSON, and their
//! results.

use super::{Client, came};
use crate::files;
use crate::world::{World, parse_json};
use serde_json::{Value, json};
use std::process::Command;

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";
const ANSWER: &str =
    "8080 as before, but on 127.0.0.1 only. The README says so now, below Testing.";

/// Number of turns without mail for each message, in the page's calculation.
const TURNS: usize = 20;

/// A session as alice, and the bytes that its model read or wrote.
struct Session {
    world: World,
    bytes: usize,
}

/// The cost of one way to use mail, in tokens.
#[derive(Debug)]
struct Cost {
    /// The text at the start of each session: instructions, or the list of tools.
    once: usize,
    /// From the arrival of a message to its answer.
    message: usize,
    /// A turn without mail.
    turn: usize,
}

impl Session {
    fn begin() -> Session {
        let mut session = Session {
            world: World::alice_and_bob(),
            bytes: 0,
        };
        session.hook("SessionStart");
        assert_eq!(
            session.spent(),
            0,
            "without mail a session begins without a word"
        );
        session
    }

    /// Bob sends a question.
    fn mail(&self) -> u64 {
        let body = "The tests can't reach the test server since yesterday's change. Which port does it listen on now, and \
                    does the README say so?";
        self.world.ok(&[
            "send",
            "alice",
            body,
            "--subject",
            "Test server",
            "--type",
            "question",
            "--as",
            "bob",
        ]);
        came(&self.world, "alice", 1);
        self.world.inbox("alice")[0]["delivery"]["seq"]
            .as_u64()
            .expect("a seq")
    }

    /// The client fires a hook.
    fn hook(&mut self, event: &str) {
        let input = json!({"hook_event_name": event, "session_id": SESSION, "source": "startup"})
            .to_string();
        let said = self.world.pipe("hook claude --as alice", input).out;
        if !said.is_empty() {
            let said = parse_json(&said);
            let text = said["hookSpecificOutput"]["additionalContext"]
                .as_str()
                .expect("a text");
            self.bytes += format!("{event} hook additional context: {text}").len();
        }
    }

    /// The model runs a command.
    fn command(&mut self, line: &str) {
        let program = assert_cmd::cargo::cargo_bin!("mailbag");
        let path = format!(
            "{}:/usr/bin:/bin",
            program.parent().expect("a directory").display()
        );
        let mut shell = Command::new("sh");
        shell
            .args(["-c", line])
            .current_dir(self.world.path())
            .env_clear();
        let ran = shell
            .env("PATH", path)
            .env("CLAUDE_CODE_SESSION_ID", SESSION)
            .output()
            .expect("it runs");
        assert!(ran.status.success(), "{line}: {ran:?}");
        let call = json!({"name": "Bash", "input": {"command": line}}).to_string();
        self.bytes += call.len() + ran.stdout.len() + ran.stderr.len();
    }

    /// The model calls a tool of the server. Of its text and its data, which say the same, the larger one is counted.
    fn tool(&mut self, client: &Client, tool: &str, arguments: Value) {
        let call =
            json!({"name": format!("mcp__mailbag__{tool}"), "input": &arguments}).to_string();
        let (text, data) = client.call(tool, arguments);
        self.bytes += call.len() + text.len().max(data.to_string().len());
    }

    /// A turn as hooks see it.
    fn turn(&mut self) {
        ["UserPromptSubmit", "PostToolBatch", "Stop"]
            .into_iter()
            .for_each(|event| self.hook(event));
    }

    /// The tokens since it was asked before.
    fn spent(&mut self) -> usize {
        std::mem::take(&mut self.bytes).div_ceil(4)
    }

    /// Bob has his answer, and the answered mail is not announced again.
    fn must_be_answered(mut self) {
        self.turn();
        assert_eq!(self.spent(), 0, "nothing is told of what was read");
        came(&self.world, "bob", 1);
        assert_eq!(self.world.bodies("bob"), [ANSWER]);
        assert!(self.world.inbox("alice").is_empty());
    }
}

/// The instructions that `mailbag install` writes for a session.
fn instructions() -> usize {
    let world = World::with("alice");
    let ran = world.run_env("install claude --agent alice", "HOME", world.path());
    ran.ok();
    files::read(world.path().join("AGENTS.md"))
        .len()
        .div_ceil(4)
}

fn client(session: &Session) -> Client {
    Client::with(
        &session.world,
        &[],
        &[
            ("MAILBAG_AGENT", "alice"),
            ("CLAUDE_CODE_SESSION_ID", SESSION),
        ],
    )
}

/// The costs of a turn without mail, and of a message that the model answers.
fn cost(
    once: usize,
    mut session: Session,
    turn: impl Fn(&mut Session),
    answer: impl Fn(&mut Session, u64),
) -> Cost {
    turn(&mut session);
    let turn = session.spent();
    let seq = session.mail();
    answer(&mut session, seq);
    let message = session.spent();
    session.must_be_answered();
    Cost {
        once,
        message,
        turn,
    }
}

fn answer_by_commands(session: &mut Session, seq: u64) {
    session.command(&format!("mailbag read {seq}"));
    session.command(&format!("mailbag reply {seq} '{ANSWER}'"));
}

fn answer_by_tools(session: &mut Session, client: &Client, seq: u64) {
    session.tool(client, "fetch_inbox", json!({}));
    session.tool(
        client,
        "reply_message",
        json!({"id": format!("#{seq}"), "body": ANSWER}),
    );
}

fn hooks_and_commands(once: usize) -> Cost {
    cost(once, Session::begin(), Session::turn, |session, seq| {
        session.hook("PostToolBatch");
        answer_by_commands(session, seq);
    })
}

fn hooks_and_tools() -> Cost {
    let session = Session::begin();
    let client = client(&session);
    let tools = client.request("tools/list", json!({}))["result"]["tools"].to_string();
    let once = tools.len().div_ceil(4);
    cost(once, session, Session::turn, |session, seq| {
        session.hook("PostToolBatch");
        answer_by_tools(session, &client, seq);
    })
}

fn polling_by_commands(once: usize) -> Cost {
    let poll = |session: &mut Session| session.command("mailbag inbox");
    cost(once, Session::begin(), poll, |session, seq| {
        poll(session);
        answer_by_commands(session, seq);
    })
}

fn polling_by_tools(once: usize) -> Cost {
    let session = Session::begin();
    let client = client(&session);
    let poll = |session: &mut Session| session.tool(&client, "fetch_inbox", json!({}));
    cost(once, session, poll, |session, seq| {
        answer_by_tools(session, &client, seq)
    })
}

#[test]
fn a_message_costs_what_the_page_for_agents_says() {
    let instructions = instructions();
    let tools = hooks_and_tools();
    let rows = [
        ("hooks, and commands", hooks_and_commands(instructions)),
        (
            "`mailbag inbox` at every turn",
            polling_by_commands(instructions),
        ),
        ("`fetch_inbox` at every turn", polling_by_tools(tools.once)),
        ("hooks, and MCP tools", tools),
    ];
    let page = files::read_text("docs/agents.md");
    assert_contains!(page, &format!("{TURNS} turns without mail"); "the page says how many turns it counts");
    let mut wrong = Vec::new();
    for (
        name,
        Cost {
            once,
            message,
            turn,
        },
    ) in rows
    {
        let counted = [once, message, turn, message + TURNS * turn];
        println!("{name}: {counted:?}");
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| {name} |")));
        let row = row.unwrap_or_else(|| panic!("the page has no row for {name}"));
        let cells = row
            .split('|')
            .skip(2)
            .map(|cell| cell.trim().replace(',', ""));
        let said: Vec<usize> = cells.filter_map(|cell| cell.parse().ok()).collect();
        // Ids and times have the same length each time; 5 % leave room for a word.
        let fits = |said: &usize, counted: &usize| said.abs_diff(*counted) * 20 <= *counted;
        if said.len() != counted.len()
            || !said
                .iter()
                .zip(&counted)
                .all(|(said, counted)| fits(said, counted))
        {
            wrong.push(format!(
                "{name}: the page says {said:?}, counted are {counted:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
