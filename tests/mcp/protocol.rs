//! The protocol: versions, framing, errors, cancellation, the end, and the size of the tool list.

use super::{Client, began, done};
use crate::files;
use crate::world::World;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn a_client_of_any_age_is_understood() {
    let world = World::with("bob");
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let client = Client::start(&world, &[], &[("MAILBAG_AGENT", "bob")]);
        let hello = client.handshake(version);
        assert_eq!(hello["protocolVersion"], version);
        assert_eq!(
            hello["serverInfo"],
            json!({"name": "mailbag", "version": env!("CARGO_PKG_VERSION")})
        );
        let instructions = hello["instructions"].as_str().unwrap_or_default();
        assert!((50..300).contains(&instructions.len()), "{instructions}");
        assert!(
            instructions.contains("You are bob") && !instructions.contains("register"),
            "{instructions}"
        );
        assert_contains!(client.text("fetch_inbox", json!({})), "no unread messages");
    }
    let nameless = World::with("bob carol");
    let client = Client::start(&nameless, &[], &[]);
    let hello = client.handshake("1999-01-01");
    assert_eq!(
        hello["protocolVersion"], "2025-11-25",
        "the newest with a handshake"
    );
    assert_contains!(hello["instructions"].to_string(), "Call register_agent first"; "{hello}");
}

