//! `mailbag pending`: lists the pending items of the caller.

use super::pending_follow;
use crate::base::error::Result;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::show::output::{BOLD, CommandOutput, DIM, PLAIN, RED, YELLOW};
use crate::query::pending::{self, PendingItem, PendingList, age, left};
use crate::room::Room;

const EXAMPLES: &str = "\
Examples:
  mailbag pending              # what needs you, most urgent first
  mailbag pending --as alice
  mailbag pending --follow     # at a terminal, with a line to answer
  mailbag decide 12 yes        # settle #12
  mailbag dismiss 12           # remove #12 from the list

Listed are approvals, questions, offers of claims, escalations, agents that wait for
work that you own, your rejected messages, and for the human also failed wakes.
Order: by deadline, priority, whether the sender is blocked, and age. Below each item
is a command that settles it. \"inactive\" means that its sender shows no activity.
With --json, an approval has its complete text, and the digest that `mailbag decide`
needs from a program.

--follow shows the items at a terminal as they change, each with a number, and reads
answers: `2 yes` decides item 2, `3 tax first` replies to item 3, `#12 yes` names the
item by its record. An approval is shown whole before it can be decided. Other answers
are accept, decline, release and dismiss.

pending.json in the room has the same data for every agent.";

/// List what needs you
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Show the items as they change, and read answers
    #[arg(long)]
    follow: bool,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    if args.follow {
        return pending_follow::run(&args.identity, cx);
    }
    let room = cx.fresh_room(Freshness::Complete)?;
    let agent = args.identity.mailbox(cx, &room)?;
    let list = if cx.out.json {
        pending::with_texts(&room, &agent)
    } else {
        pending::pending(&room, &agent)
    }?;
    let nothing = format!("nothing needs {agent}");
    cx.out.show(&list, |out| show(&list, nothing, out))
}

/// Lists the open items of the caller that this command settles, for a command line without an item.
pub(super) fn list_settled_by(
    command: &str,
    room: &Room,
    identity: &IdentityArgs,
    cx: &mut CommandContext,
) -> Result<()> {
    let agent = identity.mailbox(cx, room)?;
    let mut list = pending::pending(room, &agent)?;
    list.items.retain(|item| item.command.starts_with(command));
    list.older = 0;
    let nothing = format!("no item of {agent} needs `{command}`");
    cx.out.show(&list, |out| show(&list, nothing, out))
}

fn show(list: &PendingList, nothing: String, out: &mut CommandOutput) -> Result<()> {
    let older = list.older_sentence();
    if list.items.is_empty() && older.is_none() {
        return out.done(nothing);
    }
    list.items.iter().try_for_each(|item| tell(item, out))?;
    older.map_or(Ok(()), |older| out.pieces(&[(PLAIN, &older)]))
}

fn tell(item: &PendingItem, out: &mut CommandOutput) -> Result<()> {
    let number = if item.seq == 0 {
        String::new()
    } else {
        format!("#{}", item.seq)
    };
    let colour = match item.kind {
        "approval" | "escalation" => RED,
        _ => YELLOW,
    };
    let mut about = vec![format!("{} ago", age(&item.since))];
    about.extend(item.deadline.as_deref().map(left));
    if !item.priority.is_normal() {
        about.push(item.priority.as_str().to_owned());
    }
    about.extend(item.inactive.then(|| "inactive".to_owned()));
    let options = if item.options.is_empty() {
        String::new()
    } else {
        format!(" [{}]", item.options.join(", "))
    };
    out.pieces(&[
        (DIM, &format!("{number:>6}  ")),
        (colour, &format!("{:<10} ", item.kind)),
        (BOLD, &item.from),
        (DIM, &format!("  {}  ", about.join(", "))),
        (PLAIN, &item.title),
        (PLAIN, &options),
    ])?;
    out.pieces(&[(PLAIN, &format!("        {}", item.command))])
}
