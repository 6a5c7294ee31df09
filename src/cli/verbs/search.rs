//! `mailbag search`: finds messages by words or by a regular expression.

use super::list::{Filters, head};
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{Context, Freshness};
use crate::cli::show::output::{FOUND, Talk};
use crate::query::search::{Block, Hit, Match, Pattern, newest, search};
use crate::query::view::View;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  mailbag search server port
  mailbag search deadlock --since 7d --from alice --last 10
  mailbag search '\"test server\"'              # these words, in this order
  mailbag search --regex 'port 80[0-9]+'
  mailbag search parser.rs --field metadata.file --json

Finds the messages that contain all words, in any order and in any field. Letter
case does not matter. The command searches all text of a message: subject, body,
from, to, id, names and contents of attachments, and metadata. Columns: number,
accept time (UTC), sender and recipients, field, match with the text around it.

An agent finds the messages that it sent or received. The human, and a caller
without an identity, finds all messages.";

/// Time before the first report of the progress.
const PATIENCE: Duration = Duration::from_secs(1);

/// Time between reports.
const OFTEN: Duration = Duration::from_millis(100);

/// Search messages by words
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Words that the message contains; a word in double quotes may have blanks
    #[arg(required = true, value_name = "WORD")]
    words: Vec<String>,
    /// Treat the words as a regular expression
    #[arg(long)]
    regex: bool,
    /// Ignore letter case in a regular expression
    #[arg(short, long)]
    ignore_case: bool,
    /// Field to search, such as subject or metadata.file
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
    /// Number of messages, the newest
    #[arg(long, value_name = "N")]
    last: Option<usize>,
    #[command(flatten)]
    filters: Filters,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let text = args.words.join(" ");
    let pattern = if args.regex {
        Pattern::regex(&text, args.ignore_case, args.field)?
    } else {
        Pattern::words(&text, args.field)?
    };
    let room = cx.fresh_room(Freshness::Messages)?;
    let filter = args.filters.filter(&room, cx)?;
    if let Some(last) = args.last {
        return show_newest(&newest(&room, pattern, filter, last)?, cx);
    }
    let scan = search(&room, pattern, filter)?;
    let mut progress = Progress {
        started: Instant::now(),
        done: 0,
        total: scan.total(),
        said: None,
    };
    if cx.out.json {
        // Progress must not mix with JSON on the same terminal.
        let stderr = if cx.out.is_terminal() {
            None
        } else {
            Some(cx.out.talk())
        };
        let blocks = scan.map(|block| block.map(|block| progress.take(block, stderr.as_ref())));
        let hits = blocks.flat_map(|found| match found {
            Ok(found) => found.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(e) => vec![Err(e)],
        });
        cx.out.json_list("messages", hits)?;
        cx.out.talk().progress("");
        return Ok(Exit::Ok);
    }
    let mut any = false;
    for block in scan {
        let found = progress.take(block?, Some(&cx.out.talk()));
        for hit in &found {
            any = true;
            let line = line(hit, cx);
            cx.out.line(line)?;
        }
        // Only whole lines, because a report of the progress may follow.
        if !found.is_empty() && cx.out.is_terminal() {
            cx.out.flush()?;
        }
    }
    cx.out.talk().progress("");
    if !any {
        cx.out.note(NONE);
    }
    Ok(Exit::Ok)
}

const NONE: &str = "no matching messages";

fn show_newest(found: &[Hit], cx: &mut Context) -> Result<Exit> {
    if cx.out.json {
        cx.out.json_list("messages", found.iter().map(Ok))?;
        return Ok(Exit::Ok);
    }
    for hit in found {
        let line = line(hit, cx);
        cx.out.line(line)?;
    }
    if found.is_empty() {
        cx.out.note(NONE);
    }
    Ok(Exit::Ok)
}

/// A message in one line, with its first match.
fn line(hit: &Hit, cx: &Context) -> String {
    let head = head(&View::from(&hit.past));
    let Some(Match {
        field,
        before,
        text,
        after,
    }) = hit.matches.first()
    else {
        return head;
    };
    let [field, before, text, after] =
        sanitize::pieces([&format!("{field}: "), before, text, after]);
    format!(
        "{head}  {field}{before}{}{after}",
        cx.out.paint(FOUND, &text)
    )
}

/// The progress of the search.
struct Progress {
    started: Instant,
    done: u64,
    total: u64,
    said: Option<Instant>,
}

impl Progress {
    /// Takes the hits of a block. Reports the progress if the search takes long and has no hits to show.
    fn take(&mut self, block: Block<Hit>, talk: Option<&Talk>) -> Vec<Hit> {
        self.done += block.bytes;
        let Some(talk) = talk else { return block.found };
        if !block.found.is_empty() && self.said.take().is_some() {
            talk.progress("");
        }
        let is_due = self.said.unwrap_or(self.started).elapsed()
            > if self.said.is_some() { OFTEN } else { PATIENCE };
        if block.found.is_empty() && is_due {
            let percent = self.done * 100 / self.total.max(1);
            talk.progress(&format!(
                "searched {} of {} MiB ({percent} %)",
                self.done >> 20,
                self.total >> 20
            ));
            self.said = Some(Instant::now());
        }
        block.found
    }
}