#[test]
fn the_newest_protocol_needs_no_handshake() {
    let world = World::with("bob");
    let client = Client::start(&world, &[], &[("MAILBAG_AGENT", "bob")]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "the tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.request("server/discover", json!({"_meta": meta}));
    assert_contains!(found["result"].to_string(), "2026-07-28"; "{found}");
    assert_contains!(found["result"].to_string(), r#""name":"mailbag""#; "{found}");
    let params = json!({"name": "fetch_inbox", "arguments": {}, "_meta": meta});
    let answer = client.request("tools/call", params);
    assert_eq!(answer["result"]["resultType"], "complete", "{answer}");
    assert_contains!(done(answer).0, "no unread messages");
}

#[test]
fn invalid_protocol_lines_do_not_break_the_server() {
    let world = World::with("bob");
    let client = Client::start(&world, &[], &[("MAILBAG_AGENT", "bob")]);
    let lines = [
        "{oops",
        "",
        "[]",
        "null",
        "\u{feff}",
        "{\"jsonrpc\": \"2.0\", \"id\": 99}",
        "\u{1}\u{2}",
    ];
    lines.iter().for_each(|line| client.line(line));
    client.handshake("2025-06-18");
    lines.iter().for_each(|line| client.line(line));
    client.line(&format!(
        "{{\"jsonrpc\": \"2.0\", \"id\": \"{}\"}}",
        "x".repeat(200_000)
    ));
    assert_contains!(client.text("fetch_inbox", json!({})), "no unread messages");
    let answer = client.request("no/such/method", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    // A line end of Windows' kind is one, and an id may be a text.
    client.line("{\"jsonrpc\":\"2.0\",\"id\":7000,\"method\":\"ping\"}\r");
    client.answer(7000);
    assert_eq!(client.end(), Some(0));
}

#[test]
fn each_request_is_answered_even_if_it_cannot_be_parsed() {
    let world = World::alice_and_bob();
    let client = Client::of(&world, "alice");
    let call = |id: u64, more: &str| {
        client.line(&format!(
            r#"{{"method":"tools/call","params":{{"name":"send_message","arguments":{{"to":"bob","body":{more}}}}},"jsonrpc":"2.0","id":{id}}}"#
        ));
        client.answer(id)
    };
    done(call(7001, r#""half \ud83d""#));
    assert_eq!(world.bodies("bob"), ["half \u{fffd}"]);
    let deep = format!(r#""x","metadata":{}{}"#, "[".repeat(130), "]".repeat(130));
    let answer = call(7002, &deep);
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    assert_contains!(answer["error"]["message"].to_string(), "recursion limit");
    client.line("garbage");
    let answer = client.answer_to(&Value::Null);
    assert_eq!(answer["error"]["code"], -32700, "{answer}");
    assert_eq!(client.end(), Some(0));
}

#[test]
fn the_list_of_tools_costs_what_the_page_says() {
    let client = Client::of(&World::with("bob"), "bob");
    let tools = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let names: Vec<&str> = tools
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    let wanted = "register_agent list_agents send_message reply_message fetch_inbox acknowledge_message search_messages \
                  get_thread wait_for_message claim_work list_claims";
    assert_eq!(
        names.join(" "),
        wanted,
        "a new tool: does it act as the person?"
    );
    let tokens = tools.to_string().len().div_ceil(4);
    println!("tools/list: {tokens} tokens, by bytes / 4");
    assert!(tokens < 2000, "{tokens}");
    let page = files::read_text("docs/mcp.md");
    let said = page
        .split_once(" tokens")
        .map(|(before, _)| before.rsplit([' ', '\n']).next().unwrap_or_default());
    let said: usize = said
        .and_then(|said| said.replace(',', "").parse().ok())
        .expect("a number of tokens");
    assert!(
        (tokens..tokens + 100).contains(&said),
        "the page says {said}, and it is {tokens}"
    );
    for name in names {
        assert_contains!(page, &format!("`{name}`"); "{name} is not on the page");
    }
}

#[test]
fn a_wait_blocks_no_other_call_and_can_be_cancelled() {
    let world = World::alice_and_bob();
    let client = Client::of(&world, "bob");
    let waits = client.ask_tool("wait_for_message", json!({"timeout_s": 50}));
    assert_contains!(client.text("list_agents", json!({})), "you are bob"; "meanwhile");
    client.cancel(waits);
    assert_contains!(client.text("list_agents", json!({})), "you are bob");
    world.send("alice", "bob", "for whoever asks next");
    assert_contains!(
        client.text("wait_for_message", json!({"from": "alice"})),
        "for whoever asks next"
    );
    assert!(
        client.answer_within(waits, Duration::ZERO).is_none(),
        "what was cancelled is not answered"
    );
}

#[test]
fn the_server_ends_with_its_input_and_by_signals_even_during_a_wait() {
    let world = World::with("bob");
    let start = Instant::now();
    for signal in [None, Some(Signal::TERM), Some(Signal::INT)] {
        let mut client = Client::of(&world, "bob");
        let waits = client.ask_tool("wait_for_message", json!({"timeout_s": 50}));
        began(&world, "bob", "wait_for_message");
        match signal {
            Some(signal) => {
                client.signal(signal);
                assert_eq!(client.ended(), Some(0), "{signal:?}");
            }
            None => {
                drop(client.input.take());
                assert_contains!(done(client.answer(waits)).0, "cancelled");
                assert_eq!(client.ended(), Some(0));
            }
        }
        files::remove_file(world.room("sessions/bob.json"));
        assert!(
            world.json("status")["router"].is_null(),
            "nobody holds the room"
        );
    }
    assert!(
        start.elapsed() < Duration::from_secs(40),
        "no wait was waited for"
    );
}

#[test]
fn a_server_without_requests_ends_cleanly() {
    let world = World::with("bob");
    assert_eq!(Client::start(&world, &[], &[]).end(), Some(0));
    let ran = world.pipe(
        "mcp",
        "{\"jsonrpc\": \"2.0\", \"method\": \"notifications/initialized\"}\n",
    );
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("MCP") && ran.out.is_empty(), "{ran:?}");
}

#[test]
fn its_help_shows_how_clients_start_it() {
    let help = World::empty().ok(&["mcp", "--help"]);
    for client in ["claude mcp add", "codex mcp add", "gemini mcp add"] {
        assert!(help.contains(client), "{help}");
    }
}

#[test]
fn results_can_be_text_alone() {
    let world = World::alice_and_bob();
    world.send("alice", "bob", "once is enough");
    let client = Client::with(&world, &["--text"], &[("MAILBAG_AGENT", "bob")]);
    let (text, data) = client.call("fetch_inbox", json!({}));
    assert_contains!(text, "once is enough");
    assert_eq!(data, Value::Null);
}

#[test]
fn an_unknown_tool_and_params_of_another_shape_are_invalid_params_and_the_method_is_found() {
    let client = Client::of(&World::with("bob"), "bob");
    for (params, said) in [
        (
            json!({"name": "fetch_inbx", "arguments": {}}),
            "fetch_inbox",
        ),
        (json!({"name": "reserve", "arguments": {}}), "send_message"),
        (json!({"name": "list_agents", "arguments": []}), "arguments"),
        (
            json!({"name": "list_agents", "arguments": "none"}),
            "arguments",
        ),
        (json!({"name": 7}), "arguments"),
        (json!({"arguments": {}}), "arguments"),
    ] {
        let answer = client.request("tools/call", params);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        let message = answer["error"]["message"].as_str().expect("a text");
        assert_contains!(message, said);
        assert!(
            said != "arguments" || message.contains("tools/call"),
            "{message}"
        );
    }
    let answer = client.request("tools/cal", json!({}));
    assert_eq!(answer["error"]["code"], -32601);
}
