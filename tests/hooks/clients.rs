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

/// Announces a question at the start of a session, and new mail at these events.
#[track_caller]
fn gets_context(
    world: &World,
    client: &str,
    start: &str,
    events: [&str; 2],
    context: fn(&str, &str) -> String,
) {
    let seq = mail(world, "API shape?", "--type question");
    let told = format!(
        "mailbag: you are alice; 1 unread (from bob):\\nquestion from bob, “API shape?”, #{seq}{}",
        hint(seq)
    );
    assert_eq!(fire(world, client, start), context("SessionStart", &told));
    for event in events {
        let told = news(world, event);
        assert_eq!(fire(world, client, event), context(event, &told));
    }
}

/// Announces new mail at the end of a turn, which continues then.
#[track_caller]
fn is_stopped(world: &World, client: &str, stop: &str, decision: &str) {
    let told = news(world, stop);
    assert_eq!(
        fire(world, client, stop),
        format!("{{\"decision\":\"{decision}\",\"reason\":\"{told}\"}}\n")
    );
}

#[test]
fn codex_gets_context_a_block_at_its_stop_and_an_empty_object_for_nothing() {
    let world = room();
    let (start, events) = ("SessionStart-startup", ["UserPromptSubmit", "PostToolUse"]);
    says_nothing(
        &world,
        "codex",
        &[start, events[0], events[1], "Stop", "SessionEnd-other"],
    );
    gets_context(&world, "codex", start, events, context);
    is_stopped(&world, "codex", "Stop", "block");
    news(&world, "later");
    says_nothing(
        &world,
        "codex",
        &[
            "Stop-again",
            "UserPromptSubmit-helper",
            "PostToolUse-helper",
            "SubagentStop-helper",
        ],
    );
}

#[test]
fn gemini_cli_gets_context_a_deny_at_its_stop_and_an_empty_object_for_nothing() {
    let world = room();
    let (start, events) = ("SessionStart-startup", ["BeforeAgent", "AfterTool"]);
    says_nothing(
        &world,
        "gemini",
        &[start, events[0], events[1], "AfterAgent", "SessionEnd-exit"],
    );
    gets_context(&world, "gemini", start, events, context);
    is_stopped(&world, "gemini", "AfterAgent", "deny");
    // It asks again before the agent continues.
    says_nothing(&world, "gemini", &["BeforeAgent-again"]);
    news(&world, "later");
    says_nothing(&world, "gemini", &["AfterAgent-again"]);
}

#[test]
fn qwen_code_gets_context_a_block_at_its_stop_and_silence_for_nothing() {
    let world = room();
    let (start, events) = ("SessionStart-startup", ["UserPromptSubmit", "PostToolUse"]);
    says_nothing(
        &world,
        "qwen",
        &[start, events[0], events[1], "Stop", "PostToolBatch"],
    );
    gets_context(&world, "qwen", start, events, context);
    is_stopped(&world, "qwen", "Stop", "block");
    news(&world, "later");
    says_nothing(&world, "qwen", &["Stop-again"]);
}

#[test]
fn copilot_cli_gets_context_in_a_field_of_its_own_a_block_at_its_stop_and_silence_for_nothing() {
    let world = room();
    let (start, events) = ("SessionStart-new", ["UserPromptSubmit", "PostToolUse"]);
    says_nothing(
        &world,
        "copilot",
        &[start, events[0], events[1], "Stop", "Stop-helper"],
    );
    gets_context(&world, "copilot", start, events, |_, text| {
        format!("{{\"additionalContext\":\"{text}\"}}\n")
    });
    // The news is for the agent, not for its sub-agents.
    let told = news(&world, "Stop");
    says_nothing(
        &world,
        "copilot",
        &["UserPromptSubmit-helper", "PostToolUse-helper"],
    );
    assert_eq!(
        fire(&world, "copilot", "Stop"),
        format!("{{\"decision\":\"block\",\"reason\":\"{told}\"}}\n")
    );
    news(&world, "later");
    says_nothing(&world, "copilot", &["Stop-again", "SessionEnd-complete"]);
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
}
