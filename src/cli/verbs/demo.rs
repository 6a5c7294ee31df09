//! `mailbag demo`: delivers two dropped files in a temporary room, and shows the inboxes.

use crate::base::error::{ErrorContext, Result};
use crate::base::{limits, sanitize};
use crate::cli::context::CommandContext;
use crate::cli::show::frame::{self, INDENT};
use crate::commands::agent::{self, AgentFields};
use crate::commands::follow;
use crate::disk::layout;
use crate::query::inbox::{self, InboxMessage};
use crate::query::view::MessageView;
use crate::room::Room;
use std::collections::BTreeMap;

/// The files that planner drops: one message, and one with a misspelled recipient.
const FILES: [(&str, &str); 2] = [
    (
        "hello.json",
        r#"{"to": "engineer", "body": "Which port does the test server use?"}"#,
    ),
    ("typo.json", r#"{"to": "enginer", "body": "Hello?"}"#),
];

/// Run a demonstration in a temporary room
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  mailbag demo", hide = true)]
pub(crate) struct Args {}

pub(crate) fn run(_: Args, cx: &mut CommandContext) -> Result<()> {
    let place = std::env::temp_dir();
    let temporary = tempfile::Builder::new()
        .prefix("mailbag-demo-")
        .tempdir_in(&place)
        .doing("create a directory in", &place)?;
    let (room, _) = Room::init(temporary.path())?;
    let agents = ["planner", "engineer"].map(str::to_owned);
    agent::add(&room, &agents, &AgentFields::default())?;
    for (name, text) in FILES {
        let file = layout::outbox("planner").join(name);
        room.dir.replace(&file, text.as_bytes())?;
    }
    follow::route(&room, limits::WRITER_WAIT)?;
    let mut inboxes: BTreeMap<String, Vec<InboxMessage>> = BTreeMap::new();
    for agent in agents {
        let mail = inbox::list(&room, &agent)?;
        inboxes.insert(agent, mail);
    }
    cx.out.show(&inboxes, |out| {
        for (name, text) in FILES {
            out.line(format!("$ echo '{text}' > outbox/planner/{name}"))?;
        }
        for (agent, mail) in &inboxes {
            for view in mail.iter().map(MessageView::from) {
                let from = sanitize::line(view.from);
                out.line(format!("inbox/{agent}: {} from {from}", view.kind))?;
                frame::text(out, view.body.unwrap_or_default(), INDENT)?;
            }
        }
        Ok(())
    })
}
