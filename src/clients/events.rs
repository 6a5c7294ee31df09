//! What a client's hook sets off: the session's lease is renewed, its agent told of new mail, and what waits routed.

use super::briefing::{self, Briefing, Moment};
use crate::base::error::{Doing, Result};
use crate::base::sanitize;
use crate::query::identity::Who;
use crate::query::status;
use crate::room::Room;
use crate::room::sessions::{self, Caller, Claim, Lease, Loss};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What happens in a session, as far as mail is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The client's name for it.
    pub name: String,
    /// What it is to us.
    pub kind: Kind,
    /// The client's id of the session.
    pub session: Option<String>,
    /// Where the session works.
    pub directory: Option<PathBuf>,
    /// Does this session follow another one of the same process?
    pub follows: bool,
}

/// What an event is to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A moment to tell of mail.
    Tell(Moment),
    /// A moment of the session at which nothing is told: what is said now would not reach the agent, or would hold it up
    /// again.
    Hear,
    /// The session ends.
    End,
    /// Nothing: a sub-agent's.
    Nothing,
}

/// What to say to the session.
#[derive(Debug, Default)]
pub struct Reply {
    /// Who the session speaks for.
    pub agent: Option<String>,
    /// What is said, if anything.
    pub text: Option<String>,
    /// What keeps the session from its mail.
    pub trouble: Option<String>,
    briefing: Option<Briefing>,
    /// The agent that the session hears that it has lost.
    lost: Option<(String, Caller)>,
}

/// Works out what to say. Nothing is said yet: then [`Reply::said`] or [`Reply::unsaid`] has to be called.
pub fn attend(room: &Room, client: &str, event: &Event, named: Option<&Who>) -> Reply {
    let starts = matches!(event.kind, Kind::Tell(Moment::Start | Moment::Resume));
    consider(room, client, event, named).unwrap_or_else(|e| {
        // Said once, where the session begins: it can do something about it then, and needn't hear it with every tool.
        let text = starts.then(|| format!("mailbag: no mail here: {}", sanitize::line(&e.to_string())));
        Reply { text, trouble: Some(e.to_string()), ..Reply::default() }
    })
}

/// What a hook says that is only tried: that it finds the room and its agent. Nothing is bound, told or noted.
pub fn tried(room: &Room, named: Option<&Who>) -> Result<String> {
    let registry = room.registry()?;
    let agent = named.map(|who| who.in_registry(&registry)).transpose()?;
    let whom = agent.map_or_else(|| "whoever a session joins as".to_owned(), |agent| agent.id.to_string());
    Ok(format!("mailbag: mail of {whom} in {}", room.dir.path().display()))
}

fn consider(room: &Room, client: &str, event: &Event, named: Option<&Who>) -> Result<Reply> {
    let caller = Caller::here(client, event.session.clone())?;
    match event.kind {
        Kind::Nothing => Ok(Reply::default()),
        Kind::Hear => {
            let agent = bind(room, &caller, event, named)?.map(|lease| lease.agent);
            Ok(Reply { agent, ..Reply::default() })
        }
        Kind::End => sessions::end(room, &caller).map(|()| Reply::default()),
        Kind::Tell(moment) => {
            let bound = bind(room, &caller, event, named);
            if let Ok(Some(lease)) = bound {
                return tell(room, moment, lease);
            }
            if let Some(loss) = sessions::loss(room, &caller)? {
                return Ok(told_of(loss, caller));
            }
            bound?;
            match moment {
                Moment::Start | Moment::Resume => Ok(how_to_join(room, &caller)),
                _ => Ok(Reply::default()),
            }
        }
    }
}

/// Does a session begin with this event?
pub(super) fn begins(event: &Event) -> bool {
    event.follows || matches!(event.kind, Kind::Tell(Moment::Start | Moment::Resume))
}

/// Binds the session in which an event happened to its agent, if it has one.
pub(super) fn bind(room: &Room, caller: &Caller, event: &Event, named: Option<&Who>) -> Result<Option<Lease>> {
    // A client runs one session at a time in a process. The tool server may have taken the agent before under the id of
    // one that never began: that of a session that is taken up again is known late.
    let claim = if begins(event) { Claim::Successor } else { Claim::Free };
    let before = || if event.follows { sessions::before(room, caller) } else { Ok(None) };
    let ours = match sessions::agent_of(room, caller)? {
        None => before()?,
        lease => lease,
    };
    // What the session itself has said counts before the name that its hooks were installed with.
    let agent = match (ours, named) {
        (Some(lease), _) if lease.joined => Some(lease.agent),
        (_, Some(who)) => Some(who.in_registry(&room.registry()?)?.id.to_string()),
        (lease, None) => lease.map(|lease| lease.agent),
    };
    agent.map(|agent| sessions::bind(room, &agent, caller, claim, &event.name)).transpose()
}

fn tell(room: &Room, moment: Moment, lease: Lease) -> Result<Reply> {
    let briefing = briefing::brief(room, &lease.agent, moment, lease.told)?;
    let text = briefing.as_ref().map(|briefing| briefing.text.clone());
    Ok(Reply { agent: Some(lease.agent), text, briefing, ..Reply::default() })
}

fn told_of(loss: Loss, caller: Caller) -> Reply {
    let text = format!("mailbag: {loss}; {}", join_by(&caller).unwrap_or_default());
    let text = Some(sanitize::line(&text).into_owned());
    Reply { text, trouble: Some(loss.to_string()), lost: Some((loss.agent, caller)), ..Reply::default() }
}

/// How a session says who it is.
fn join_by(caller: &Caller) -> Option<String> {
    let session = caller.session.as_deref()?;
    Some(format!("`mailbag join NAME --session {session} --client {}` gives it one", caller.client))
}

fn how_to_join(room: &Room, caller: &Caller) -> Reply {
    let Some(how) = join_by(caller) else { return Reply::default() };
    let text = format!(
        "mailbag: this session has no name yet in {}; {how} (`mailbag agent list` shows them), and its mail.",
        sanitize::line(&room.dir.path().to_string_lossy()),
    );
    Reply { text: Some(text), ..Reply::default() }
}

impl Reply {
    /// It was said: the budget is charged, and what waits in outboxes is routed by a process of its own.
    pub fn said(&self, room: &Room, client: &str, event: &Event) -> Result<()> {
        if let (Some(briefing), Some(agent)) = (&self.briefing, &self.agent) {
            sessions::told(room, agent, briefing.told)?;
        }
        if let Some((agent, caller)) = &self.lost {
            sessions::told_of_loss(room, caller, agent)?;
        }
        sessions::note(room, client, &event.name, self.agent.as_deref(), self.trouble.clone())?;
        if room.holder()?.is_none() && status::anything_pending(room)? {
            begin_pass(room)?;
        }
        Ok(())
    }

    /// It could not be said: it will be told with the next event.
    pub fn unsaid(&self, room: &Room) {
        if let (Some(briefing), Some(agent)) = (&self.briefing, &self.agent) {
            briefing.undo(room, agent);
        }
    }
}

// In a group of its own, so that a client that ends its hooks' group leaves it alone, and with none of its pipes: it would
// wait for them to close.
fn begin_pass(room: &Room) -> Result<()> {
    let program = std::env::current_exe().doing("find", "this program")?;
    let mut pass = Command::new(&program);
    pass.arg("--room").arg(room.dir.path()).args(["run", "--once", "--quiet"]);
    pass.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    pass.spawn().doing("start", &program).map(drop)
}
