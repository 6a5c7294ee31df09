//! Other rooms nearby that may have the missing mail.

use super::{DoctorRequest, Finding, Severity, shell};
use crate::disk::machine;
use crate::log::state;
use crate::query::status;
use crate::room::{self, NearbyRoom, Room};
use std::path::Path;

pub(super) fn look(request: &DoctorRequest<'_>, room: Option<&Room>, findings: &mut Vec<Finding>) {
    let own = room.and_then(|room| room::identity(room.dir.path()));
    let here = room
        .map(|room| mail(room, request.agent))
        .unwrap_or_default();
    for near in room::near(request.from) {
        if room::identity(&near.path) == own {
            continue;
        }
        let Ok(other) = Room::open(&near.path) else {
            continue;
        };
        let there = mail(&other, request.agent);
        if there.anything() {
            findings.push(finding(request, room, &here, &near, &there));
        }
    }
}

/// Unread and pending mail of a room.
#[derive(Default)]
struct MailCounts {
    own_unread: usize,
    unread: usize,
    waiting: usize,
}

impl MailCounts {
    fn anything(&self) -> bool {
        self.unread + self.waiting > 0
    }

    fn text(&self, agent: Option<&str>) -> String {
        let unread = match agent {
            Some(agent) if self.own_unread > 0 => format!("{} unread for {agent}", self.own_unread),
            _ => format!("{} unread", self.unread),
        };
        let waiting = format!("{} pending", self.waiting);
        match (self.unread, self.waiting) {
            (0, 0) => "empty".into(),
            (_, 0) => unread,
            (0, _) => waiting,
            _ => format!("{unread} and {waiting}"),
        }
    }
}

fn mail(room: &Room, agent: Option<&str>) -> MailCounts {
    let registry = agent.and_then(|_| room.registry().ok());
    let id = agent.map(|name| {
        registry
            .as_ref()
            .and_then(|registry| registry.find(name))
            .map_or(name, |agent| &*agent.id)
    });
    let glance = status::glance(room).unwrap_or_default();
    // An unreadable log counts as empty.
    let state = state::committed(&room.dir);
    let unread = state
        .map(|state| status::unread(room, &state))
        .unwrap_or_default();
    MailCounts {
        own_unread: id
            .and_then(|id| unread.get(id))
            .copied()
            .unwrap_or_default(),
        unread: unread.values().sum(),
        waiting: glance.waiting + glance.unrouted,
    }
}

fn finding(
    request: &DoctorRequest<'_>,
    room: Option<&Room>,
    here: &MailCounts,
    near: &NearbyRoom,
    there: &MailCounts,
) -> Finding {
    let missed = request.agent.is_some() && here.own_unread == 0 && there.own_unread > 0;
    let empty = !here.anything();
    let severity = match (room.is_some(), missed, empty) {
        (false, ..) | (_, true, true) => Severity::Problem,
        (_, true, _) | (.., true) => Severity::Warning,
        _ => Severity::Note,
    };
    let before = match room {
        None => "no room here".to_owned(),
        Some(room) if missed && !empty => {
            format!(
                "nothing unread for {} in {}",
                request.agent.unwrap_or_default(),
                room.dir.path().display()
            )
        }
        Some(_) => format!("{} here", here.text(None)),
    };
    let what = format!(
        "{before}, {} in {} ({})",
        there.text(request.agent),
        near.path.display(),
        near.by
    );
    Finding::new(
        "other_room",
        severity,
        what,
        other_room_fix(request, &near.path),
    )
}

fn other_room_fix(request: &DoctorRequest<'_>, other: &Path) -> String {
    let found = room::find(None, request.from).ok();
    let is_found = found.is_some_and(|found| room::identity(&found) == room::identity(other));
    if request.room.is_some() && is_found {
        let mut set = room::ROOM_VARIABLES.to_vec();
        set.retain(|name| machine::variable(name).is_some());
        // Without a variable, `--room` names the examined room.
        return if set.is_empty() {
            format!("mailbag status --room {}", shell(other))
        } else {
            format!("unset {}", set.join(" "))
        };
    }
    format!("export MAILBAG_ROOM={}", shell(other))
}
