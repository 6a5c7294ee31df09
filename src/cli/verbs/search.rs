//! `mailbag search`

use super::list::{Filters, head};
use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::output::{FOUND, Talk};
use crate::log::find::Block;
use crate::query::search::{Hit, Match, Pattern, search};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  mailbag search 'port 80[0-9]+'
  mailbag search -i deadlock --since 7d --from alice
  mailbag search parser.rs --field metadata.file --json

PATTERN is a regular expression, sought in every text of each message: subject,
body, from, to, id, the names and contents of attachments, all of metadata.
Each line: seq, when it was accepted (UTC), sender and recipients, the field,
and the match with the text around it.

An agent finds what it sent and what it got. The human, and whoever looks
without a name, finds all.";

/// How long a search may take before it says how far it is.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it says so from then on.
const OFTEN: Duration = Duration::from_millis(100);

/// Find messages by what they say
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A regular expression
    pattern: String,
    /// Capital and small letters are the same
    #[arg(short, long)]
    ignore_case: bool,
    /// Only in this field, such as subject or metadata.file
    #[arg(long, value_name = "NAME")]
    field: Option<String>,
    #[command(flatten)]
    filters: Filters,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let pattern = Pattern::new(&args.pattern, args.ignore_case, args.field)?;
    let room = cx.room()?;
    cx.route_waiting(&room);
    let filter = args.filters.filter(&room, cx)?;
    let scan = search(&room, pattern, filter)?;
    let mut progress = Progress { started: Instant::now(), done: 0, total: scan.total(), said: None };
    if cx.out.json {
        // Not between the pieces of what stands on the same terminal.
        let stderr = if cx.out.is_terminal() { None } else { Some(cx.out.talk()) };
        let blocks = scan.map(|block| block.map(|block| progress.take(block, stderr.as_ref())));
        let hits = blocks.flat_map(|found| match found {
            Ok(found) => found.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(e) => vec![Err(e)],
        });
        cx.out.json_list(hits)?;
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
        // Whole lines only: what is said of the progress may come next.
        if !found.is_empty() && cx.out.is_terminal() {
            cx.out.flush()?;
        }
    }
    cx.out.talk().progress("");
    if !any {
        cx.out.note("nothing was found");
    }
    Ok(Exit::Ok)
}

/// A message in one line, with the first thing that was found in it.
fn line(hit: &Hit, cx: &Context) -> String {
    let Some(Match { field, before, text, after }) = hit.matches.first() else { return head(&hit.past) };
    let [field, before, text, after] = sanitize::pieces([&format!("{field}: "), before, text, after]);
    format!("{}  {field}{before}{}{after}", head(&hit.past), cx.out.paint(FOUND, &text))
}

/// How far the search has come.
struct Progress {
    started: Instant,
    done: u64,
    total: u64,
    said: Option<Instant>,
}

impl Progress {
    /// Takes what was found from a block, and says how far it is if it has taken long and there is nothing to show.
    fn take(&mut self, block: Block<Hit>, talk: Option<&Talk>) -> Vec<Hit> {
        self.done += block.bytes;
        let Some(talk) = talk else { return block.found };
        if !block.found.is_empty() && self.said.take().is_some() {
            talk.progress("");
        }
        let is_due = self.said.unwrap_or(self.started).elapsed() > if self.said.is_some() { OFTEN } else { PATIENCE };
        if block.found.is_empty() && is_due {
            let percent = self.done * 100 / self.total.max(1);
            talk.progress(&format!("searched {} of {} MiB ({percent} %)", self.done >> 20, self.total >> 20));
            self.said = Some(Instant::now());
        }
        block.found
    }
}
