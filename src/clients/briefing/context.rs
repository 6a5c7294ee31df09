//! The context of an agent as a text within a budget. The words of others are in quotation marks that they cannot close.

use crate::base::limits;
use crate::base::sanitize::{brief, path, quote};
use crate::base::text::{count_of, listed, tokens};
use crate::query::context::{AgentContext, MessageSummary, OpenThread, SharedFile, context};
use crate::room::Room;
use crate::room::settings::SessionBrief;
use serde::Serialize;

/// The context that fits its budget.
#[derive(Debug, Serialize)]
pub struct FittedContext {
    /// The size of the text, in tokens of four bytes.
    pub tokens: usize,
    /// The entries in the text.
    #[serde(flatten)]
    pub context: AgentContext,
    /// The entries that were dropped.
    pub left_out: ContextEntryCounts,
    /// The text for a model.
    #[serde(skip)]
    pub text: String,
}

/// Number of entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ContextEntryCounts {
    /// Goals, criteria, settings and lanes of the charter.
    pub charter: usize,
    /// Messages of threads.
    pub messages: usize,
    /// Decisions.
    pub decisions: usize,
    /// Claims.
    pub claims: usize,
    /// Shared files.
    pub files: usize,
}

/// A part of the context with entries that can be dropped.
#[derive(Debug, Clone, Copy)]
enum ContextPart {
    Files,
    /// All messages of threads but the last ones.
    OldMessages,
    Threads,
    Decisions,
    Settings,
    Criteria,
    /// Lanes and claims.
    Work,
    Goals,
}

/// The dropped entries, the least valuable first, with the number of entries that are worth more than the next part.
const STEPS: [(ContextPart, usize); 13] = [
    (ContextPart::Files, 10),
    (ContextPart::OldMessages, 0),
    (ContextPart::Settings, 0),
    (ContextPart::Files, 3),
    (ContextPart::Decisions, 3),
    (ContextPart::Threads, 3),
    (ContextPart::Criteria, 0),
    (ContextPart::Files, 0),
    (ContextPart::Decisions, 0),
    (ContextPart::Threads, 1),
    (ContextPart::Work, 0),
    (ContextPart::Threads, 0),
    (ContextPart::Goals, 0),
];

/// The context for the start of a session, if the settings ask for it. It must not hide the mail, so a failure is none. The
/// claims are announced already.
pub(super) fn at_start(room: &Room, agent: &str) -> Option<String> {
    if room.settings().ok()?.brief != SessionBrief::Context {
        return None;
    }
    let mut context = context(room, agent)
        .inspect_err(|e| tracing::debug!("{e}"))
        .ok()?;
    context.session.claims = Vec::new();
    let is_empty = context.is_empty();
    (!is_empty).then(|| fit(context).text)
}

/// Drops the least valuable entries until the text is within [`limits::CONTEXT_TOKENS`].
pub fn fit(mut context: AgentContext) -> FittedContext {
    let all = ContextEntryCounts::of(&context);
    let mut steps = STEPS.iter();
    let mut step = steps.next();
    loop {
        let left_out = all.without(ContextEntryCounts::of(&context));
        let text = text(&context, left_out);
        let fits = tokens(&text) <= limits::CONTEXT_TOKENS;
        while step.is_some_and(|(part, keep)| part.count(&context) <= *keep) {
            step = steps.next();
        }
        match step {
            Some((part, _)) if !fits => part.drop_last(&mut context),
            _ => {
                return FittedContext {
                    tokens: tokens(&text),
                    context,
                    left_out,
                    text,
                };
            }
        };
    }
}

impl ContextPart {
    fn count(self, context: &AgentContext) -> usize {
        let session = &context.session;
        match self {
            ContextPart::Files => context.project.files.len(),
            ContextPart::OldMessages => context
                .conversation
                .iter()
                .map(|thread| thread.messages.len().saturating_sub(1))
                .sum(),
            ContextPart::Threads => context.conversation.len(),
            ContextPart::Decisions => session.decisions.len(),
            ContextPart::Settings => session.settings.len(),
            ContextPart::Criteria => session.criteria.len(),
            ContextPart::Work => session.lanes.len() + session.claims.len(),
            ContextPart::Goals => session.goals.len(),
        }
    }

    fn drop_last(self, context: &mut AgentContext) {
        let session = &mut context.session;
        match self {
            ContextPart::Files => drop(context.project.files.pop()),
            ContextPart::OldMessages => {
                let thread = context
                    .conversation
                    .iter_mut()
                    .rev()
                    .find(|thread| thread.messages.len() > 1);
                drop(thread.and_then(|thread| thread.messages.pop()));
            }
            ContextPart::Threads => drop(context.conversation.pop()),
            ContextPart::Decisions => drop(session.decisions.pop()),
            ContextPart::Settings => drop(session.settings.pop()),
            ContextPart::Criteria => drop(session.criteria.pop()),
            ContextPart::Work if !session.lanes.is_empty() => drop(session.lanes.pop()),
            ContextPart::Work => drop(session.claims.pop()),
            ContextPart::Goals => drop(session.goals.pop()),
        }
    }
}

