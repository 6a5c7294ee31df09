//! Each client's answers, byte for byte.

use super::{fire, mail, room};
use crate::world::World;

/// The output that adds text to the agent's context, in the common form of three clients.
fn context(event: &str, text: &str) -> String {
    format!(
        "{{\"hookSpecificOutput\":{{\"hookEventName\":\"{event}\",\"additionalContext\":\"{text}\"}}}}\n"
    )
}

/// The end of the first announcement in a session.
fn hint(seq: u64) -> String {
    format!("\\n`mailbag read {seq}` shows it, `mailbag reply {seq} TEXT` answers")
}

/// The announcement of one new message to alice.
fn news(world: &World, event: &str) -> String {
    let seq = mail(world, event, "");
    let unread = world.inbox("alice").len();
    format!("mailbag: {unread} unread, 1 new: message from bob, “{event}”, #{seq}")
}

#[track_caller]
fn says_nothing(world: &World, client: &str, events: &[&str]) {
    let nothing = match client {
        "codex" | "gemini" => "{}\n",
        _ => "",
    };
    for event in events {
        assert_eq!(fire(world, client, event), nothing, "{event}");
    }
}

/// A client, its events at the start of a session, at a prompt, after a tool and at the stop, the decision at the stop, and
/// events where it gets nothing: one without mail, and others with mail after it was stopped.
type Events = (
    &'static str,
    [&'static str; 4],
    &'static str,
    &'static str,
    &'static [&'static str],
);

const CLIENTS: [Events; 4] = [
    (
        "codex",
        [
            "SessionStart-startup",
            "UserPromptSubmit",
            "PostToolUse",
            "Stop",
        ],
        "block",
        "SessionEnd-other",
        &[
            "Stop-again",
            "UserPromptSubmit-helper",
            "PostToolUse-helper",
            "SubagentStop-helper",
        ],
    ),
    (
        "gemini",
        [
            "SessionStart-startup",
            "BeforeAgent",
            "AfterTool",
            "AfterAgent",
        ],
        "deny",
        "SessionEnd-exit",
        &["AfterAgent-again"],
    ),
    (
        "qwen",
        [
            "SessionStart-startup",
            "UserPromptSubmit",
            "PostToolUse",
            "Stop",
        ],
        "block",
        "PostToolBatch",
        &["Stop-again"],
    ),
    (
        "copilot",
        [
            "SessionStart-new",
            "UserPromptSubmit",
            "PostToolUse",
            "Stop",
        ],
        "block",
        "Stop-helper",
        &[
            "Stop-again",
            "SessionEnd-complete",
            "UserPromptSubmit-helper",
            "PostToolUse-helper",
        ],
    ),
];

#[test]
fn four_clients_get_context_a_decision_at_their_stop_and_their_own_form_of_nothing() {
    for (client, events, decision, silent, after) in CLIENTS {
        let world = room();
        says_nothing(&world, client, &[&events[..], &[silent]].concat());
        let answer = |event: &str, text: &str| match client {
            "copilot" => format!("{{\"additionalContext\":\"{text}\"}}\n"),
            _ => context(event, text),
        };
        let [start, prompt, tool, stop] = events;
        let seq = mail(&world, "API shape?", "--type question");
        let told = format!(
            "mailbag: you are alice; 1 unread (from bob):\\nquestion from bob, “API shape?”, #{seq}{}",
            hint(seq)
        );
        assert_eq!(fire(&world, client, start), answer("SessionStart", &told));
        for event in [prompt, tool] {
            let told = news(&world, event);
            assert_eq!(fire(&world, client, event), answer(event, &told));
        }
        let told = news(&world, stop);
        assert_eq!(
            fire(&world, client, stop),
            format!("{{\"decision\":\"{decision}\",\"reason\":\"{told}\"}}\n")
        );
        if client == "gemini" {
            // It asks again before the agent continues.
            says_nothing(&world, client, &["BeforeAgent-again"]);
        }
        news(&world, "later");
        says_nothing(&world, client, after);
    }
}

#[test]
fn kimi_cli_gets_a_message_at_a_prompt_a_denial_at_its_stop_and_silence_for_nothing() {
    let world = room();
    says_nothing(
        &world,
        "kimi",
        &[
            "SessionStart-startup",
            "UserPromptSubmit",
            "Stop",
            "SessionEnd-exit",
        ],
    );
    let seq = mail(&world, "API shape?", "--type question");
    for event in ["SessionStart-startup", "SessionStart-resume"] {
        assert_eq!(
            fire(&world, "kimi", event),
            "",
            "its output is dropped, so nothing is announced"
        );
    }
    let told = format!(
        "mailbag: 1 unread: question from bob, “API shape?”, #{seq}{}",
        hint(seq)
    );
    assert_eq!(
        fire(&world, "kimi", "UserPromptSubmit"),
        format!("{{\"message\":\"{told}\"}}\n")
    );
    let seq = mail(&world, "later", "");
    let told = format!("mailbag: 2 unread, 1 new: message from bob, “later”, #{seq}");
    let denial = format!(
        "{{\"hookSpecificOutput\":{{\"hookEventName\":\"Stop\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"{told}\"}}}}\n"
    );
    assert_eq!(fire(&world, "kimi", "Stop"), denial);
}

#[test]
fn opencode_gets_a_text_for_its_plugin_and_silence_for_nothing() {
    let world = room();
    let text = |text: &str| format!("{{\"text\":\"{text}\"}}\n");
    for event in [
        "SessionStart-startup",
        "UserPromptSubmit",
        "PostToolUse",
        "Stop",
    ] {
        assert_eq!(fire(&world, "opencode", event), "", "{event}");
        let seq = mail(&world, event, "");
        let unread = world.inbox("alice").len();
        let line = format!("message from bob, “{event}”, #{seq}");
        let told = match event {
            "SessionStart-startup" => {
                format!(
                    "mailbag: you are alice; {unread} unread (from bob):\\n{line}{}",
                    hint(seq)
                )
            }
            _ => format!("mailbag: {unread} unread, 1 new: {line}")
                .replace("1 unread, 1 new", "1 unread"),
        };
        assert_eq!(fire(&world, "opencode", event), text(&told), "{event}");
    }
    mail(&world, "later", "");
    assert_eq!(fire(&world, "opencode", "Stop-again"), "");
    assert_eq!(fire(&world, "opencode", "SessionEnd"), "");
}

#[test]
fn claude_code_gets_context_and_silence_for_nothing() {
    let world = room();
    says_nothing(
        &world,
        "claude",
        &[
            "SessionStart-startup",
            "UserPromptSubmit",
            "PostToolBatch",
            "Stop",
            "SessionEnd-other",
            "PreCompact",
        ],
    );
    let seq = mail(&world, "API \"shape\"?", "--type question");
    let line = format!("question from bob, “API \\\"shape\\\"?”, #{seq}");
    let start = format!(
        "mailbag: you are alice; 1 unread (from bob):\\n{line}{}",
        hint(seq)
    );
    assert_eq!(
        fire(&world, "claude", "SessionStart-startup"),
        context("SessionStart", &start)
    );
    for event in ["UserPromptSubmit", "PostToolBatch", "Stop"] {
        let told = news(&world, event);
        assert_eq!(fire(&world, "claude", event), context(event, &told));
    }
    let told = news(&world, "later");
    let after = [
        "Stop-again",
        "PostToolBatch-helper",
        "SubagentStart-helper",
        "SubagentStop-helper",
    ];
    says_nothing(&world, "claude", &after);
    assert_contains!(fire(&world, "claude", "UserPromptSubmit"), &told);
}
