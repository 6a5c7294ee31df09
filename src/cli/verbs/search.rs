//! `mailbag search`: finds messages by words or by a regular expression.

use super::list::{MessageFilterArgs, head};
use crate::base::error::Result;
use crate::cli::context::{CommandContext, Freshness};
use crate::cli::show::output::{FOUND, PLAIN};
use crate::query::search::{SearchHit, SearchPattern, newest, search};
use crate::query::view::MessageView;

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
    filters: MessageFilterArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let room = cx.fresh_room(Freshness::Messages)?;
    let text = args.words.join(" ");
    let pattern = if args.regex {
        SearchPattern::regex(&text, args.ignore_case, args.field)?
    } else {
        SearchPattern::words(&text, args.field)?
    };
    let filter = args.filters.filter(&room, cx)?;
    if let Some(last) = args.last {
        return show_newest(&newest(&room, pattern, filter, last)?, cx);
    }
    let scan = search(&room, pattern, filter)?;
    let total = scan.total();
    let (mut progress, mut done, mut any) = (cx.out.progress(), 0, false);
    let blocks = scan.map(|block| {
        let block = block?;
        done += block.bytes;
        any |= !block.found.is_empty();
        if any {
            progress.clear();
        } else {
            progress.report(|| progress_text(done, total));
        }
        Ok(block.found)
    });
    if cx.out.json {
        let hits = blocks.flat_map(|found| match found {
            Ok(found) => found.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(e) => vec![Err(e)],
        });
        cx.out.json_list("messages", hits)?;
        return Ok(());
    }
    cx.out.page();
    for found in blocks {
        for hit in &found? {
            show(hit, cx)?;
        }
    }
    progress.clear();
    if !any {
        cx.out.note(NONE);
    }
    Ok(())
}

fn progress_text(done: u64, total: u64) -> String {
    let percent = done * 100 / total.max(1);
    format!(
        "searched {} of {} MiB ({percent} %)",
        done >> 20,
        total >> 20
    )
}

const NONE: &str = "no matching messages";

fn show_newest(found: &[SearchHit], cx: &mut CommandContext) -> Result<()> {
    if cx.out.json {
        cx.out.json_list("messages", found.iter().map(Ok))?;
        return Ok(());
    }
    cx.out.page();
    for hit in found {
        show(hit, cx)?;
    }
    if found.is_empty() {
        cx.out.note(NONE);
    }
    Ok(())
}

/// Prints a message in one line, with the excerpt of its first field with a match.
fn show(hit: &SearchHit, cx: &mut CommandContext) -> Result<()> {
    let view = MessageView::from(&hit.past);
    let head = head(&view, &cx.out) + &view.closed_mark();
    let Some(found) = hit.matches.first() else {
        return cx.out.pieces(&[(PLAIN, &head)]);
    };
    let field = format!("  {}: ", found.field);
    let mut pieces = vec![(PLAIN, &*head), (PLAIN, &*field)];
    pieces.extend(found.excerpt.iter().map(|piece| {
        let style = if piece.is_match { FOUND } else { PLAIN };
        (style, &*piece.text)
    }));
    cx.out.pieces(&pieces)
}
