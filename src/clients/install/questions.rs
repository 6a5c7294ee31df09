//! The questions that a client still asks before it uses the installation. Only the person can answer.

use super::clients::{ClientDirectories, InstallScope};
use super::{HookTrust, status};
use crate::clients::kind::{Client, ClientQuestion, QuestionSubject};

/// The questions that a client still asks. One that stores the answer is not said to ask again.
pub(super) fn of(
    client: Client,
    scope: InstallScope,
    homes: &ClientDirectories,
) -> Vec<ClientQuestion> {
    let is_trusted = status(client, scope, homes).trusted == HookTrust::Yes;
    let questions = client.facts().questions.iter().copied();
    questions
        .filter(|ask| match ask.about {
            QuestionSubject::Folder => scope == InstallScope::Project && !is_trusted,
            QuestionSubject::Server => scope == InstallScope::Project,
            QuestionSubject::Hooks => !is_trusted,
        })
        .collect()
}
