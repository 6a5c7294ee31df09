//! Hooks and waking: what is installed, whether the client runs it, when it last ran, and what it complained of.

use super::{Asked, Finding, Patient, Severity, quoted};
use crate::clients::install::{self, Hooks, Scope, Standing, Trust};
use crate::clients::kind::Client;
use crate::room::sessions::{self, Fired};

pub(super) fn look(patient: &Patient<'_>, asked: &Asked<'_>, findings: &mut Vec<Finding>) {
    let fired = sessions::fired(patient.room).unwrap_or_default();
    let (waking, hooks): (Vec<&Fired>, Vec<&Fired>) = fired.iter().partition(|fired| fired.client == sessions::WAKE);
    waking.into_iter().for_each(|fired| waked(fired, findings));
    for client in Client::ALL {
        let ours: Vec<&Fired> = hooks.iter().copied().filter(|fired| fired.client == client.as_str()).collect();
        ours.iter().for_each(|fired| complained(client, fired, findings));
        let installed = installed(client, asked);
        installed.iter().for_each(|stands| can_run(stands, findings));
        when(client, &installed, &ours, findings);
    }
}

/// Where our hooks stand in a client's settings.
fn installed(client: Client, asked: &Asked<'_>) -> Vec<Standing> {
    let Ok(homes) = install::homes(asked.from) else { return Vec::new() };
    let each = [Scope::Project, Scope::User].map(|scope| install::standing(client, scope, &homes));
    each.into_iter().filter(|stands| stands.hooks != Hooks::Absent).collect()
}

fn waked(fired: &Fired, findings: &mut Vec<Finding>) {
    let (agent, at) = (&fired.event, &fired.at);
    findings.push(match &fired.trouble {
        Some(trouble) => Finding::new(
            "waking_failed",
            Severity::Warning,
            format!("{agent} could not be woken at {at}: {trouble}"),
            format!("mailbag agent show {}", quoted(agent)),
        ),
        None => Finding::new(
            "woken",
            Severity::Note,
            format!("{agent} was last woken at {at}"),
            format!("mailbag inbox {}", quoted(agent)),
        ),
    });
}

fn complained(client: Client, fired: &Fired, findings: &mut Vec<Finding>) {
    let Some(trouble) = &fired.trouble else { return };
    let what = format!("the hook {} of {} complained at {}: {trouble}", fired.event, client.name(), fired.at);
    findings.push(Finding::new("hook_complained", Severity::Warning, what, "mailbag who"));
}

fn can_run(stands: &Standing, findings: &mut Vec<Finding>) {
    let (name, again) = (stands.client.name(), install_again(stands));
    let command = stands.command.as_deref().unwrap_or("mailbag");
    if stands.executable.is_none() {
        let what = format!("{name} calls {command} in its hooks, which is not there");
        findings.push(Finding::new("hook_without_program", Severity::Problem, what, again.clone()));
    }
    if stands.hooks == Hooks::Partly {
        let what = format!("of the hooks of {name}, those at {} are missing", stands.missing.join(", "));
        findings.push(Finding::new("hooks_missing", Severity::Warning, what, again));
    }
    if stands.trusted == Trust::No {
        let what = format!("{name} leaves our hooks out, without a word, because you have not trusted them");
        let cure = match stands.client {
            Client::Codex => "codex, and then /hooks",
            client => client.as_str(),
        };
        findings.push(Finding::new("hooks_not_trusted", Severity::Warning, what, cure));
    }
}

fn install_again(stands: &Standing) -> String {
    let scope = if stands.scope == Scope::User { " --user" } else { "" };
    let agent = stands.agent.as_deref().map(|agent| format!(" --agent {}", quoted(agent))).unwrap_or_default();
    format!("mailbag install {}{scope}{agent}", stands.client.as_str())
}

fn when(client: Client, installed: &[Standing], ours: &[&Fired], findings: &mut Vec<Finding>) {
    let name = client.name();
    if !ours.is_empty() {
        let each: Vec<String> = ours.iter().map(|fired| format!("{} at {}", fired.event, fired.at)).collect();
        let what = format!("hooks of {name} last ran here: {}", each.join(", "));
        findings.push(Finding::new("hooks_ran", Severity::Note, what, "mailbag install --status"));
    } else if !installed.is_empty() {
        let what = format!("the hooks of {name} are installed, and have not run in this room yet");
        let cure = format!("{}, and a word to it", client.as_str());
        findings.push(Finding::new("hooks_never_ran", Severity::Note, what, cure));
    }
}
