//! Hooks and waking: installed hooks, whether the client runs them, their last run and their errors.

use super::{DoctorRequest, ExaminedRoom, Finding, quoted};
use crate::clients::install::{self, ClientStatus, HookPresence, HookTrust, InstallScope};
use crate::clients::kind::Client;
use crate::features::approvals::{
    self,
    signature::{self, DecisionKey},
};
use crate::room::sessions::{self, HookRun};

pub(super) fn look(
    examined: &ExaminedRoom<'_>,
    request: &DoctorRequest<'_>,
    findings: &mut Vec<Finding>,
) {
    let fired = sessions::fired(examined.room).unwrap_or_default();
    let (waking, hooks): (Vec<&HookRun>, Vec<&HookRun>) = fired
        .iter()
        .partition(|fired| fired.client == sessions::WAKE);
    for fired in waking {
        wakes(fired, findings);
    }
    for client in Client::ALL {
        let ours: Vec<&HookRun> = hooks
            .iter()
            .copied()
            .filter(|fired| fired.client == client.as_str())
            .collect();
        for fired in &ours {
            if !is_over(fired, &ours) {
                errors(client, fired, findings);
            }
        }
        let installed = installed(client, request);
        for status in &installed {
            can_run(status, findings);
        }
        check_duplicates(client, &installed, request, findings);
        if !installed.is_empty() {
            shut_out(client, request, findings);
        }
        last_run(client, &installed, &ours, findings);
    }
    decision_key(examined, findings);
}

/// The scopes with our hooks.
fn installed(client: Client, request: &DoctorRequest<'_>) -> Vec<ClientStatus> {
    let Ok(homes) = install::homes(request.from) else {
        return Vec::new();
    };
    let each = [InstallScope::Project, InstallScope::User]
        .map(|scope| install::status(client, scope, &homes));
    each.into_iter()
        .filter(|status| status.hooks != HookPresence::Absent)
        .collect()
}

fn wakes(fired: &HookRun, findings: &mut Vec<Finding>) {
    let (agent, at) = (&fired.event, &fired.at);
    findings.push(match &fired.problem {
        Some(problem) => Finding::warning(
            "waking_failed",
            format!("waking {agent} failed at {at}: {problem}"),
            format!("mailbag agent show {}", quoted(agent)),
        ),
        None => Finding::note(
            "woken",
            format!("{agent} was last woken at {at}"),
            format!("mailbag inbox {}", quoted(agent)),
        ),
    });
}

/// Returns true if a run had no readable input, and a later run of the same client had.
fn is_over(fired: &HookRun, ours: &[&HookRun]) -> bool {
    fired.event == sessions::UNKNOWN_EVENT && ours.iter().any(|other| other.at > fired.at)
}

fn errors(client: Client, fired: &HookRun, findings: &mut Vec<Finding>) {
    let Some(problem) = &fired.problem else {
        return;
    };
    let what = format!(
        "the {} hook {} failed at {}: {problem}",
        client.name(),
        fired.event,
        fired.at
    );
    findings.push(Finding::warning("hook_complained", what, "mailbag who"));
}

fn can_run(status: &ClientStatus, findings: &mut Vec<Finding>) {
    let (name, again) = (status.client.name(), install_again(status));
    let command = status.command.as_deref().unwrap_or("mailbag");
    if status.executable.is_none() {
        let what = format!("the hooks of {name} call {command}, which does not exist");
        findings.push(Finding::problem(
            "hook_without_program",
            what,
            again.clone(),
        ));
    }
    if status.hooks == HookPresence::Partly {
        let what = format!("{name} lacks the hooks for {}", status.missing.join(", "));
        findings.push(Finding::warning("hooks_missing", what, again));
    }
    if status.trusted == HookTrust::No {
        let what = format!("{name} silently skips our hooks, because you have not trusted them");
        let fix = match status.client {
            Client::Codex => "codex, and then /hooks",
            client => client.as_str(),
        };
        findings.push(Finding::warning("hooks_not_trusted", what, fix));
    }
}

