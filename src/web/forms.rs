//! What a person clicks: each form runs the command that does the same, and sends the browser to the next page.

use super::app::{App, Note, run};
use super::guard;
use super::reply::{Failure, see};
use super::views;
use super::views::write::Letter;
use crate::base::error::{Error, Result};
use crate::commands::answer::{Action, answer as settle};
use crate::commands::approval::{Choice, decide};
use crate::commands::post::post;
use crate::commands::rejected::{self, Which};
use crate::commands::reply::{Reply, reply};
use crate::commands::send::Draft;
use crate::message::record::Event;
use crate::query::outcome::Outcome;
use crate::query::pending::Key;
use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use serde::Deserialize;
use std::sync::Arc;

/// The token in the printed URL.
#[derive(Debug, Deserialize)]
pub(super) struct ByToken {
    #[serde(default)]
    token: String,
}

/// Lets a browser in that has the token.
pub(super) async fn enter_by_token(State(app): State<Arc<App>>, Query(ByToken { token }): Query<ByToken>) -> Response {
    guard::admit(&app, &token).await
}

/// The password.
#[derive(Debug, Deserialize)]
pub(super) struct ByPassword {
    #[serde(default)]
    password: String,
}

/// Lets a browser in whose person knows the password.
pub(super) async fn enter(State(app): State<Arc<App>>, Form(ByPassword { password }): Form<ByPassword>) -> Response {
    guard::admit(&app, &password).await
}

/// An answer to an item of what needs the person.
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
    /// The item for which the form was made.
    fn key(&self) -> Key<'_> {
        let owned = Some((&*self.subject, &*self.owner)).filter(|(subject, _)| !subject.is_empty());
        Key { kind: &self.kind, seq: self.seq, message: &self.message, from: &self.from, owned }
    }
}

/// Settles an item.
pub(super) async fn answer(State(app): State<Arc<App>>, Form(form): Form<Answer>) -> Response {
    let done = run(&app, move |app| settled(app, form)).await;
    back(&app, "/", done)
}

fn settled(app: &App, form: Answer) -> Result<String> {
    let text = Some(form.text.trim().to_owned()).filter(|text| !text.is_empty());
    if let Some(option) = form.option {
        let approval = format!("#{}", form.seq);
        let choice = Choice { approval: approval.clone(), option, note: text, digest: form.digest, at_terminal: true };
        let outcome = decide(&app.room, &app.who(), choice)?;
        return Ok(format!("decided {approval}: {}", outcome.word()));
    }
    let item =
        app.pending()?.items.into_iter().find(|item| item.key() == form.key()).ok_or_else(|| Error::NotFound {
            what: format!("the {} #{} is not open any more", form.kind, form.seq),
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

fn usage(what: &str, cure: &str) -> Error {
    Error::Usage { what: what.into(), cure: cure.into() }
}

/// Sends a message. What was written is shown again if it cannot be sent.
pub(super) async fn send(State(app): State<Arc<App>>, Form(letter): Form<Letter>) -> Response {
    let letter = Arc::new(letter);
    let given = letter.clone();
    let place = match letter.reply_to.is_empty() {
        true => "/".to_owned(),
        false => format!("/thread/{}", number(&letter.reply_to)),
    };
    match run(&app, move |app| sent(app, &given)).await {
        Ok(said) => back(&app, &place, Ok(said)),
        Err(failure) => views::write::again(&app, letter, failure).await,
    }
}

fn number(text: &str) -> u64 {
    text.trim_start_matches('#').parse().unwrap_or_default()
}

fn sent(app: &App, letter: &Letter) -> Result<String> {
    let given = |text: &str| Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
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
            let Reply { draft, .. } = reply(&app.room, &app.who(), &format!("#{seq}"), false, draft)?;
            draft
        }
    };
    let posted = post(&app.room, &app.who(), draft)?;
    Ok(match posted.outcome {
        Outcome::Accepted { seq, delivered, waiting } => {
            let names = [delivered, waiting].concat();
            format!("sent #{seq} to {}", if names.is_empty() { "its channel".into() } else { names.join(", ") })
        }
        Outcome::Rejected => "the message was rejected; the reason is in your inbox".to_owned(),
        Outcome::Pending => "the message is in the outbox; the router has not accepted it yet".to_owned(),
    })
}

/// The text of a rejected file, as it was mended.
#[derive(Debug, Deserialize)]
pub(super) struct Mended {
    text: String,
}

/// Sends a rejected message again. If it is rejected again, the page shows the new reasons with the text.
pub(super) async fn send_again(
    State(app): State<Arc<App>>,
    Path(seq): Path<String>,
    Form(Mended { text }): Form<Mended>,
) -> Response {
    let seq = match views::number(&seq) {
        Ok(seq) => seq,
        Err(failure) => return views::failed(&app, &failure),
    };
    let text = text.replace("\r\n", "\n");
    let content = text.clone().into_bytes();
    let retry = move |app: &App| {
        let mut retried = rejected::retry(&app.room, &Which::Named(vec![format!("#{seq}")]), Some(content))?;
        Ok(retried.pop())
    };
    match run(&app, retry).await {
        Err(failure) => back(&app, &format!("/rejected/{seq}"), Err(failure)),
        Ok(Some(one)) if one.became == Some(Event::Rejected) => views::rejected::again(&app, one, &text),
        Ok(one) => {
            let record = one.and_then(|one| Some((one.record?, one.recipients.join(", "))));
            let said = match record {
                Some((record, to)) if !to.is_empty() => format!("sent again as #{record} to {to}"),
                Some((record, _)) => format!("sent again as #{record}"),
                None => "it is in the outbox again".to_owned(),
            };
            back(&app, "/rejected", Ok(said))
        }
    }
}

/// Shows the page at `place`, with what was done or why not.
fn back(app: &App, place: &str, done: std::result::Result<String, Failure>) -> Response {
    let note = match done {
        Ok(text) => Note { text, failed: false },
        Err(failure) => Note { text: format!("{}. {}.", failure.sentence(), failure.cure), failed: true },
    };
    see(&format!("{place}?note={}", app.keep(note)))
}
