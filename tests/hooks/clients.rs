//! Each client's answers, byte for byte.

use super::{fire, mail, room};

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

#[test]
fn codex_gets_context_a_block_at_its_stop_and_an_empty_object_for_nothing() {
    let world = room();
    for event in [
        "SessionStart-startup",
        "UserPromptSubmit",
        "PostToolUse",
        "Stop",
        "SessionEnd-other",
    ] {
        assert_eq!(fire(&world, "codex", event), "{}\n", "{event}");
    }
    let seq = mail(&world, "API shape?", &["--type", "question"]);
    let start = format!(
        "mailbag: you are alice; 1 unread (from bob):\\nquestion from bob, “API shape?”, #{seq}{}",
        hint(seq)
    );
    assert_eq!(
        fire(&world, "codex", "SessionStart-startup"),
        context("SessionStart", &start)
    );
    let news = |event: &str| {
        let seq = mail(&world, event, &[]);
        format!(
            "mailbag: {} unread, 1 new: message from bob, “{event}”, #{seq}",
            world.inbox("alice").len()
        )
    };
    for event in ["UserPromptSubmit", "PostToolUse"] {
        let told = news(event);
        assert_eq!(fire(&world, "codex", event), context(event, &told));
    }
    let told = news("Stop");
    assert_eq!(
        fire(&world, "codex", "Stop"),
        format!("{{\"decision\":\"block\",\"reason\":\"{told}\"}}\n")
    );
    news("later");
    for event in [
        "Stop-again",
        "UserPromptSubmit-helper",
        "PostToolUse-helper",
        "SubagentStop-helper",
    ] {
        assert_eq!(fire(&world, "codex", event), "{}\n", "{event}");
    }
}

#[test]
fn gemini_cli_gets_context_a_deny_at_its_stop_and_an_empty_object_for_nothing() {
    let world = room();
    for event in [
        "SessionStart-startup",
        "BeforeAgent",
        "AfterTool",
        "AfterAgent",
        "SessionEnd-exit",
    ] {
        assert_eq!(fire(&world, "gemini", event), "{}\n", "{event}");
    }
    let seq = mail(&world, "API shape?", &["--type", "question"]);
    let start = format!(
        "mailbag: you are alice; 1 unread (from bob):\\nquestion from bob, “API shape?”, #{seq}{}",
        hint(seq)
    );
    assert_eq!(
        fire(&world, "gemini", "SessionStart-startup"),
        context("SessionStart", &start)
    );
    let news = |event: &str| {
        let seq = mail(&world, event, &[]);
        format!(
            "mailbag: {} unread, 1 new: message from bob, “{event}”, #{seq}",
            world.inbox("alice").len()
        )
    };
    for event in ["BeforeAgent", "AfterTool"] {
        let told = news(event);
        assert_eq!(fire(&world, "gemini", event), context(event, &told));
    }
    let told = news("AfterAgent");
    assert_eq!(
        fire(&world, "gemini", "AfterAgent"),
        format!("{{\"decision\":\"deny\",\"reason\":\"{told}\"}}\n")
    );
    // It asks again before the agent continues.
    assert_eq!(fire(&world, "gemini", "BeforeAgent-again"), "{}\n");
    news("later");
    assert_eq!(fire(&world, "gemini", "AfterAgent-again"), "{}\n");
}

#[test]
fn qwen_code_gets_context_a_block_at_its_stop_and_silence_for_nothing() {
    let world = room();
    for event in [
        "SessionStart-startup",
        "UserPromptSubmit",
        "PostToolUse",
        "Stop",
        "PostToolBatch",
    ] {
        assert_eq!(fire(&world, "qwen", event), "", "{event}");
    }
    let seq = mail(&world, "API shape?", &["--type", "question"]);
    let start = format!(
        "mailbag: you are alice; 1 unread (from bob):\\nquestion from bob, “API shape?”, #{seq}{}",
        hint(seq)
    );
    assert_eq!(
        fire(&world, "qwen", "SessionStart-startup"),
        context("SessionStart", &start)
    );
    let news = |event: &str| {
        let seq = mail(&world, event, &[]);
        format!(
            "mailbag: {} unread, 1 new: message from bob, “{event}”, #{seq}",
            world.inbox("alice").len()
        )
    };
    for event in ["UserPromptSubmit", "PostToolUse"] {
        let told = news(event);
        assert_eq!(fire(&world, "qwen", event), context(event, &told));
    }
    let told = news("Stop");
    assert_eq!(
        fire(&world, "qwen", "Stop"),
        format!("{{\"decision\":\"block\",\"reason\":\"{told}\"}}\n")
    );
    news("later");
    assert_eq!(fire(&world, "qwen", "Stop-again"), "");
}

