//! Errors in the words of the tools: a client may have no shell, so a command that an error suggests becomes a tool, or is left
//! to the human.

/// The tool for each command. The first match counts.
const TOOLS: [(&str, &str); 18] = [
    ("agent add", "register_agent"),
    ("agent list", "list_agents"),
    ("who", "list_agents"),
    ("join", "register_agent"),
    ("send", "send_message"),
    ("reply", "reply_message"),
    ("ask", "send_message"),
    ("read", "fetch_inbox"),
    ("inbox", "fetch_inbox"),
    ("wait", "wait_for_message"),
    ("ack", "acknowledge_message"),
    ("search", "search_messages"),
    ("list", "search_messages"),
    ("thread", "get_thread"),
    ("claims", "list_claims"),
    ("claim", "claim_work"),
    ("release", "claim_work"),
    ("handoff", "claim_work"),
];

/// The text with each command between backquotes replaced.
pub(super) fn of_tools(text: &str) -> String {
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("`mailbag ") {
        let Some((command, behind)) = after.split_once('`') else {
            break;
        };
        let (lead, is_asked) = before
            .strip_suffix("run ")
            .map_or((before, false), |lead| (lead, true));
        done += &match tool(command) {
            // It says already who runs the command.
            _ if lead.ends_with("a person can ") => format!("{before}`mailbag {command}`"),
            Some(tool) if is_asked => format!("{lead}call {tool}"),
            Some(tool) => format!("{lead}{tool}"),
            None if is_asked => format!("{lead}ask the human to run `mailbag {command}`"),
            None => format!("{lead}`mailbag {command}` (for the human)"),
        };
        rest = behind;
    }
    done + rest
}

fn tool(command: &str) -> Option<&'static str> {
    let (_, tool) = TOOLS.iter().find(|(name, _)| {
        command
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    })?;
    Some(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_becomes_a_tool_or_is_left_to_the_human() {
        for (error, wanted) in [
            (
                "no agent is called x; run `mailbag agent list`",
                "no agent is called x; call list_agents",
            ),
            (
                "it is bob's; `mailbag handoff` gives it",
                "it is bob's; claim_work gives it",
            ),
            (
                "there is no room; run `mailbag init`",
                "there is no room; ask the human to run `mailbag init`",
            ),
            (
                "a person can run `mailbag trust .`",
                "a person can run `mailbag trust .`",
            ),
            (
                "`mailbag status` shows why",
                "`mailbag status` (for the human) shows why",
            ),
            (
                "`mailbag claimsx` and `mailbag read 2`",
                "`mailbag claimsx` (for the human) and fetch_inbox",
            ),
            (
                "no command here, and `mailbag read",
                "no command here, and `mailbag read",
            ),
        ] {
            assert_eq!(of_tools(error), wanted);
        }
    }

    #[test]
    fn each_tool_exists() {
        let known: Vec<&str> = crate::clients::mcp::tool_names().collect();
        for (command, tool) in TOOLS {
            assert!(known.contains(&tool), "{command}: {tool}");
        }
    }
}
