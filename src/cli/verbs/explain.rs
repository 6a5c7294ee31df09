//! `mailbag explain`: shows the recipients of addresses and the reasons.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::Context;
use crate::cli::show::output::{BOLD, DIM, Output, RED};
use crate::query::explain;
use crate::room::resolve::Explained;

const EXAMPLES: &str = "\
Examples:
  mailbag explain all_engineers --from alice
  mailbag explain 'engineer_*' '#releases' cap:rust Sintra --json

Exit status 65 means that a message to one of the addresses would be rejected.";

/// Show the recipients of an address and the reasons
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Addresses, as in the field `to`
    #[arg(required = true, value_name = "ADDRESS")]
    addresses: Vec<String>,
    /// Sender: groups exclude their sender
    #[arg(long, value_name = "AGENT")]
    from: Option<String>,
}

pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit> {
    let room = cx.room()?;
    let explanation = explain::explain(&room, args.from.as_deref(), &args.addresses)?;
    let refused = explanation
        .addresses
        .iter()
        .any(|explained| !explained.problems.is_empty());
    cx.out.show(&explanation, |out| {
        explanation
            .addresses
            .iter()
            .try_for_each(|explained| show(explained, out))?;
        if explanation.addresses.len() > 1 && !refused {
            let all: Vec<&str> = explanation
                .recipients
                .iter()
                .map(|recipient| &*recipient.agent)
                .collect();
            out.line(format!(
                "all recipients: {}",
                if all.is_empty() {
                    "none".into()
                } else {
                    all.join(", ")
                }
            ))?;
        }
        Ok(())
    })?;
    Ok(if refused { Exit::BadData } else { Exit::Ok })
}

fn show(explained: &Explained, out: &mut Output) -> Result<()> {
    let address = out.paint(BOLD, &explained.address);
    out.line(format!("{address}: {}", sanitize::line(&explained.rule)))?;
    for problem in &explained.problems {
        let rejected = out.paint(RED, "rejected:");
        out.line(format!(
            "  {rejected} {}",
            sanitize::line(&problem.to_string())
        ))?;
    }
    if explained.problems.is_empty() && explained.reaches.is_empty() {
        out.line("  no recipients, which is valid")?;
    }
    for recipient in &explained.reaches {
        out.line(format!(
            "  reaches {} ({})",
            recipient.agent,
            recipient.via.as_str()
        ))?;
    }
    for other in &explained.others {
        let line = out.paint(DIM, &format!("not {}: {}", other.agent, other.why));
        out.line(format!("  {line}"))?;
    }
    Ok(())
}
