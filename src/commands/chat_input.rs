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
    if rest.is_empty() {
        let fix = if to.is_empty() {
            "write `@name` and the text".to_owned()
        } else {
            format!("write the text after {}", to.join(" "))
        };
        return Err(Error::usage("the message is empty", fix));
    }
    let is_to_channel = to.is_empty() && mentions(rest).is_empty();
    if is_to_channel && channel.is_none() {
        return Err(Error::usage(
            "the message has no recipient",
            "begin with `@name` or `@all`, or run `mailbag watch CHANNEL` to write to a channel",
        ));
    }
    Ok(MessageDraft {
        to,
        body: Some(rest.to_owned()),
        kind: is_to_channel.then(|| "user".to_owned()),
        channel,
        ..MessageDraft::default()
    })
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
