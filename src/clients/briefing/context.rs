//! The context of an agent as a text within a budget. The words of others are in quotation marks that they cannot close.

use crate::base::limits;
use crate::base::sanitize::{brief, path, quote};
use crate::base::text::{count_of, listed, tokens};
use crate::query::context::{Blocked, Context, Said, SharedFile, Thread, context};
use crate::room::Room;
use crate::room::settings::Brief;
use schemars::JsonSchema;
use serde::Serialize;

/// The context that fits a budget.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Fitted {
    /// The budget, in tokens of four bytes.
    pub budget: usize,
    /// The size of the text.
    pub tokens: usize,
    /// The entries in the text.
    #[serde(flatten)]
    pub context: Context,
    /// The entries that were dropped.
    pub left_out: LeftOut,
    /// The text for a model.
    #[serde(skip)]
    pub text: String,
}

/// Number of dropped entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// Goals, criteria, settings and lanes of the charter.
    pub charter: usize,
    /// Messages of threads.
    pub messages: usize,
    /// Decisions.
    pub decisions: usize,
    /// Claims and waiting claims.
    pub claims: usize,
    /// Shared files.
    pub files: usize,
}

/// A part of the context with entries that can be dropped.
#[derive(Debug, Clone, Copy)]
enum Part {
    Files,
    /// All messages of threads but the last ones.
    OldMessages,
    Threads,
    Decisions,
    Settings,
    Criteria,
    /// Lanes, claims and waiting claims.
    Work,
    Goals,
}

/// The dropped entries, the least valuable first, with the number of entries that are worth more than the next part.
const STEPS: [(Part, usize); 13] = [
    (Part::Files, 10),
    (Part::OldMessages, 0),
    (Part::Settings, 0),
    (Part::Files, 3),
    (Part::Decisions, 3),
    (Part::Threads, 3),
    (Part::Criteria, 0),
    (Part::Files, 0),
    (Part::Decisions, 0),
    (Part::Threads, 1),
    (Part::Work, 0),
    (Part::Threads, 0),
    (Part::Goals, 0),
];

/// The context for the start of a session, if the settings ask for it. It must not hide the mail, so a failure is none. The
/// claims are announced already.
pub(super) fn at_start(room: &Room, agent: &str) -> Option<String> {
    if room.settings().ok()?.brief != Brief::Context {
        return None;
    }
    let mut context = context(room, agent)
        .inspect_err(|e| tracing::debug!("{e}"))
        .ok()?;
    (context.session.claims, context.session.waiting) = (Vec::new(), Vec::new());
    let is_empty = context.is_empty();
    (!is_empty).then(|| fit(context, limits::CONTEXT_TOKENS).text)
}

/// Drops the least valuable entries until the text is within the budget.
pub fn fit(mut context: Context, budget: usize) -> Fitted {
    let all = Counts::of(&context);
    let mut steps = STEPS.iter();
    let mut step = steps.next();
    loop {
        let left_out = all.without(&Counts::of(&context));
        let text = text(&context, left_out);
        let fits = tokens(&text) <= budget;
        while step.is_some_and(|(part, keep)| part.count(&context) <= *keep) {
            step = steps.next();
        }
        match step {
            Some((part, _)) if !fits => part.drop_last(&mut context),
            _ => {
                return Fitted {
                    budget,
                    tokens: tokens(&text),
                    context,
                    left_out,
                    text,
                };
            }
        };
    }
}

impl Part {
    fn count(self, context: &Context) -> usize {
        let session = &context.session;
        match self {
            Part::Files => context.project.files.len(),
            Part::OldMessages => context
                .conversation
                .iter()
                .map(|thread| thread.messages.len().saturating_sub(1))
                .sum(),
            Part::Threads => context.conversation.len(),
            Part::Decisions => session.decisions.len(),
            Part::Settings => session.settings.len(),
            Part::Criteria => session.criteria.len(),
            Part::Work => session.lanes.len() + session.claims.len() + session.waiting.len(),
            Part::Goals => session.goals.len(),
        }
    }

    fn drop_last(self, context: &mut Context) {
        let session = &mut context.session;
        match self {
            Part::Files => drop(context.project.files.pop()),
            Part::OldMessages => {
                let thread = context
                    .conversation
                    .iter_mut()
                    .rev()
                    .find(|thread| thread.messages.len() > 1);
                drop(thread.and_then(|thread| thread.messages.pop()));
            }
            Part::Threads => drop(context.conversation.pop()),
            Part::Decisions => drop(session.decisions.pop()),
            Part::Settings => drop(session.settings.pop()),
            Part::Criteria => drop(session.criteria.pop()),
            Part::Work if !session.lanes.is_empty() => drop(session.lanes.pop()),
            Part::Work if !session.claims.is_empty() => drop(session.claims.pop()),
            Part::Work => drop(session.waiting.pop()),
            Part::Goals => drop(session.goals.pop()),
        }
    }
}

struct Counts(LeftOut);

impl Counts {
    fn of(context: &Context) -> Counts {
        let session = &context.session;
        Counts(LeftOut {
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
            claims: session.claims.len() + session.waiting.len(),
            files: context.project.files.len(),
        })
    }

    fn without(&self, kept: &Counts) -> LeftOut {
        let (all, kept) = (&self.0, &kept.0);
        LeftOut {
            charter: all.charter - kept.charter,
            messages: all.messages - kept.messages,
            decisions: all.decisions - kept.decisions,
            claims: all.claims - kept.claims,
            files: all.files - kept.files,
        }
    }
}

/// The text. Only the lines of mailbag begin at the left edge.
fn text(context: &Context, left_out: LeftOut) -> String {
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
    let waits = session
        .waiting
        .iter()
        .map(|Blocked { subjects, by }| format!("{}: {}", paths(subjects), quoted(by)));
    list(&mut lines, "you wait for:", waits);
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

fn threads(context: &Context) -> impl Iterator<Item = String> {
    context.conversation.iter().map(
        |Thread {
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

fn said(said: &Said) -> String {
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
    format!(
        "#{} {at} {kind} from {from}, {}{text}",
        said.seq,
        quoted(&said.about)
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
fn rest(context: &Context, left_out: LeftOut) -> Option<String> {
    let LeftOut {
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
    (!parts.is_empty()).then(|| {
        format!(
            "left out: {}; `mailbag context --budget` shows more",
            parts.join(", ")
        )
    })
}
