//! `mailbag dismiss`: removes pending items of the caller.

use crate::base::error::Result;
use crate::cli::context::{CommandContext, Freshness, IdentityArgs};
use crate::cli::verbs::ack;
use crate::commands::ack::AckRequest;
use crate::commands::answer::check_dismissals;
use crate::message::status::CopyStatus;

const EXAMPLES: &str = "\
Examples:
  mailbag dismiss 12
  mailbag dismiss 12 alice/question-7 --note 'settled by phone'

The item leaves `mailbag pending`. This sends an ack with the status abandoned: the
sender sees it in `mailbag trace`. A failed wake is listed again when the next one
fails. An approval needs `mailbag decide`, an offer `mailbag handoff`, and a waiting
claim `mailbag release`.";

/// Remove items from the list of what needs you
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Items, as 12, #12, ID or SENDER/ID
    #[arg(required = true, value_name = "ITEM")]
    items: Vec<String>,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    identity: IdentityArgs,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    let who = args.identity.who(cx)?;
    check_dismissals(&cx.fresh_room(Freshness::Messages)?, &who, &args.items)?;
    let ack = AckRequest {
        refs: args.items,
        status: CopyStatus::Abandoned,
        note: args.note,
        superseded_by: None,
    };
    ack::set(ack, &args.identity, cx)
}