#[test]
fn copilot_cli_gets_context_in_a_field_of_its_own_a_block_at_its_stop_and_silence_for_nothing() {
    let world = room();
    let news = |event: &str| {
        let seq = mail(&world, event, &[]);
        format!(
            "mailbag: {} unread, 1 new: message from bob, “{event}”, #{seq}",
            world.inbox("alice").len()
        )
    };
    for event in [
        "SessionStart-new",
        "UserPromptSubmit",
        "PostToolUse",
        "Stop",
        "Stop-helper",
    ] {
        assert_eq!(fire(&world, "copilot", event), "", "{event}");
    }
    let seq = mail(&world, "API shape?", &["--type", "question"]);
    let start = format!(
        "mailbag: you are alice; 1 unread (from bob):\\nquestion from bob, “API shape?”, #{seq}{}",
        hint(seq)
    );
    let context = |text: &str| format!("{{\"additionalContext\":\"{text}\"}}\n");
    assert_eq!(fire(&world, "copilot", "SessionStart-new"), context(&start));
    for event in ["UserPromptSubmit", "PostToolUse"] {
        let told = news(event);
        for helper in ["UserPromptSubmit-helper", "PostToolUse-helper"] {
            assert_eq!(
                fire(&world, "copilot", helper),
                "",
                "a sub-agent hears nothing"
            );
        }
        assert_eq!(fire(&world, "copilot", event), context(&told));
    }
    let told = news("Stop");
    assert_eq!(
        fire(&world, "copilot", "Stop"),
        format!("{{\"decision\":\"block\",\"reason\":\"{told}\"}}\n")
    );
    news("later");
    assert_eq!(fire(&world, "copilot", "Stop-again"), "");
    assert_eq!(fire(&world, "copilot", "SessionEnd-complete"), "");
}

#[test]
fn kimi_cli_gets_a_message_at_a_prompt_a_denial_at_its_stop_and_silence_for_nothing() {
    let world = room();
    for event in [
        "SessionStart-startup",
        "UserPromptSubmit",
        "Stop",
        "SessionEnd-exit",
    ] {
        assert_eq!(fire(&world, "kimi", event), "", "{event}");
    }
    let seq = mail(&world, "API shape?", &["--type", "question"]);
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
    let seq = mail(&world, "later", &[]);
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
        let seq = mail(&world, event, &[]);
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
    mail(&world, "later", &[]);
    assert_eq!(fire(&world, "opencode", "Stop-again"), "");
    assert_eq!(fire(&world, "opencode", "SessionEnd"), "");
}

#[test]
fn claude_code_gets_context_and_silence_for_nothing() {
    let world = room();
    for event in [
        "SessionStart-startup",
        "UserPromptSubmit",
        "PostToolBatch",
        "Stop",
        "SessionEnd-other",
        "PreCompact",
    ] {
        assert_eq!(fire(&world, "claude", event), "", "{event}");
    }
    let seq = mail(&world, "API \"shape\"?", &["--type", "question"]);
    let line = format!("question from bob, “API \\\"shape\\\"?”, #{seq}");
    let start = format!(
        "mailbag: you are alice; 1 unread (from bob):\\n{line}{}",
        hint(seq)
    );
    assert_eq!(
        fire(&world, "claude", "SessionStart-startup"),
        context("SessionStart", &start)
    );
    for (event, name) in [
        ("UserPromptSubmit", "UserPromptSubmit"),
        ("PostToolBatch", "PostToolBatch"),
        ("Stop", "Stop"),
    ] {
        let seq = mail(&world, event, &[]);
        let unread = world.inbox("alice").len();
        let news = format!("mailbag: {unread} unread, 1 new: message from bob, “{event}”, #{seq}");
        assert_eq!(fire(&world, "claude", event), context(name, &news));
    }
}
