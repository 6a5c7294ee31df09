//! Each client's answers, byte for byte.

use super::{fire, mail, room};

/// What carries text into the agent's context, in the form that all three take.
fn context(event: &str, text: &str) -> String {
    format!("{{\"hookSpecificOutput\":{{\"hookEventName\":\"{event}\",\"additionalContext\":\"{text}\"}}}}\n")
}

#[test]
fn claude_code_gets_context_and_silence_for_nothing() {
    let world = room();
    for event in ["SessionStart-startup", "UserPromptSubmit", "PostToolBatch", "Stop", "SessionEnd-other", "PreCompact"]
    {
        assert_eq!(fire(&world, "claude", event), "", "{event}");
    }
    let seq = mail(&world, "API \"shape\"?", &["--type", "question"]);
    let line = format!("question from bob, “API \\\"shape\\\"?”, msg {seq}");
    let start = format!("mailbag: you are alice; 1 unread (from bob):\\n{line}");
    assert_eq!(fire(&world, "claude", "SessionStart-startup"), context("SessionStart", &start));
    for (event, name) in
        [("UserPromptSubmit", "UserPromptSubmit"), ("PostToolBatch", "PostToolBatch"), ("Stop", "Stop")]
    {
        let seq = mail(&world, event, &[]);
        let unread = world.inbox("alice").len();
        let news = format!("mailbag: {unread} unread: message from bob, “{event}”, msg {seq}");
        assert_eq!(fire(&world, "claude", event), context(name, &news));
    }
}
