//! `mailbag send --dry-run`: checks messages and shows their recipients and the reasons, without sending.

use crate::base::error::{Error, Problem, Result};
use crate::base::sanitize;
use crate::cli::Exit;
use crate::cli::context::{CommandContext, IdentityArgs};
use crate::cli::show::output::{BOLD, CommandOutput, RED};
use crate::commands::check::{self, CheckInput, MessageCheck};
use crate::commands::dry_run::{self, DryRun};
use crate::commands::send::MessageDraft;
use crate::room::resolve::{AddressExplanation, Recipient};

/// Checks a message that was given on the command line. Without any content, only the addresses are resolved.
pub(super) fn check_draft(
    draft: MessageDraft,
    identity: &IdentityArgs,
    cx: &mut CommandContext,
) -> Result<Exit> {
    let room = cx.room()?;
    let who = match identity.who(cx) {
        Ok(who) => Some(who),
        // The addresses can be resolved without a sender.
        Err(_) if identity.given().is_none() && draft.is_empty() => None,
        Err(e) => return Err(e),
    };
    let dry_run = dry_run::dry_run(&room, who.as_ref(), draft)?;
    show(&dry_run, cx)
}

/// Checks messages in files. A room is needed only to resolve recipients.
pub(super) fn check_files(
    files: Vec<CheckInput>,
    identity: &IdentityArgs,
    cx: &mut CommandContext,
) -> Result<Exit> {
    let room = match cx.room() {
        Ok(room) => Some(room),
        // A room that --room names must exist.
        Err(Error::NotFound { .. }) if cx.asked().is_none() => None,
        Err(e) => return Err(e),
    };
    let messages = check::check(files, room.as_ref(), identity.given())?;
    let exit = show(&DryRun::of_files(messages), cx)?;
    if room.is_none() && identity.given().is_some() && !cx.out.json {
        cx.out
            .note("no room here: the recipients were not resolved");
    }
    Ok(exit)
}

fn show(dry_run: &DryRun, cx: &mut CommandContext) -> Result<Exit> {
    cx.out.show(dry_run, |out| {
        for message in &dry_run.messages {
            show_message(message, out)?;
        }
        for explained in &dry_run.addresses {
            show_address(explained, out)?;
        }
        if dry_run.addresses.len() > 1 && dry_run.ok {
            let names = names(&dry_run.recipients, "none");
            out.line(format!("all recipients: {names}"))?;
        }
        Ok(())
    })?;
    Ok(if dry_run.ok { Exit::Ok } else { Exit::BadData })
}

fn names(recipients: &[Recipient], none: &str) -> String {
    let names: Vec<&str> = recipients.iter().map(|one| &*one.agent).collect();
    if names.is_empty() {
        none.to_owned()
    } else {
        names.join(", ")
    }
}

fn show_message(checked: &MessageCheck, out: &mut CommandOutput) -> Result<()> {
    let name = checked.file.as_deref().unwrap_or("message");
    let line = checked
        .line
        .map(|line| format!(" line {line}"))
        .unwrap_or_default();
    let name = out.paint(BOLD, &format!("{name}{line}"));
    if !checked.ok {
        let word = out.paint(RED, "rejected");
        out.line(format!("{name}: {word}"))?;
        return show_problems(&checked.problems, out);
    }
    let to = checked.recipients.as_ref();
    let to = to.map(|recipients| format!(", to {}", names(recipients, "no recipients")));
    out.line(format!("{name}: valid{}", to.unwrap_or_default()))?;
    for problem in &checked.unreached {
        out.line(format!("  {}", sanitize::line(&problem.to_string())))?;
    }
    Ok(())
}

fn show_problems(problems: &[Problem], out: &mut CommandOutput) -> Result<()> {
    for problem in problems {
        out.line(format!("  {}", sanitize::line(&problem.to_string())))?;
        if let Some(example) = &problem.example {
            out.line(format!(
                "    corrected: {}",
                sanitize::line(&example.to_string())
            ))?;
        }
    }
    Ok(())
}

fn show_address(explained: &AddressExplanation, out: &mut CommandOutput) -> Result<()> {
    let address = out.paint(BOLD, &explained.address);
    out.line(format!("{address}:"))?;
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
    Ok(())
}
