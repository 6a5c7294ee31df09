//! Every call on one agent's directory fails, as on a broken disk or a server that is gone.

use crate::sim::CallName;
use crate::town::Town;
use mailbag::router::daemon;
use rustix::io::Errno;
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const PLACES: [&str; 4] = ["outbox/rita", "inbox/rita", "sent/rita", "rejected/rita"];

/// The errors of a broken file system.
const ANY: [Errno; 8] = [
    Errno::IO,
    Errno::STALE,
    Errno::NODEV,
    Errno::NOTCONN,
    Errno::TIMEDOUT,
    Errno::NXIO,
    Errno::ACCESS,
    Errno::PERM,
];

#[test]
fn whatever_goes_wrong_in_one_agent_s_directories_is_that_agent_s() {
    // P113
    for place in PLACES {
        for errno in ANY {
            pass_with_one_broken(place, errno);
        }
    }
}

/// One pass with a failing directory, and then one without.
fn pass_with_one_broken(place: &'static str, errno: Errno) {
    let town = Town::of("alice bob rita");
    for below in PLACES {
        crate::files::make_dir(town.room(below));
    }
    town.drop_file("rita", "bad.json", "no message");
    let message = json!({"to": ["bob", "rita"], "body": "to both"});
    town.mail("alice", "x.json", message);
    town.mail("rita", "y.json", json!({"to": "bob", "body": "of rita"}));
    let failed = Arc::new(AtomicUsize::new(0));
    let fails = Arc::clone(&failed);
    let hook = move |_: CallName, paths: &[PathBuf]| {
        if paths
            .iter()
            .any(|path| path.to_string_lossy().contains(place))
        {
            fails.fetch_add(1, Ordering::Relaxed);
            return Err(errno.into());
        }
        Ok(())
    };
    let context = format!("{errno} in {place}");
    let passed = town.watched(hook, daemon::pass);
    assert!(passed.is_ok(), "{context}: {passed:?}");
    assert!(failed.load(Ordering::Relaxed) > 0, "{context}: not reached");
    let arrived = |agent: &str, body: &str| {
        let bodies = town.bodies(agent);
        bodies.iter().filter(|found| *found == body).count()
    };
    assert_eq!(arrived("bob", "to both"), 1, "{context}");
    town.pass();
    let all = [("bob", "to both"), ("bob", "of rita"), ("rita", "to both")];
    for (agent, body) in all {
        assert_eq!(arrived(agent, body), 1, "{context}: {body} for {agent}");
    }
    town.verify();
}
