//! Forms of the page: each runs the command that does the same, and returns the result to the script of the page.

use super::app::{WebApp, run};
use super::reply::{RequestFailure, json_of};
use super::request::Form;
use super::views;
use super::views::write::MessageForm;
use crate::base::clock::Stamp;
use crate::base::error::{Error, Result};
use crate::base::limits;
use crate::base::text::{count_of, listed};
use crate::commands::answer::{ItemAction, answer as settle, dismiss_all};
use crate::commands::approval::{DecisionRequest, decide};
use crate::commands::post::post;
use crate::commands::read::mark_files_seen;
use crate::commands::rejected;
use crate::commands::reply::{ReplyDraft, reply};
use crate::commands::send::MessageDraft;
use crate::message::id;
use crate::message::record::{EventKind, Record};
use crate::query::inbox;
use crate::query::pending::{PendingItem, PendingItemKey};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::sync::Arc;

/// The proof that a browser shows to enter.
#[derive(Debug, Deserialize)]
pub(super) struct SignInForm {
    /// The token of the printed URL.
    token: String,
}

/// Lets a browser in that has the token, and gives it its secret.
pub(super) async fn enter(
    State(app): State<Arc<WebApp>>,
    Form(admission): Form<SignInForm>,
) -> Response {
    let Some(secret) = app.gate.enter(&admission.token) else {
        let what = "this URL was used already, or is of an earlier start";
        let fix = "start `mailbag web` again and open the new URL";
        return RequestFailure::new(StatusCode::UNAUTHORIZED, what, fix).json();
    };
    json_of(&json!({ "secret": secret }))
}

/// The result of a form, for the script of the page.
#[derive(Debug, Serialize)]
struct FormResult {
    /// A sentence about the outcome.
    message: String,
    failed: bool,
    /// The page to show next. `None` to stay.
    next: Option<String>,
    /// The form is sent if the person sends it again.
    confirm: bool,
}

impl FormResult {
    fn stay(message: String) -> FormResult {
        FormResult {
            message,
            failed: false,
            next: None,
            confirm: false,
        }
    }
}

async fn done(
    app: &Arc<WebApp>,
    work: impl FnOnce(&WebApp) -> Result<FormResult> + Send + 'static,
) -> Response {
    run(app, work)
        .await
        .map_or_else(|failure| failure.json(), |done| json_of(&done))
}

/// An answer to a pending item of the person.
#[derive(Debug, Deserialize)]
pub(super) struct AnswerForm {
    kind: String,
    seq: u64,
    message: String,
    from: String,
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

impl AnswerForm {
    /// The item of the form.
    fn key(&self) -> PendingItemKey<'_> {
        PendingItemKey {
            kind: &self.kind,
            seq: self.seq,
            message: &self.message,
            from: &self.from,
        }
    }
}

/// Settles an item.
pub(super) async fn answer(
    State(app): State<Arc<WebApp>>,
    Form(form): Form<AnswerForm>,
) -> Response {
    done(&app, move |app| {
        settle_item(app, form).map(FormResult::stay)
    })
    .await
}

