//! The keys of `settings.toml`: purpose, parsing and display.

use super::escalation::{self, Escalation};
use super::links;
use super::values::{integer, shown};
use super::{Admission, AnswerWithin, Brief, Durability, Guard, Settings};
use crate::base::{clock, limits};
use crate::message;
use crate::message::address::{self, is_display_name};
use crate::message::id;
use serde::Serialize;
use std::time::Duration;
use toml::de::DeValue;

/// The smallest limit that still allows a message.
const MESSAGE_BYTES_LEAST: u64 = 1 << 10;
const _: () = assert!(
    MESSAGE_BYTES_LEAST <= limits::MESSAGE_BYTES
        && limits::MESSAGE_BYTES <= limits::MESSAGE_BYTES_MOST
);

/// The definition of a key.
pub(super) struct Key {
    pub(super) key: &'static str,
    pub(super) doc: &'static str,
    /// Reads the value, or returns a description of a valid value.
    pub(super) read: fn(&DeValue<'_>, &mut Settings) -> Result<(), String>,
    /// The current value as TOML.
    pub(super) show: fn(&Settings) -> String,
}

pub(super) const KEYS: &[Key] = &[
    Key {
        key: "tag",
        doc: "name of this room in addresses from other rooms, as in `po:Sintra`",
        read: |value, settings| {
            let prefixes = address::PREFIXES
                .map(|prefix| format!("`{prefix}`"))
                .join(", ");
            let wanted = || {
                format!("a name of letters, digits, . _ -, not reserved, and none of {prefixes}")
            };
            let tag = value
                .as_str()
                .filter(|tag| links::is_tag(tag))
                .ok_or_else(wanted)?;
            settings.tag = Some(tag.to_owned());
            Ok(())
        },
        show: |settings| settings.tag.as_deref().map(shown).unwrap_or_default(),
    },
    Key {
        key: "durability",
        doc: "events that an accepted message survives: `power` (kill and power cut) or `process` (kill)",
        read: |value, settings| {
            let words = [
                ("power", Durability::Power),
                ("process", Durability::Process),
            ];
            settings.durability = one_of(value, &words)?;
            Ok(())
        },
        show: |settings| word(&settings.durability),
    },
    Key {
        key: "admission",
        doc: "who may send: `registered` agents only, or `open` (a new outbox registers its agent)",
        read: |value, settings| {
            let words = [
                ("registered", Admission::Registered),
                ("open", Admission::Open),
            ];
            settings.admission = one_of(value, &words)?;
            Ok(())
        },
        show: |settings| word(&settings.admission),
    },
    Key {
        key: "context",
        doc: "directory of shared files: an absolute path, or a path relative to the room",
        read: |value, settings| {
            let path = value
                .as_str()
                .filter(|p| is_context(p))
                .ok_or("a path, not one of the room's own directories")?;
            settings.context = path.to_owned();
            Ok(())
        },
        show: |settings| shown(&settings.context),
    },
    Key {
        key: "attach_from",
        doc: "directories, by absolute path, below which a command's output (`mailbag exec`) and a model (MCP) may attach \
              files, beside the repository and the context",
        read: |value, settings| {
            let one = |item: &toml::Spanned<DeValue<'_>>| {
                let path = item.get_ref().as_str()?;
                (path.starts_with('/') && path != "/" && !path.contains('\0'))
                    .then(|| path.to_owned())
            };
            let all: Option<Vec<String>> = value
                .as_array()
                .and_then(|items| items.iter().map(one).collect());
            settings.attach_from = all.ok_or("an array of absolute paths, none of them \"/\"")?;
            Ok(())
        },
        show: |settings| {
            format!(
                "[{}]",
                settings
                    .attach_from
                    .iter()
                    .map(|path| shown(path))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        },
    },
    Key {
        key: "message_bytes",
        doc: "largest message file in bytes; larger files are rejected",
        read: |value, settings| {
            let allowed = MESSAGE_BYTES_LEAST..=limits::MESSAGE_BYTES_MOST;
            let given = integer(value).filter(|n| allowed.contains(n));
            let wanted = || {
                format!(
                    "a whole number of bytes from {} to {}",
                    allowed.start(),
                    allowed.end()
                )
            };
            settings.message_bytes = given.ok_or_else(wanted)?;
            Ok(())
        },
        show: |settings| settings.message_bytes.to_string(),
    },
    Key {
        key: "names",
        doc: "names that sessions get if this is set, and display names that `mailbag agent add --name auto` assigns, in \
              this order",
        read: |value, settings| {
            settings.names = pool(value).ok_or_else(|| {
                format!(
                    "an array of different names, each of 1 to {} ASCII letters, none reserved",
                    limits::DISPLAY_NAME
                )
            })?;
            Ok(())
        },
        show: |settings| {
            format!(
                "[{}]",
                settings
                    .names
                    .iter()
                    .map(|n| shown(n))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        },
    },
    Key {
        key: "answer_within",
        doc: "time limit for the answer to a question or an urgent message; then the supervisor is notified, and after \
              the same time the human: a duration, or a table of priorities; \"0\" for never",
        read: |value, settings| {
            let wanted =
                "a duration such as \"30m\", or a table such as { urgent = \"5m\", low = \"0\" }";
            settings.answer_within = answer_within(value).ok_or(wanted)?;
            Ok(())
        },
        show: |settings| {
            let each = message::PRIORITIES.iter().zip(settings.answer_within.0);
            let each = each.map(|(priority, within)| {
                format!("{priority} = {}", shown(&clock::span_text(within)))
            });
            format!("{{ {} }}", each.collect::<Vec<_>>().join(", "))
        },
    },
    Key {
        key: "stale_after",
        doc: "time without activity after which an agent with unread mail, or with status online, is stale and the human \
              is notified; \"0\" for never",
        read: |value, settings| {
            let given = value.as_str().and_then(clock::span);
            settings.stale_after = given.ok_or("a duration such as \"6h\", or \"0\" for never")?;
            Ok(())
        },
        show: |settings| shown(&clock::span_text(settings.stale_after)),
    },
    Key {
        key: "sender_budget",
        doc: "messages per sender and `budget_window`; further messages are delayed in the outbox; 0 for no limit",
        read: |value, settings| budget(value).map(|most| settings.sender_budget = most),
        show: |settings| settings.sender_budget.to_string(),
    },
    Key {
        key: "copies_budget",
        doc: "copies per sender and `budget_window`; further messages are delayed in the outbox; 0 for no limit",
        read: |value, settings| budget(value).map(|most| settings.copies_budget = most),
        show: |settings| settings.copies_budget.to_string(),
    },
    Key {
        key: "loop_hops",
        doc: "replies to replies per conversation and `budget_window`; further ones are delayed; 0 for no limit",
        read: |value, settings| budget(value).map(|most| settings.loop_hops = most),
        show: |settings| settings.loop_hops.to_string(),
    },
    Key {
        key: "budget_window",
        doc: "window of the three budgets above, such as `60s`, `10m` or `1h`",
        read: |value, settings| window(value).map(|span| settings.budget_window = span),
        show: |settings| shown(&clock::span_text(settings.budget_window)),
    },
    Key {
        key: "session_lease",
        doc: "lease duration of a session after its last call, from 1s to 24h",
        read: |value, settings| window(value).map(|span| settings.session_lease = span),
        show: |settings| shown(&clock::span_text(settings.session_lease)),
    },
    Key {
        key: "permission_within",
        doc: "time for the human's decision on a permission request of a client, from 1s to 10m; then the client asks by itself",
        read: |value, settings| {
            let given = value
                .as_str()
                .and_then(clock::span)
                .filter(|span| limits::PERMISSION_WITHIN.contains(span));
            settings.permission_within = given.ok_or("a duration from \"1s\" to \"10m\"")?;
            Ok(())
        },
        show: |settings| shown(&clock::span_text(settings.permission_within)),
    },
    Key {
        key: "announce_budget",
        doc: "lines about new mail that hooks show per agent and `announce_window`; the rest becomes a digest",
        read: |value, settings| {
            let given = integer(value)
                .and_then(|n| u32::try_from(n).ok())
                .filter(|n| *n <= limits::BUDGET_MOST);
            let wanted = || {
                format!(
                    "a whole number from 0 (digests only) to {}",
                    limits::BUDGET_MOST
                )
            };
            settings.announce_budget = given.ok_or_else(wanted)?;
            Ok(())
        },
        show: |settings| settings.announce_budget.to_string(),
    },
    Key {
        key: "claim_lease",
        doc: "lease of a claim after the owner's last activity, unless the claim asks for another one, from 1m to 7d",
        read: |value, settings| {
            let allowed = limits::CLAIM_LEASE_LEAST..=limits::CLAIM_LEASE_MOST;
            let given = value
                .as_str()
                .and_then(clock::span)
                .filter(|span| allowed.contains(span));
            settings.claim_lease = given.ok_or("a duration from 1m to 7d, such as \"4h\"")?;
            Ok(())
        },
        show: |settings| shown(&clock::span_text(settings.claim_lease)),
    },
    Key {
        key: "announce_window",
        doc: "window of `announce_budget`, from 1s to 24h",
        read: |value, settings| window(value).map(|span| settings.announce_window = span),
        show: |settings| shown(&clock::span_text(settings.announce_window)),
    },
    Key {
        key: "guard",
        doc: "edits and commits of files that another agent has claimed: `deny` (they stop), `warn` or `off`",
        read: |value, settings| {
            settings.guard = one_of(
                value,
                &[
                    ("off", Guard::Off),
                    ("warn", Guard::Warn),
                    ("deny", Guard::Deny),
                ],
            )?;
            Ok(())
        },
        show: |settings| word(&settings.guard),
    },
    Key {
        key: "mailbox",
        doc: "`MAILBOX.md` in the room, with the newest mail and its status, which the router writes: true or false",
        read: |value, settings| {
            settings.mailbox = value.as_bool().ok_or("true or false")?;
            Ok(())
        },
        show: |settings| settings.mailbox.to_string(),
    },
    Key {
        key: "queue",
        doc: "`queue/to-<agent>.md` in the room, with the unread mail of each agent, which the router writes: true or false",
        read: |value, settings| {
            settings.queue = value.as_bool().ok_or("true or false")?;
            Ok(())
        },
        show: |settings| settings.queue.to_string(),
    },
    Key {
        key: "worklog",
        doc: "a Markdown file with milestones, decisions and session events, which the router writes: true or false",
        read: |value, settings| {
            settings.worklog = value.as_bool().ok_or("true or false")?;
            Ok(())
        },
        show: |settings| settings.worklog.to_string(),
    },
    Key {
        key: "worklog_path",
        doc: "path of the worklog, relative to the room's parent directory",
        read: |value, settings| {
            let wanted = "a relative path that ends in \".md\", without .. and without names that begin with a dot";
            settings.worklog_path = value
                .as_str()
                .filter(|path| is_worklog(path))
                .ok_or(wanted)?
                .to_owned();
            Ok(())
        },
        show: |settings| shown(&settings.worklog_path),
    },
    Key {
        key: "escalation",
        doc: "what happens to proposals that meet objections: after `attempts` rounds in a thread without a decision, the \
              `supervisor` is asked, and `within` this time the human; a table, also as `[escalation]`",
        read: |value, settings| {
            settings.escalation = Some(Escalation::read(value).ok_or(escalation::WANTED)?);
            Ok(())
        },
        show: |settings| {
            settings
                .escalation
                .as_ref()
                .map(Escalation::show)
                .unwrap_or_default()
        },
    },
    Key {
        key: "links",
        doc: "rooms to which there is a link, by tag: `carrier` (`dir`, `ssh`, or `none` if the other room connects), \
              `address`, `as` (this room's tag there, if it is not `tag`), and `accept`, the addresses that their mail may \
              have here (`agents`, `roles`, `all`, `topics`, `human`), and `sender_budget` and `copies_budget`, if they \
              differ from those of the room; a table for each, also as `[links.<tag>]`",
        read: |value, settings| {
            settings.links = links::read(value).ok_or(links::WANTED)?;
            Ok(())
        },
        show: |settings| links::show(&settings.links),
    },
    Key {
        key: "brief",
        doc: "what hooks tell a session at its start: `mail` (claims and mail), or `context` (the output of `mailbag context` too)",
        read: |value, settings| {
            settings.brief = one_of(value, &[("mail", Brief::Mail), ("context", Brief::Context)])?;
            Ok(())
        },
        show: |settings| word(&settings.brief),
    },
    Key {
        key: "context_budget",
        doc: "longest context of a session, in tokens of four bytes",
        read: |value, settings| {
            let allowed = limits::CONTEXT_LEAST..=limits::CONTEXT_HOOK_MOST;
            let given = integer(value)
                .and_then(|n| usize::try_from(n).ok())
                .filter(|n| allowed.contains(n));
            let wanted = || {
                format!(
                    "a whole number of tokens from {} to {}",
                    allowed.start(),
                    allowed.end()
                )
            };
            settings.context_budget = given.ok_or_else(wanted)?;
            Ok(())
        },
        show: |settings| settings.context_budget.to_string(),
    },
    Key {
        key: "session_names",
        doc: "whether a session without a name gets the next free one at its start: true or false",
        read: |value, settings| {
            settings.session_names = value.as_bool().ok_or("true or false")?;
            Ok(())
        },
        show: |settings| settings.session_names.to_string(),
    },
    Key {
        key: "session_role",
        doc: "role of sessions without a name, unless `--role` or MAILBAG_ROLE gives another",
        read: |value, settings| {
            let role = value.as_str().filter(|role| id::is_name(role));
            settings.session_role =
                Some(role.ok_or("a name of letters, digits, . _ -")?.to_owned());
            Ok(())
        },
        show: |settings| {
            settings
                .session_role
                .as_deref()
                .map(shown)
                .unwrap_or_default()
        },
    },
];

fn is_worklog(path: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with('.')
            && name.len() < limits::FILE_NAME - 32
            && !name.contains(char::is_control)
    };
    path.len() <= limits::WORKLOG_PATH && path.ends_with(".md") && path.split('/').all(is_name)
}

fn answer_within(value: &DeValue<'_>) -> Option<AnswerWithin> {
    let span = |value: &DeValue<'_>| clock::span(value.as_str()?);
    if let Some(all) = span(value) {
        return Some(AnswerWithin([all; 4]));
    }
    let mut within = AnswerWithin::default();
    for (priority, value) in value.as_table()? {
        let at = message::PRIORITIES
            .iter()
            .position(|known| *known == priority.get_ref())?;
        within.0[at] = span(value.get_ref())?;
    }
    Some(within)
}

fn one_of<T: Copy>(value: &DeValue<'_>, words: &[(&str, T)]) -> Result<T, String> {
    let found = value
        .as_str()
        .and_then(|v| words.iter().find(|(w, _)| *w == v));
    let wanted = || {
        words
            .iter()
            .map(|(w, _)| format!("\"{w}\""))
            .collect::<Vec<_>>()
            .join(" or ")
    };
    found.map(|(_, t)| *t).ok_or_else(wanted)
}

fn budget(value: &DeValue<'_>) -> Result<u32, String> {
    let given = integer(value)
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| *n <= limits::BUDGET_MOST);
    given.ok_or_else(|| {
        format!(
            "a whole number from 0 (no limit) to {}",
            limits::BUDGET_MOST
        )
    })
}

fn window(value: &DeValue<'_>) -> Result<Duration, String> {
    let allowed = limits::BUDGET_WINDOW_LEAST..=limits::BUDGET_WINDOW_MOST;
    let given = value
        .as_str()
        .and_then(clock::span)
        .filter(|span| allowed.contains(span));
    given.ok_or_else(|| "a duration from 1s to 24h, such as \"60s\", \"10m\" or \"1h\"".to_owned())
}

fn is_context(path: &str) -> bool {
    const OWN: [&str; 10] = [
        "inbox", "outbox", "sent", "rejected", "channels", "log", "archive", "sessions", "spool",
        "queue",
    ];
    let first = path
        .trim_start_matches("./")
        .split('/')
        .next()
        .unwrap_or_default();
    !path.is_empty() && !path.contains('\0') && !matches!(path, "." | "./") && !OWN.contains(&first)
}

fn pool(value: &DeValue<'_>) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for item in value.as_array()?.iter() {
        let name = item.get_ref().as_str()?;
        let known = names.iter().any(|n| n.eq_ignore_ascii_case(name));
        if !is_display_name(name) || address::reserved(name).is_some() || known {
            return None;
        }
        names.push(name.to_owned());
    }
    Some(names)
}

fn word(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