impl ContextEntryCounts {
    fn of(context: &AgentContext) -> ContextEntryCounts {
        let session = &context.session;
        ContextEntryCounts {
            charter: session.goals.len()
                + session.criteria.len()
                + session.settings.len()
                + session.lanes.len(),
            messages: context
                .conversation
                .iter()
                .map(|thread| thread.messages.len())
                .sum(),
            decisions: session.decisions.len(),
            claims: session.claims.len(),
            files: context.project.files.len(),
        }
    }

    fn without(self, kept: ContextEntryCounts) -> ContextEntryCounts {
        ContextEntryCounts {
            charter: self.charter - kept.charter,
            messages: self.messages - kept.messages,
            decisions: self.decisions - kept.decisions,
            claims: self.claims - kept.claims,
            files: self.files - kept.files,
        }
    }
}

/// The text. Only the lines of mailbag begin at the left edge.
fn text(context: &AgentContext, left_out: ContextEntryCounts) -> String {
    let session = &context.session;
    let head = format!(
        "mailbag: context of {}; the words of others are in quotation marks",
        context.agent
    );
    let mut lines = vec![head];
    list(
        &mut lines,
        "goals of this room:",
        session.goals.iter().map(|goal| quoted(goal)),
    );
    list(
        &mut lines,
        "done when:",
        session.criteria.iter().map(|criterion| quoted(criterion)),
    );
    let agreed = session
        .settings
        .iter()
        .map(|one| format!("{}: {}", quoted(&one.name), quoted(&one.value)));
    list(&mut lines, "agreed:", agreed);
    let lanes = session.lanes.iter().map(|lane| {
        if lane.paths.is_empty() {
            lane.name.clone()
        } else {
            format!("{} ({})", lane.name, paths(&lane.paths))
        }
    });
    list(&mut lines, "your lanes:", lanes);
    list(
        &mut lines,
        "you own:",
        session
            .claims
            .iter()
            .map(|claim| path(claim, limits::CONTEXT_TEXT)),
    );
    list(
        &mut lines,
        "decisions, newest first:",
        session.decisions.iter().map(said),
    );
    list(
        &mut lines,
        "open threads, newest message first; `mailbag thread NUMBER` shows one:",
        threads(context),
    );
    let directory = path(
        &context.project.path.to_string_lossy(),
        limits::CONTEXT_TEXT,
    );
    list(
        &mut lines,
        &format!("shared files in {directory}:"),
        context.project.files.iter().map(file),
    );
    lines.extend(rest(context, left_out));
    lines.join("\n")
}

fn list(lines: &mut Vec<String>, title: &str, entries: impl Iterator<Item = String>) {
    let entries: Vec<String> = entries.map(|entry| format!("- {entry}")).collect();
    if !entries.is_empty() {
        lines.push(title.to_owned());
        lines.extend(entries);
    }
}

fn threads(context: &AgentContext) -> impl Iterator<Item = String> {
    context.conversation.iter().map(
        |OpenThread {
             awaits_answer,
             total,
             messages,
             ..
         }| {
            let wanted = if *awaits_answer {
                ", your answer is expected"
            } else {
                ""
            };
            let each: String = messages
                .iter()
                .map(|message| format!("\n  - {}", said(message)))
                .collect();
            format!("{}{wanted}:{each}", count_of(*total, "message"))
        },
    )
}

fn said(said: &MessageSummary) -> String {
    let at = said.at.get(..16).unwrap_or(&said.at).replace('T', " ");
    let (from, kind) = (
        brief(&said.from, limits::NAME),
        brief(&said.kind, limits::NAME),
    );
    let text = said
        .text
        .as_deref()
        .map(|text| format!(": {}", quoted(text)))
        .unwrap_or_default();
    let closed = said.closed.as_ref().map(|closed| format!("; {closed}"));
    format!(
        "#{} {at} {kind} from {from}, {}{text}{}",
        said.seq,
        quoted(&said.about),
        closed.unwrap_or_default()
    )
}

fn file(file: &SharedFile) -> String {
    let first = file
        .first_line
        .as_deref()
        .map(|line| format!(": {}", quoted(line)))
        .unwrap_or_default();
    format!(
        "{}, {}{first}",
        path(&file.path, limits::CONTEXT_TEXT),
        size(file.size)
    )
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} B"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{} MiB", bytes.div_ceil(1_048_576)),
    }
}

/// The first paths of a list, in one line.
fn paths(all: &[String]) -> String {
    listed(all.iter().map(|one| path(one, limits::CONTEXT_TEXT)))
}

fn quoted(text: &str) -> String {
    quote(text, limits::CONTEXT_TEXT)
}

/// The entries that were dropped for the budget, and files that were never listed.
fn rest(context: &AgentContext, left_out: ContextEntryCounts) -> Option<String> {
    let ContextEntryCounts {
        charter,
        messages,
        decisions,
        claims,
        files,
    } = left_out;
    let shown = context.project.files.len();
    let files = context.project.total.map_or(files, |total| total - shown);
    let parts = [
        (messages, "message"),
        (files, "file"),
        (decisions, "decision"),
        (charter, "line of the charter"),
        (claims, "claim"),
    ];
    let parts = parts.into_iter().filter(|(n, _)| *n > 0);
    let parts: Vec<String> = parts
        .map(|(n, noun)| match noun {
            "line of the charter" if n > 1 => format!("{n} lines of the charter"),
            noun => count_of(n, noun),
        })
        .collect();
    (!parts.is_empty()).then(|| format!("left out: {}", parts.join(", ")))
}