/// Reports hooks in more than one place. mailbag announces once, but each call costs time.
fn check_duplicates(
    client: Client,
    installed: &[ClientStatus],
    request: &DoctorRequest<'_>,
    findings: &mut Vec<Finding>,
) {
    let homes = install::homes(request.from).ok();
    let package = homes.and_then(|homes| install::package_record(client, &homes));
    let files = installed.iter().flat_map(|status| &status.hook_files);
    let shown: Vec<String> = files
        .chain(&package)
        .map(|file| file.display().to_string())
        .collect();
    if shown.len() < 2 {
        return;
    }
    let what = format!(
        "the hooks of {} are installed twice: in {}",
        client.name(),
        shown.join(" and in ")
    );
    let removal = client
        .facts()
        .package
        .as_ref()
        .map(|package| package.removal);
    let has_user = installed
        .iter()
        .any(|status| status.scope == InstallScope::User);
    let fix = match removal {
        Some(removal) if package.is_some() => removal.to_owned(),
        _ if has_user => format!("mailbag uninstall {} --user", client.as_str()),
        _ => format!("mailbag install {}", client.as_str()),
    };
    findings.push(Finding::warning("hooks_twice", what, fix));
}

fn shut_out(client: Client, request: &DoctorRequest<'_>, findings: &mut Vec<Finding>) {
    let Ok(homes) = install::homes(request.from) else {
        return;
    };
    if let Some((what, file)) = install::shut_out(client, &homes) {
        let fix = format!(
            "grep -n run_shell_command {}",
            quoted(file.display().to_string())
        );
        findings.push(Finding::warning("commands_shut_out", what, fix));
    }
}

/// The key that signs decisions of the person: without the pinned key, or if others can read it, no decision is the person's.
fn decision_key(examined: &ExaminedRoom<'_>, findings: &mut Vec<Finding>) {
    let Ok(path) = signature::path() else { return };
    let shown = path.display();
    let place = signature::place(examined.room).ok().flatten();
    let pin = examined
        .committed
        .as_ref()
        .and_then(|state| approvals::of(state).pin(place.as_deref()));
    let replace = format!(
        "restore that file; if it is lost: mailbag init --adopt {}",
        quoted(examined.room.dir.path().display().to_string())
    );
    let missing = match (DecisionKey::own(), pin) {
        (Err(e), _) => Some(format!("the decision key cannot be read: {e}")),
        (Ok(own), Some(pin)) if own.as_ref().is_none_or(|own| own.public() != pin.key) => {
            let pinned = signature::short(&pin.key);
            Some(format!(
                "the decision key {pinned} that is pinned in this room is not in {shown}"
            ))
        }
        _ => None,
    };
    if let Some(what) = missing {
        findings.push(Finding::problem("key_missing", what, replace));
    }
    if signature::is_readable_by_others().unwrap_or_default() {
        let what =
            format!("other users can read the key {shown}, and sign decisions of the person");
        let fix = format!("chmod 600 {}", quoted(shown.to_string()));
        findings.push(Finding::problem("key_readable", what, fix));
    }
}

fn install_again(status: &ClientStatus) -> String {
    let scope = if status.scope == InstallScope::User {
        " --user"
    } else {
        ""
    };
    let agent = status
        .agent
        .as_deref()
        .map(|agent| format!(" --agent {}", quoted(agent)))
        .unwrap_or_default();
    format!("mailbag install {}{scope}{agent}", status.client.as_str())
}

fn last_run(
    client: Client,
    installed: &[ClientStatus],
    ours: &[&HookRun],
    findings: &mut Vec<Finding>,
) {
    let name = client.name();
    if !ours.is_empty() {
        let each: Vec<String> = ours
            .iter()
            .map(|fired| format!("{} at {}", fired.event, fired.at))
            .collect();
        let what = format!(
            "the hooks of {name} last ran in this room: {}",
            each.join(", ")
        );
        findings.push(Finding::note("hooks_ran", what, "mailbag install --status"));
    } else if !installed.is_empty() {
        let what = format!("the hooks of {name} are installed but have not run in this room yet");
        let fix = format!("{}, and then any prompt", client.as_str());
        findings.push(Finding::note("hooks_never_ran", what, fix));
    }
}
