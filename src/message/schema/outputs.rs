//! The schemas of what commands print with `--json`: one for each command, so that a program can rely on it.

/// A command's name, its words joined by `-`, and the text of the schema of its output.
macro_rules! outputs {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../schema/output/", $name, ".schema.json")))),*]
    };
}

/// The schemas of all outputs, by command; `error` is what any command says on standard error. Of a command that prints
/// a line for each thing, it is the schema of a line.
pub const OUTPUTS: &[(&str, &str)] = outputs! {
    "ack" "agent-add" "agent-list" "agent-remove" "agent-retire" "agent-roles" "agent-set" "agent-show" "archive" "ask" "backup"
    "channel-list" "channel-show" "channel-watch" "check" "demo" "doctor" "done" "error" "explain" "follow" "inbox"
    "init" "install" "join" "list" "log" "log-head" "log-verify" "read" "rejected-drop" "rejected-list" "rejected-retry" "rejected-show" "reply"
    "run" "search" "send" "settings" "share" "status" "take" "thread" "topic-list" "topic-subscribe" "topic-unsubscribe" "trace" "trust"
    "uninstall" "wait" "watch" "who"
};

/// The schema of the output of a command, whose words may be joined by blanks or by `-`.
pub fn output(command: &str) -> Option<&'static str> {
    let name = command.split_whitespace().collect::<Vec<_>>().join("-");
    OUTPUTS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
