//! The programs in which agents run, and which tell others what happens in their sessions.

use serde::Serialize;

/// A program in which agents run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Client {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
}

impl Client {
    /// All of them.
    pub const ALL: [Client; 3] = [Client::Claude, Client::Codex, Client::Gemini];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
        }
    }

    /// The client of that word, or what is wanted instead.
    pub fn parse(word: &str) -> Result<Client, String> {
        let found = Client::ALL.into_iter().find(|client| client.as_str() == word);
        found.ok_or_else(|| format!("it is one of {}", Client::ALL.map(Client::as_str).join(", ")))
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Client::Claude => "Claude Code",
            Client::Codex => "Codex",
            Client::Gemini => "Gemini CLI",
        }
    }
}
