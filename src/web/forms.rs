//! Forms of the page: each runs the command that does the same, and returns the result to the script of the page.

use super::app::{App, run};
use super::connections::Connection;
use super::gate::Entry;
use super::reply::{Failure, json_of};
use super::views;
use super::views::write::Letter;
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::count_of;
use crate::commands::answer::{Action, answer as settle, dismiss_all};
use crate::commands::approval::{Choice, decide};
use crate::commands::post::post;
use crate::commands::read::mark_files_seen;
use crate::commands::rejected::{self, Retried, Which};
use crate::commands::reply::{Reply, reply};
use crate::commands::send::Draft;
use crate::message::id;
use crate::message::record::EventKind;
use crate::query::inbox;
use crate::query::pending::{Item, Key};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::{Extension, Form};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The proof that a browser shows to enter.
#[derive(Debug, Deserialize)]
pub(super) struct Admission {
    /// The token of the printed URL.
    token: Option<String>,
    password: Option<String>,
}

/// Lets a browser in that has the token or the password, and gives it its secret.
pub(super) async fn enter(
    State(app): State<Arc<App>>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    Form(admission): Form<Admission>,
) -> Response {
    let source = app.gate.source(connection.peer, &headers);
    let entry = match (&admission.token, &admission.password) {
        (Some(token), _) => app.gate.enter_by_token(token),
        (None, Some(password)) => app.gate.enter_by_password(password, source).await,
        (None, None) => Entry::Wrong,
    };
    match entry {
        Entry::Open(secret) => json_of(&json!({ "secret": secret })),
        Entry::Wrong if admission.token.is_some() => {
            let what = "this URL was used already, or is of an earlier start";
            Failure::new(
                StatusCode::UNAUTHORIZED,
                what,
                "start `mailbag web` again and open the new URL",
            )
            .json()
        }
        Entry::Wrong => Failure::new(
            StatusCode::UNAUTHORIZED,
            "the password is wrong",
            "try again",
        )
        .json(),
        Entry::Crowded => {
            let what = "too many passwords were tried from this address";
            Failure::new(StatusCode::TOO_MANY_REQUESTS, what, "try again in a minute").json()
        }
    }
}

/// The result of a form, for the script of the page.
#[derive(Debug, Serialize)]
struct Done {
    /// A sentence about the outcome.
    said: String,
    failed: bool,
    /// The page to show next. `None` to stay.
    next: Option<String>,
    /// The form is sent if the person sends it again.
    confirm: bool,
}

impl Done {
    fn stay(said: String) -> Done {
        Done {
            said,
            failed: false,
            next: None,
            confirm: false,
        }
    }
}

async fn done(
    app: &Arc<App>,
    work: impl FnOnce(&App) -> Result<Done> + Send + 'static,
) -> Response {
    run(app, work)
        .await
        .map_or_else(|failure| failure.json(), |done| json_of(&done))
}

/// An answer to a pending item of the person.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    kind: String,
    seq: u64,
    message: String,
    from: String,
    /// For a claim: the work that is in the way, and its owner.
    #[serde(default)]
    subject: String,
    #[serde(default)]
    owner: String,
    #[serde(default)]
    option: Option<String>,
    /// For an approval: the digest of the text that the page displayed in full.
    #[serde(default)]
    digest: String,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    text: String,
}

impl Answer {
    /// The item of the form.
    fn key(&self) -> Key<'_> {
        let owned = Some((&*self.subject, &*self.owner)).filter(|(subject, _)| !subject.is_empty());
        Key {
            kind: &self.kind,
            seq: self.seq,
            message: &self.message,
            from: &self.from,
            owned,
        }
    }
}

/// Settles an item.
pub(super) async fn answer(State(app): State<Arc<App>>, Form(form): Form<Answer>) -> Response {
    done(&app, move |app| settle_item(app, form).map(Done::stay)).await
}

fn settle_item(app: &App, form: Answer) -> Result<String> {
    let text = Some(form.text.trim().to_owned()).filter(|text| !text.is_empty());
    if let Some(option) = form.option {
        let approval = format!("#{}", form.seq);
        let choice = Choice {
            approval: approval.clone(),
            option,
            note: text,
            digest: form.digest,
        };
        let outcome = decide(&app.room, &app.who(), choice, limits::WRITER_WAIT)?;
        return Ok(outcome.sentence(&approval));
    }
    let item = app
        .pending()?
        .items
        .into_iter()
        .find(|item| item.key() == form.key())
        .ok_or_else(|| Error::NotFound {
            what: format!("the {} #{} is no longer open", form.kind, form.seq),
            cure: "nothing was sent".into(),
        })?;
    let action = match (form.action.as_deref(), text) {
        (Some("reply"), Some(text)) => Action::Reply(text),
        (Some("reply"), None) => return Err(usage("the reply is empty", "write a text")),
        (Some("accept"), _) => Action::Accept,
        (Some("decline"), _) => Action::Decline,
        (Some("again"), _) => Action::SendAgain,
        (Some("release"), text) => Action::Release(text),
        (Some("dismiss"), _) => Action::Dismiss,
        _ => return Err(usage("the form has no action", "use a button of the page")),
    };
    settle(&app.room, &app.who(), &item, action)
}

/// Equal reports, by the numbers that the page displays.
#[derive(Debug, Deserialize)]
pub(super) struct Reports {
    kind: String,
    seqs: String,
}

