//! `mailbag up`: sets up a project with one command, and undoes it.

use crate::base::error::Result;
use crate::base::sanitize;
use crate::base::text::{count_of, joined};
use crate::cli::Exit;
use crate::cli::context::{CommandContext, here};
use crate::cli::show::output::{BOLD, RED};
use crate::cli::verbs::install::diff;
use crate::clients::install::FileChangeKind;
use crate::clients::kind::Client;
use crate::clients::up::{
    self, ClientStep, CompletedStep, ProjectSetup, RoomChange, RoomStep, SetupRequest,
};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  mailbag up                  # make a room, and plug in each installed client
  mailbag up --client codex   # plug in this client only
  mailbag up --approvals      # and answer permission requests by mail
  mailbag up --dry-run        # show each change, and write nothing
  mailbag up --undo           # take everything out again

Makes the room of this project if there is none, and adds mailbag to each client
whose program is on the PATH, as `mailbag install CLIENT` does: only to files of
this project, and to nothing that is not its own. It starts nothing. A second run
changes nothing. A client with a mistake in its settings is left out, and the exit
status is 1.

`--undo` restores each file. It keeps the room, because mail can be in it, and prints
the command that removes it.";

/// Set up this project: a room, and each installed client
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Client, installed or not; repeatable; default: each one whose program is on the PATH
    #[arg(long = "client", value_name = "NAME", value_parser = names())]
    clients: Vec<Client>,
    /// Permission requests of Claude Code and Codex become approvals to the human
    #[arg(long, conflicts_with = "undo")]
    approvals: bool,
    /// Preview of the changes, without writing
    #[arg(long)]
    dry_run: bool,
    /// Removal of what this command added
    #[arg(long)]
    undo: bool,
    /// Program in the configuration; default: this one
    #[arg(long, value_name = "PATH", hide = true)]
    command: Option<PathBuf>,
}

fn names() -> impl TypedValueParser<Value = Client> {
    PossibleValuesParser::new(Client::ALL.map(Client::as_str)).try_map(|name| Client::parse(&name))
}

/// The steps, done or planned with `--dry-run`.
#[derive(Serialize)]
pub(super) struct UpOutput<'a> {
    #[serde(flatten)]
    up: &'a ProjectSetup,
    undo: bool,
    dry_run: bool,
    changed: bool,
}

pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<Exit> {
    let (from, room) = (here()?, cx.asked());
    let asked = SetupRequest {
        clients: &args.clients,
        undo: args.undo,
        approvals: args.approvals,
        program: args.command.as_deref(),
        room: room.as_deref(),
        from: &from,
    };
    let mut up = up::look(&asked)?;
    let changed = up.changes();
    if args.dry_run {
        preview(&up, cx)?;
    } else if changed {
        let project = up.project.clone();
        up.apply(&asked, |done| match done {
            _ if cx.out.json => Ok(()),
            CompletedStep::Room(room) => show_room(room, cx),
            CompletedStep::Client(client) => show_client(client, &project, args.undo, cx),
        })?;
    }
    let exit = if up.passed() { Exit::Ok } else { Exit::Error };
    if cx.out.json {
        cx.out.json(&UpOutput {
            up: &up,
            undo: args.undo,
            dry_run: args.dry_run,
            changed,
        })?;
        return Ok(exit);
    }
    show_problems(&up, cx)?;
    if !changed {
        idle(&up, args.undo, cx)?;
        // The first run showed the next steps.
        if !args.undo && !up.next.is_empty() {
            return Ok(exit);
        }
    }
    if args.undo {
        notes(&up, cx)?
    } else {
        rest(&up, &asked, cx)?
    }
    Ok(exit)
}

/// A line for a step: its name and its result.
fn step(name: &str, what: &str, cx: &mut CommandContext) -> Result<()> {
    let name = cx.out.paint(BOLD, &format!("{name:<9}"));
    cx.out.done(format!("{name} {}", sanitize::line(what)))?;
    cx.out.flush()
}

fn show_room(room: &RoomStep, cx: &mut CommandContext) -> Result<()> {
    let word = match room.change {
        RoomChange::Made => "created",
        RoomChange::Found => "using",
        RoomChange::Kept => "kept",
        RoomChange::Absent => return Ok(()),
    };
    step("room", &format!("{word} {}", room_with_reason(room)), cx)
}

/// The path of the room, with the reason for it.
fn room_with_reason(room: &RoomStep) -> String {
    let path = room.path.display();
    match &room.reason {
        Some(reason) => format!("{path} ({reason})"),
        None => path.to_string(),
    }
}

fn show_client(
    client: &ClientStep,
    project: &Path,
    undo: bool,
    cx: &mut CommandContext,
) -> Result<()> {
    let name = client.client.as_str();
    if client.files.is_empty() {
        return step(
            name,
            if undo {
                "nothing to undo"
            } else {
                "already set up"
            },
            cx,
        );
    }
    let of = |change: FileChangeKind| {
        let paths = client.files.iter().filter(|file| file.change == change);
        let paths = paths.map(|file| {
            file.path
                .strip_prefix(project)
                .unwrap_or(&file.path)
                .display()
                .to_string()
        });
        joined(paths)
    };
    let restored = if undo { "restored" } else { "changed" };
    let words = [
        (FileChangeKind::Made, "created"),
        (FileChangeKind::Changed, restored),
        (FileChangeKind::Removed, "removed"),
        (FileChangeKind::Kept, "kept"),
    ];
    let parts = words
        .into_iter()
        .map(|(change, word)| (word, of(change)))
        .filter(|(_, paths)| !paths.is_empty());
    let done = parts
        .map(|(word, paths)| format!("{word} {paths}"))
        .collect::<Vec<_>>()
        .join("; ");
    step(name, &done, cx)?;
    match client
        .hook_test
        .as_ref()
        .and_then(|hook_test| Some((hook_test, hook_test.problem.as_ref()?)))
    {
        None => Ok(()),
        Some((hook_test, problem)) => {
            let problem = cx.out.paint(RED, &sanitize::line(problem));
            cx.out.line(format!(
                "{:9} the hook `{}` failed: {problem}",
                "",
                sanitize::line(&hook_test.command)
            ))
        }
    }
}

