//! The schemas of the `--json` output, one for each command.

/// The command's words joined by `-`, such as `agent-list` or, with an option that changes the output, `send-dry-run`, and the schema of its output as text.
macro_rules! outputs {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../schema/output/", $name, ".schema.json")))),*]
    };
}

/// All schemas by command. `error` is the error output of every command. For a command that prints one line per item,
/// the schema describes a line.
pub const OUTPUTS: &[(&str, &str)] = outputs! {
    "ack" "agent-add" "agent-list" "agent-remove" "agent-retire" "agent-roles" "agent-set"
    "agent-show" "archive" "ask" "backup" "channel-list" "channel-show" "channel-watch" "charter"
    "charter-init" "claim" "claims" "context" "decide" "demo" "dismiss" "doctor" "error" "handoff"
    "inbox" "init" "install" "join" "link-add" "link-list" "link-rebind" "link-remove"
    "link-run" "link-status" "link-test" "list" "list-follow" "log" "log-accept-gap" "log-digest"
    "log-events" "log-head" "log-verify" "pending" "read" "rejected-drop" "rejected-list"
    "rejected-retry" "rejected-show" "release" "reply" "run" "search" "send" "send-dry-run"
    "service-install" "service-status" "service-uninstall" "settings" "share" "status" "take"
    "take-done" "thread" "topic-list" "topic-subscribe" "topic-unsubscribe" "trace" "trust"
    "uninstall" "up" "wait" "watch" "web" "who"
};

/// The schema of a command's output. The words of the command can be separated by spaces or by `-`.
pub fn output(command: &str) -> Option<&'static str> {
    let words = command.split_whitespace();
    let words: Vec<&str> = words.map(|word| word.trim_start_matches('-')).collect();
    let name = words.join("-");
    OUTPUTS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, text)| *text)
}
