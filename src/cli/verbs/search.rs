//! `mailbag search`: finds messages by words or by a regular expression.

use super::list::{MessageFilterArgs, head};
use crate::base::error::Result;
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::newest::NewestArgs;
use crate::cli::show::output::{CommandOutput, FOUND, PLAIN};
use crate::query::search::{self, SearchHit, SearchPattern};
use crate::query::view::MessageView;
use std::cell::RefCell;

const EXAMPLES: &str = "\
Examples:
  mailbag search server port
  mailbag search deadlock --since 7d --from alice --last 10
  mailbag search '\"test server\"'              # these words, in this order
  mailbag search --regex 'port 80[0-9]+'
  mailbag search parser.rs --json

Finds the messages that contain all words, in any order and in any field. Letter
case does not matter. The command searches all text of a message: subject, body,
from, to, id, names and contents of attachments, and metadata. Columns: number,
accept time (UTC), sender and recipients, field, match with the text around it.

An agent finds the messages that it sent or received. The human, and a caller
without an identity, finds all messages.";

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
    #[command(flatten)]
    newest: NewestArgs,
    #[command(flatten)]
    filters: MessageFilterArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Messages)?;
    let text = args.words.join(" ");
    let pattern = if args.regex {
        SearchPattern::regex(&text, args.ignore_case)?
    } else {
        SearchPattern::words(&text)?
    };
    let filter = args.filters.filter(&room, cx)?;
    let progress = RefCell::new((cx.out.progress(), 0));
    let report = |bytes: u64| {
        let (progress, done) = &mut *progress.borrow_mut();
        *done += bytes;
        progress.report(|| format!("searched {} MiB", *done >> 20));
    };
    let hits = search::search(&room, pattern, filter, args.newest.sought(&cx.out), &report)?;
    // Other output follows the first hit, or the end.
    let end_progress = || progress.borrow_mut().0.end();
    let hits = hits.inspect(|_| end_progress());
    let hits = hits.chain(std::iter::from_fn(|| {
        end_progress();
        None
    }));
    args.newest.show(hits, &mut cx.out, |out, hits| {
        out.list("messages", hits, "no matching messages", |out, hit| {
            show(&hit, out)
        })
    })
}

/// Prints a message in one line, with the excerpt of its first field with a match.
fn show(hit: &SearchHit, out: &mut CommandOutput) -> Result<()> {
    let view = MessageView::from(&hit.past);
    let head = head(&view, out) + &view.closed_mark();
    let Some(found) = hit.matches.first() else {
        return out.pieces(&[(PLAIN, &head)]);
    };
    let field = format!("  {}: ", found.field);
    let mut pieces = vec![(PLAIN, &*head), (PLAIN, &*field)];
    pieces.extend(found.excerpt.iter().map(|piece| {
        let style = if piece.is_match { FOUND } else { PLAIN };
        (style, &*piece.text)
    }));
    out.pieces(&pieces)
}
