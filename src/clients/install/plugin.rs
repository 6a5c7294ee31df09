//! Adds and removes our plugin, between two marks, in a script that a client loads.

use super::blocks::{is_sealed, marked, seal};
use super::clients::HookConfiguration;
use super::json::EditError;
use crate::clients::kind::Client;

const BEGIN: &str = "// mailbag:begin";
const END: &str = "// mailbag:end";
/// A comment in the script.
const COMMENT: [&str; 2] = ["// ", ""];
/// The text around the words of the command in the script.
const COMMAND: (&str, &str) = ("const COMMAND = ", "\n");

/// The plugin of OpenCode.
const OPENCODE: &str = include_str!("opencode.js");

/// A file's text with our plugin.
pub(super) fn put(
    text: &str,
    client: Client,
    wanted: &HookConfiguration,
) -> Result<String, EditError> {
    let plugin = plugin(client, wanted);
    match place(text)? {
        Some((start, end)) => Ok(format!("{}{plugin}{}", &text[..start], &text[end..])),
        None if text.trim().is_empty() => Ok(plugin),
        None => Err(EditError::new(
            "is not a plugin of mailbag; rename or remove it",
        )),
    }
}

/// A file's text without our plugin.
pub(super) fn take_out(text: &str) -> Result<String, EditError> {
    Ok(place(text)?.map_or_else(
        || text.to_owned(),
        |(start, end)| format!("{}{}", &text[..start], &text[end..]),
    ))
}

/// Returns true if our plugin in a file is not as mailbag wrote it.
pub(super) fn is_edited(text: &str) -> bool {
    let Ok(Some((start, end))) = place(text) else {
        return false;
    };
    let script = text[start..end].strip_suffix(&format!("{END}\n"));
    !script.is_some_and(|script| is_sealed(script, COMMENT))
}

/// The program and agent of our plugin in a file.
pub(super) fn find(text: &str) -> Result<Option<HookConfiguration>, EditError> {
    let Some((start, end)) = place(text)? else {
        return Ok(None);
    };
    let line = text[start..end]
        .split_once(COMMAND.0)
        .and_then(|(_, rest)| rest.split_once(COMMAND.1));
    let words: Vec<String> = line
        .and_then(|(words, _)| serde_json::from_str(words).ok())
        .unwrap_or_default();
    let agent = words
        .iter()
        .position(|word| word == "--as")
        .and_then(|at| words.get(at + 1))
        .cloned();
    let program = words.into_iter().next().unwrap_or_default();
    Ok(Some(HookConfiguration {
        program,
        agent,
        ..HookConfiguration::default()
    }))
}

fn plugin(client: Client, wanted: &HookConfiguration) -> String {
    let words = [
        vec![wanted.program.clone()],
        client.words(super::clients::HookJob::Tell, wanted),
    ]
    .concat();
    let words = serde_json::to_string(&words).unwrap_or_default();
    let (before, rest) = OPENCODE.split_once(COMMAND.0).unwrap_or((OPENCODE, ""));
    let rest = rest.split_once(COMMAND.1).map_or("", |(_, rest)| rest);
    let script = format!("{BEGIN}\n{before}{}{words}{}{rest}", COMMAND.0, COMMAND.1);
    format!("{}{END}\n", seal(&script, COMMENT))
}

fn place(text: &str) -> Result<Option<(usize, usize)>, EditError> {
    marked(text, BEGIN, END)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_calls_the_program_for_the_agent_and_goes_in_and_out_around_other_lines() {
        let agent = Some("al\"ice".to_owned());
        let wanted = HookConfiguration {
            program: "/opt/my \"tools\"/mailbag".into(),
            agent,
            ..HookConfiguration::default()
        };
        let text = put("", Client::OpenCode, &wanted).expect("it goes in");
        assert_eq!(find(&text), Ok(Some(wanted.clone())));
        assert_eq!(take_out(&text), Ok(String::new()));
        let edited = format!("// Mine.\n{text}\nexport const Mine = 1\n");
        let other = HookConfiguration {
            agent: None,
            ..wanted
        };
        let changed = put(&edited, Client::OpenCode, &other).expect("it is changed");
        assert_eq!(find(&changed), Ok(Some(other)));
        assert_eq!(
            take_out(&changed),
            Ok("// Mine.\n\nexport const Mine = 1\n".to_owned())
        );
        assert!(
            put(
                "export const Mine = 1\n",
                Client::OpenCode,
                &HookConfiguration::default()
            )
            .is_err()
        );
    }
}