fn settle_item(app: &WebApp, form: AnswerForm) -> Result<String> {
    let text = Some(form.text.trim().to_owned()).filter(|text| !text.is_empty());
    if let Some(option) = form.option {
        let approval = format!("#{}", form.seq);
        let choice = DecisionRequest {
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
        .ok_or_else(|| {
            Error::not_found(
                format!("the {} #{} is no longer open", form.kind, form.seq),
                "nothing was sent",
            )
        })?;
    let action = match (form.action.as_deref(), text) {
        (Some("reply"), Some(text)) => ItemAction::Reply(text),
        (Some("reply"), None) => return Err(Error::usage("the reply is empty", "write a text")),
        (Some("accept"), _) => ItemAction::Accept,
        (Some("decline"), _) => ItemAction::Decline,
        (Some("dismiss"), _) => ItemAction::Dismiss,
        _ => {
            return Err(Error::usage(
                "the form has no action",
                "use a button of the page",
            ));
        }
    };
    settle(&app.room, &app.who(), &item, action)
}

/// Equal reports, by the numbers that the page displays.
#[derive(Debug, Deserialize)]
pub(super) struct DismissForm {
    kind: String,
    seqs: String,
}

/// Dismisses the reports that the page displays, except settled ones.
pub(super) async fn dismiss(
    State(app): State<Arc<WebApp>>,
    Form(form): Form<DismissForm>,
) -> Response {
    done(&app, move |app| {
        let seqs: Vec<u64> = form
            .seqs
            .split(' ')
            .filter_map(|seq| seq.parse().ok())
            .collect();
        let mut items = app.pending()?.items;
        items.retain(|item| item.kind == form.kind && seqs.contains(&item.seq));
        dismiss_all(&app.room, &app.who(), &items).map(FormResult::stay)
    })
    .await
}

/// Messages that the page displays, by their accept times.
#[derive(Debug, Deserialize)]
pub(super) struct MarkReadForm {
    at: String,
}

/// Marks messages as read.
pub(super) async fn mark_read(
    State(app): State<Arc<WebApp>>,
    Form(form): Form<MarkReadForm>,
) -> Response {
    done(&app, move |app| {
        let at: Vec<Stamp> = form.at.split(' ').filter_map(Stamp::parse).collect();
        let mut unread = inbox::names(&app.room, id::HUMAN)?;
        unread.retain(|(_, accepted)| accepted.is_some_and(|one| at.contains(&one)));
        let names = unread.iter().map(|(name, _)| name.as_os_str());
        mark_files_seen(&app.room, id::HUMAN, names)?;
        Ok(FormResult::stay(format!(
            "{} marked as read",
            count_of(unread.len(), "message")
        )))
    })
    .await
}

/// Sends a message. If it cannot be sent, the page stays, with its text.
pub(super) async fn send(
    State(app): State<Arc<WebApp>>,
    Form(letter): Form<MessageForm>,
) -> Response {
    let next = match number(&letter.reply_to) {
        0 => "/".to_owned(),
        seq => format!("/thread/{seq}"),
    };
    done(&app, move |app| {
        if let Some(item) = undecided(app, &letter)? {
            let message = format!(
                "Not sent: #{} is an open approval, and a reply decides nothing. Press {} below its text to decide, or send the reply again.",
                item.seq,
                item.options.join(" or ")
            );
            return Ok(FormResult { failed: true, confirm: true, ..FormResult::stay(message) });
        }
        Ok(FormResult {
            next: Some(next),
            ..FormResult::stay(sent(app, &letter)?)
        })
    })
    .await
}

/// The open approval that a reply answers with the name of an option, unless the person has confirmed the reply.
fn undecided(app: &WebApp, letter: &MessageForm) -> Result<Option<PendingItem>> {
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

fn sent(app: &WebApp, letter: &MessageForm) -> Result<String> {
    let given = |text: &str| {
        Some(text.trim())
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let draft = MessageDraft {
        to: letter.to.split_whitespace().map(str::to_owned).collect(),
        body: Some(letter.body.replace("\r\n", "\n")),
        subject: given(&letter.subject),
        kind: given(&letter.kind),
        priority: given(&letter.priority),
        ..MessageDraft::default()
    };
    let draft = match number(&letter.reply_to) {
        0 => draft,
        seq => {
            let ReplyDraft { draft, .. } =
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
pub(super) struct CorrectionForm {
    text: String,
}

/// Drops a corrected message as a new file of its sender. If it is rejected again, the next page shows the new reasons with the
/// text.
pub(super) async fn fix(
    State(app): State<Arc<WebApp>>,
    Path(seq): Path<String>,
    Form(form): Form<CorrectionForm>,
) -> Response {
    let seq = match views::number(&seq) {
        Ok(seq) => seq,
        Err(failure) => return failure.json(),
    };
    done(&app, move |app| {
        let text = form.text.replace("\r\n", "\n");
        let record = rejected::correct(&app.room, seq, text.as_bytes(), limits::WRITER_WAIT)?;
        Ok(corrected(record.as_ref()))
    })
    .await
}

fn corrected(record: Option<&Record>) -> FormResult {
    let Some(record) = record else {
        return FormResult::stay("it is in the outbox".to_owned());
    };
    if record.kind() == EventKind::Rejected {
        return FormResult {
            message: "rejected again".to_owned(),
            failed: true,
            next: Some(format!("/rejected/{}", record.seq)),
            confirm: false,
        };
    }
    let to: Vec<&str> = record.recipients().map(|(agent, _)| &**agent).collect();
    let number = format!("sent as #{}", record.seq);
    let message = match &to[..] {
        [] => number,
        _ => format!("{number} to {}", listed(&to)),
    };
    FormResult {
        next: Some("/rejected".to_owned()),
        ..FormResult::stay(message)
    }
}
