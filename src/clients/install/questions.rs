//! What a client asks the person before it uses what is installed, and which answer is needed. Only the person can answer.

use super::clients::{Homes, Scope};
use super::{Trust, status};
use crate::clients::kind::{Client, TrustRecord};
use serde::Serialize;

/// A question of a client.
#[derive(Debug, Clone, Serialize)]
pub struct Question {
    /// The question, as the client shows it.
    pub question: &'static str,
    /// The needed answer.
    pub answer: &'static str,
}

/// The questions that a client still asks. One that stores the answer is not said to ask again.
pub(super) fn of(client: Client, scope: Scope, homes: &Homes) -> Vec<Question> {
    let trust = client.facts().trust;
    let is_trusted = status(client, scope, homes).trusted == Trust::Yes;
    let folder = if is_trusted || scope == Scope::User { None } else { folder(trust) };
    let hooks = (trust == TrustRecord::CodexDigests && !is_trusted)
        .then_some(("Hooks need review", "Trust all and continue; otherwise Codex silently skips them"));
    let server = if scope == Scope::Project { server(trust) } else { None };
    let all = folder.into_iter().chain(server).chain(hooks);
    all.map(|(question, answer)| Question { question, answer }).collect()
}

/// The question about an MCP server of a project, and its answer.
fn server(trust: TrustRecord) -> Option<(&'static str, &'static str)> {
    match trust {
        TrustRecord::ClaudeProjects => Some((
            "New MCP server found in this project: mailbag",
            "Use this MCP server (the highlighted answer is to continue without it)",
        )),
        TrustRecord::FoldersIfEnabled => {
            Some(("Untrusted MCP server in .qwen/settings.json: mailbag", "Approve this server"))
        }
        _ => None,
    }
}

/// The question at the first start in a folder, and its answer.
fn folder(trust: TrustRecord) -> Option<(&'static str, &'static str)> {
    match trust {
        TrustRecord::ClaudeProjects => Some((
            "Is this a project you created or one you trust?",
            "Yes, I trust this folder (the highlighted answer is no)",
        )),
        TrustRecord::CodexDigests => Some(("Trust this folder?", "Trust and continue")),
        TrustRecord::FoldersIfEnabled | TrustRecord::None => None,
        TrustRecord::Elsewhere => Some(("Trust this folder?", "Trust this folder; it lists the server mailbag")),
        TrustRecord::CopilotFolders => {
            Some(("Do you trust the files in this folder?", "Yes, and remember this folder for future sessions"))
        }
        TrustRecord::Folders => Some(("Do you trust the files in this folder?", "Trust folder")),
    }
}