fn preview(up: &ProjectSetup, cx: &mut CommandContext) -> Result<()> {
    if cx.out.json {
        return Ok(());
    }
    match up.room.change {
        RoomChange::Made => step(
            "room",
            &format!("would be created: {}", room_with_reason(&up.room)),
            cx,
        )?,
        _ => show_room(&up.room, cx)?,
    }
    for client in up.clients.iter().filter(|client| !client.files.is_empty()) {
        step(
            client.client.as_str(),
            &format!("would change {}:", count_of(client.files.len(), "file")),
            cx,
        )?;
        cx.out.ahead(|out| diff(&client.files, out))?;
    }
    Ok(())
}

/// Reports that no change was needed, and why.
fn idle(up: &ProjectSetup, undo: bool, cx: &mut CommandContext) -> Result<()> {
    let done = up.clients.iter().filter(|client| client.problem.is_none());
    let names = done.map(|client| client.client.name()).collect::<Vec<_>>();
    let what = match (undo, up.room.change) {
        (true, RoomChange::Kept) => {
            let reason = up.room.reason.as_deref().unwrap_or_default();
            format!(
                "nothing to undo; the room {} stays: {reason}",
                up.room.path.display()
            )
        }
        (true, _) => "nothing to undo".to_owned(),
        (false, _) if names.is_empty() => {
            format!("nothing to do: the room is {}", room_with_reason(&up.room))
        }
        (false, _) => format!(
            "nothing to do: {} {} set up, and the room is {}",
            names.join(", "),
            if names.len() == 1 { "is" } else { "are" },
            room_with_reason(&up.room)
        ),
    };
    cx.out.done(sanitize::line(&what))
}

/// Prints the next steps for the person.
fn rest(up: &ProjectSetup, asked: &SetupRequest<'_>, cx: &mut CommandContext) -> Result<()> {
    for client in up.clients.iter().filter(|client| client.for_user) {
        step(
            client.client.as_str(),
            "already installed for you in all projects",
            cx,
        )?;
    }
    for client in up.clients.iter().filter(|client| client.program.is_none()) {
        cx.out.note(&format!(
            "note: {} is not on the PATH",
            client.client.facts().program
        ));
    }
    for client in up
        .clients
        .iter()
        .filter(|client| !client.questions.is_empty())
    {
        cx.out
            .done(format!("\n{} asks you:", client.client.name()))?;
        for ask in &client.questions {
            cx.out
                .done(format!("  {}\n    answer: {}", ask.question, ask.answer))?;
        }
    }
    notes(up, cx)?;
    let place = up.project.display().to_string();
    let place = sanitize::line(&place);
    if up.next.is_empty() {
        let programs = Client::ALL.map(|client| client.facts().program).join(", ");
        cx.out.done(format!(
            "\nNo agent client is on the PATH (looked for {programs}). Next, in {place}:"
        ))?;
        cx.out
            .done("  npm install -g @anthropic-ai/claude-code   # or another client")?;
        cx.out.done(format_command(asked, "up"))?;
        return cx.out.flush();
    }
    let terminals = if up.next.len() > 1 {
        "each in a terminal of its own"
    } else {
        "in two terminals"
    };
    cx.out.done(format!("\nNext, {terminals}, in {place}:"))?;
    for line in &up.next {
        cx.out.done(format!("  {line}"))?;
    }
    first_words(up, asked, cx)?;
    cx.out.flush()
}

fn format_command(asked: &SetupRequest<'_>, words: &str) -> String {
    let command = asked.command(words);
    format!("  {}", sanitize::line(&command))
}

/// Prints the sentences to type into the first sessions, and the command that shows their mail.
fn first_words(up: &ProjectSetup, asked: &SetupRequest<'_>, cx: &mut CommandContext) -> Result<()> {
    let mut then = "Then type";
    for sentence in &up.prompts {
        let place = if sentence.terminal == 1 {
            "first"
        } else {
            "second"
        };
        let name = sentence.client.name();
        cx.out
            .done(format!("{then} into the {place} terminal, {name}:"))?;
        cx.out.done(format!("  {}", sentence.text))?;
        then = "And";
    }
    if cfg!(feature = "web") {
        cx.out.done("To see the mail in a browser:")?;
        cx.out.done(format_command(asked, "web"))?;
    }
    Ok(())
}

/// Names each client that was left out, with the reason.
fn show_problems(up: &ProjectSetup, cx: &mut CommandContext) -> Result<()> {
    cx.out.flush()?;
    for client in &up.clients {
        if let Some(problem) = &client.problem {
            cx.out.warn(&format!(
                "{} was left out: {}",
                client.client.name(),
                sanitize::line(problem)
            ));
        }
    }
    Ok(())
}

fn notes(up: &ProjectSetup, cx: &mut CommandContext) -> Result<()> {
    cx.out.flush()?;
    let mut notes: Vec<&str> = up
        .clients
        .iter()
        .flat_map(|client| &client.notes)
        .map(String::as_str)
        .collect();
    let mut said = BTreeSet::new();
    notes.retain(|note| said.insert(*note));
    for note in notes {
        cx.out.note(&format!("note: {note}"));
    }
    Ok(())
}
