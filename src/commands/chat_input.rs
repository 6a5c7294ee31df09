//! Parses a line that a person typed in `watch` into a message.

use super::send::MessageDraft;
use crate::base::error::{Error, Result};
use crate::message::mentions::mentions;
use crate::query::timeline::ChannelSelection;

/// The recipients are the `@names` at the beginning; without any, the mentions in the text; without those, the one
/// watched channel.
pub fn draft(typed: &str, channels: &ChannelSelection) -> Result<MessageDraft> {
    let (mut to, mut rest) = (Vec::new(), typed.trim());
    while let Some(word) = rest
        .strip_prefix('@')
        .map(|word| word.split(char::is_whitespace).next().unwrap_or(word))
    {
        rest = rest[1 + word.len()..].trim_start();
        to.push(format!("@{}", word.trim_end_matches([',', ':', ';'])));
    }
    let channel = channels.only().map(str::to_owned);
    let draft = |to, kind: Option<&str>| MessageDraft {
        to,
        body: Some(rest.to_owned()),
        kind: kind.map(str::to_owned),
        channel: channel.clone(),
        ..MessageDraft::default()
    };
    let usage = |what: &str, fix: String| Err(Error::usage(what, fix));
    match (rest.is_empty(), to.is_empty()) {
        (true, true) => usage("the message is empty", "write `@name` and the text".into()),
        (true, false) => usage(
            "the message is empty",
            format!("write the text after {}", to.join(" ")),
        ),
        (false, false) => Ok(draft(to, None)),
        (false, true) if !mentions(rest).is_empty() => Ok(draft(to, None)),
        (false, true) if channel.is_some() => Ok(draft(to, Some("user"))),
        (false, true) => usage(
            "the message has no recipient",
            "begin with `@name` or `@all`, or run `mailbag watch CHANNEL` to write to a channel"
                .into(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drafted(
        typed: &str,
        channels: &[&str],
    ) -> Result<(Vec<String>, String, Option<String>), String> {
        let channels = ChannelSelection(channels.iter().map(|&name| name.to_owned()).collect());
        let draft = draft(typed, &channels).map_err(|e| e.to_string())?;
        Ok((draft.to, draft.body.unwrap_or_default(), draft.kind))
    }

    #[test]
    fn names_in_front_are_recipients_and_the_rest_is_the_body() {
        assert_eq!(
            drafted("@bob, @carol: look  at @dan", &[]),
            Ok((
                vec!["@bob".into(), "@carol".into()],
                "look  at @dan".into(),
                None
            ))
        );
        assert_eq!(
            drafted("@po:bob: look", &[]),
            Ok((vec!["@po:bob".into()], "look".into(), None))
        );
        assert_eq!(
            drafted("please, @po:bob", &[]),
            Ok((vec![], "please, @po:bob".into(), None))
        );
        assert_eq!(
            drafted("please, @bob", &[]),
            Ok((vec![], "please, @bob".into(), None))
        );
        assert_eq!(
            drafted(" @bob\nline\n", &["x"]),
            Ok((vec!["@bob".into()], "line".into(), None))
        );
    }

    #[test]
    fn without_names_it_goes_to_the_one_channel_that_is_watched_or_nowhere() {
        assert_eq!(
            drafted("hello", &["auth"]),
            Ok((vec![], "hello".into(), Some("user".into())))
        );
        for (typed, channels) in [
            ("hello", &[][..]),
            ("hello", &["a", "b"]),
            ("@bob", &[]),
            ("  ", &["a"]),
            ("@", &[]),
        ] {
            assert!(drafted(typed, channels).is_err(), "{typed}");
        }
    }
}
