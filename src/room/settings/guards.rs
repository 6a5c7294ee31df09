//! The one list of settings that lead out of the room. In a room that the user did not create here, each needs the person's consent.

use super::Settings;

/// The keys that cannot lead out of the room. A new key belongs here or into [`leads_out`]: a test compares both with all keys.
const HARMLESS: &[&str] = &[
    "tag",
    "durability",
    "admission",
    "message_bytes",
    "names",
    "answer_within",
    "stale_after",
    "sender_budget",
    "copies_budget",
    "loop_hops",
    "budget_window",
    "session_lease",
    "permission_within",
    "announce_budget",
    "announce_window",
    "claim_lease",
    "guard",
    "mailbox",
    "queue",
    "escalation",
    "brief",
    "context_budget",
    "session_names",
    "session_role",
    // It is `WORKLOG.md` beside the room, if `worklog_path` names no other file.
    "worklog",
    // `Settings::withhold` checks each link.
    "links",
];

/// Returns true if the present value of this setting leads out of the room. An unknown key does.
pub(super) fn leads_out(key: &str, settings: &Settings) -> bool {
    match key {
        "attach_from" => !settings.attach_from.is_empty(),
        "context" => settings.has_context_outside(),
        // The router moves a file of others in the place of the worklog away.
        "worklog_path" => settings.worklog_path != Settings::default().worklog_path,
        key => !HARMLESS.contains(&key),
    }
}

/// Gives a setting that leads out of the room its default value.
pub(super) fn reset(key: &str, settings: &mut Settings) {
    let default = Settings::default();
    match key {
        "attach_from" => settings.attach_from = default.attach_from,
        "worklog_path" => settings.worklog_path = default.worklog_path,
        _ => settings.context = default.context,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::settings::keys::KEYS;

    #[test]
    fn each_key_is_harmless_or_needs_consent() {
        // P301
        let guarded = ["attach_from", "context", "worklog_path"];
        for key in KEYS {
            let is_guarded = guarded.contains(&key.key);
            assert_ne!(
                is_guarded,
                HARMLESS.contains(&key.key),
                "{}: decide whether it leads out of the room",
                key.key
            );
        }
        assert_eq!(guarded.len() + HARMLESS.len(), KEYS.len());
    }

    #[test]
    fn a_value_that_leads_out_is_reset() {
        let text =
            "attach_from = [\"/etc\"]\ncontext = \"a/../../b\"\nworklog_path = \"a/README.md\"\n";
        let mut settings = Settings::parse(text).expect("settings");
        settings.withhold(|_| false);
        let keys: Vec<&str> = settings
            .withheld
            .iter()
            .map(|one| one.key.as_str())
            .collect();
        assert_eq!(keys, ["context", "attach_from", "worklog_path"]);
        assert!(KEYS.iter().all(|key| !leads_out(key.key, &settings)));
    }
}