/// Dismisses the reports that the page displays, except settled ones.
pub(super) async fn dismiss(State(app): State<Arc<App>>, Form(form): Form<Reports>) -> Response {
    done(&app, move |app| {
        let seqs: Vec<u64> = form
            .seqs
            .split(' ')
            .filter_map(|seq| seq.parse().ok())
            .collect();
        let mut items = app.pending()?.items;
        items.retain(|item| item.kind == form.kind && seqs.contains(&item.seq));
        dismiss_all(&app.room, &app.who(), &items).map(Done::stay)
    })
    .await
}

/// Messages that the page displays, by their accept times.
#[derive(Debug, Deserialize)]
pub(super) struct Displayed {
    at: String,
}

/// Marks messages as read.
pub(super) async fn mark_read(
    State(app): State<Arc<App>>,
    Form(form): Form<Displayed>,
) -> Response {
    done(&app, move |app| {
        let at: Vec<Stamp> = form.at.split(' ').filter_map(Stamp::parse).collect();
        let mut unread = inbox::names(&app.room, id::HUMAN)?;
        unread.retain(|(_, accepted)| accepted.is_some_and(|one| at.contains(&one)));
        let names = unread.iter().map(|(name, _)| name.as_os_str());
        mark_files_seen(&app.room, id::HUMAN, names)?;
        Ok(Done::stay(format!(
            "{} marked as read",
            count_of(unread.len(), "message")
        )))
    })
    .await
}

fn usage(what: &str, cure: &str) -> Error {
    Error::Usage {
        what: what.into(),
        cure: cure.into(),
    }
}

/// Sends a message. If it cannot be sent, the page stays, with its text.
pub(super) async fn send(State(app): State<Arc<App>>, Form(letter): Form<Letter>) -> Response {
    let next = match number(&letter.reply_to) {
        0 => "/".to_owned(),
        seq => format!("/thread/{seq}"),
    };
    done(&app, move |app| {
        if let Some(item) = undecided(app, &letter)? {
            let said = format!(
                "Not sent: #{} is an open approval, and a reply decides nothing. Press {} below its text to decide, or send the reply again.",
                item.seq,
                item.options.join(" or ")
            );
            return Ok(Done { failed: true, confirm: true, ..Done::stay(said) });
        }
        Ok(Done {
            next: Some(next),
            ..Done::stay(sent(app, &letter)?)
        })
    })
    .await
}

/// The open approval that a reply answers with the name of an option, unless the person has confirmed the reply.
fn undecided(app: &App, letter: &Letter) -> Result<Option<Item>> {
    let seq = number(&letter.reply_to);
    if seq == 0 || letter.confirmed {
        return Ok(None);
    }
    let word = letter.body.trim().trim_end_matches(['.', '!']);
    let mut items = app.pending()?.items;
    items.retain(|item| item.kind == "approval" && item.seq == seq);
    Ok(items.pop().filter(|item| {
        let mut options = item.options.iter();
        options.any(|option| option.eq_ignore_ascii_case(word))
    }))
}

fn number(text: &str) -> u64 {
    text.trim_start_matches('#').parse().unwrap_or_default()
}

fn sent(app: &App, letter: &Letter) -> Result<String> {
    let given = |text: &str| {
        Some(text.trim())
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let draft = Draft {
        to: letter.to.split_whitespace().map(str::to_owned).collect(),
        body: Some(letter.body.replace("\r\n", "\n")),
        subject: given(&letter.subject),
        kind: given(&letter.kind),
        priority: given(&letter.priority),
        ..Draft::default()
    };
    let draft = match number(&letter.reply_to) {
        0 => draft,
        seq => {
            let Reply { draft, .. } =
                reply(&app.room, &app.who(), &format!("#{seq}"), false, draft)?;
            draft
        }
    };
    let posted = post(
        &app.room,
        &app.who(),
        draft,
        limits::WRITER_WAIT,
        |_| Ok(()),
    )?;
    Ok(posted.lines().join("; "))
}

/// The text of a rejected file, as the person fixed it.
#[derive(Debug, Deserialize)]
pub(super) struct Fixed {
    #[serde(default)]
    action: String,
    text: String,
}

/// Sends a rejected message again, or drops it. If it is rejected again, the next page shows the new reasons with the text.
pub(super) async fn fix(
    State(app): State<Arc<App>>,
    Path(seq): Path<String>,
    Form(form): Form<Fixed>,
) -> Response {
    let seq = match views::number(&seq) {
        Ok(seq) => seq,
        Err(failure) => return failure.json(),
    };
    done(&app, move |app| {
        let which = Which::Named(vec![format!("#{seq}")]);
        if form.action == "drop" {
            rejected::remove_all(&app.room, rejected::list(&app.room, &which)?)?;
            return Ok(Done {
                next: Some("/rejected".to_owned()),
                ..Done::stay(format!("dropped #{seq}"))
            });
        }
        let content = form.text.replace("\r\n", "\n").into_bytes();
        let retried = rejected::retry(&app.room, &which, Some(content), limits::WRITER_WAIT)?.pop();
        Ok(retried.map_or_else(
            || Done::stay("it is in the outbox again".to_owned()),
            |one| sent_again(&one),
        ))
    })
    .await
}

fn sent_again(one: &Retried) -> Done {
    if one.became == Some(EventKind::Rejected) {
        let next = format!("/rejected/{}", one.record.unwrap_or(one.seq));
        return Done {
            said: "rejected again".to_owned(),
            failed: true,
            next: Some(next),
            confirm: false,
        };
    }
    let to = one.recipients.join(", ");
    let said = match one.record {
        Some(record) if !to.is_empty() => format!("sent again as #{record} to {to}"),
        Some(record) => format!("sent again as #{record}"),
        None => "it is in the outbox again".to_owned(),
    };
    Done {
        next: Some("/rejected".to_owned()),
        ..Done::stay(said)
    }
}
