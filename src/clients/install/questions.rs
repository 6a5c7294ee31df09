//! The questions that a client still asks before it uses the installation. Only the person can answer.

use super::clients::{Homes, Scope};
use super::{Trust, status};
use crate::clients::kind::{About, Ask, Client};

/// The questions that a client still asks. One that stores the answer is not said to ask again.
pub(super) fn of(client: Client, scope: Scope, homes: &Homes) -> Vec<Ask> {
    let is_trusted = status(client, scope, homes).trusted == Trust::Yes;
    let is_open = |ask: &&Ask| match ask.about {
        About::Folder => scope == Scope::Project && !is_trusted,
        About::Server => scope == Scope::Project,
        About::Hooks => !is_trusted,
    };
    client
        .facts()
        .asks
        .iter()
        .filter(is_open)
        .copied()
        .collect()
}
