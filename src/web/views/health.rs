//! The health of the room: what `mailbag doctor` finds, and pending files.

use super::{PageContent, agent, nothing, respond, text};
use crate::base::text::count_of;
use crate::doctor::{self, DoctorRequest, Finding, Severity};
use crate::query::status::{RoomStatus, status};
use crate::web::app::WebApp;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use std::sync::Arc;

pub(in crate::web) async fn show(State(app): State<Arc<WebApp>>) -> Response {
    respond(&app, |app| {
        let at = app.room.dir.path();
        let report = doctor::examine(&DoctorRequest { room: Some(at), from: at, agent: None })?;
        let status = status(&app.room)?;
        let content = html! {
            section {
                h1 { "Health" }
                (state(&status))
                @if report.findings.is_empty() { (nothing("No problems found. A terminal shows the same with", "mailbag doctor")) }
                ul .findings { @for found in &report.findings { (finding(found)) } }
            }
        };
        Ok(PageContent::new("Health", "/health", content))
    })
    .await
}

fn state(status: &RoomStatus) -> Markup {
    html! {
        dl .facts {
            dt { "Room" } dd { code { (text(&status.room.display().to_string())) } }
            dt { "Router" } dd {
                @match &status.router {
                    Some(holder) => { "process " (holder.pid) }
                    None => (text(&status.describe_missing_router())),
                }
            }
            dt { "Messages" } dd {
                (status.counts.accepted) " accepted, " (status.counts.copies) " copies, " (status.counts.rejected) " rejected"
            }
            @for one in &status.waiting {
                dt { "Pending" } dd { (count_of(one.files, "file")) " of " (agent(&one.agent)) ", first " code { (text(&one.first)) } }
            }
            @for one in &status.blocked {
                dt { "Blocked" } dd { code { (text(&one.path)) } ": " (text(&one.reason)) p .fix { (text(&one.fix)) } }
            }
            @for one in &status.unregistered {
                dt { "Unregistered" } dd { (count_of(one.files, "file")) " of " (text(&one.agent)) ": " (one.reason) p .fix { code { (text(&one.fix)) } } }
            }
        }
    }
}

fn finding(finding: &Finding) -> Markup {
    let word = match finding.severity {
        Severity::Problem => "problem",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    html! {
        li .finding .(word) {
            p { span .badge .(word) { (word) } " " (text(&finding.what)) }
            p .fix { code { (text(&finding.fix)) } }
        }
    }
}
