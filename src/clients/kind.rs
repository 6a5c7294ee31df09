//! The supported clients.

use serde::Serialize;

/// A client program in which agents run.
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
    /// All clients.
    pub const ALL: [Client; 3] = [Client::Claude, Client::Codex, Client::Gemini];

    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Client::Claude => "claude",
            Client::Codex => "codex",
            Client::Gemini => "gemini",
        }
    }

    /// Parses a client's name.
    pub fn parse(word: &str) -> Result<Client, String> {
        let found = Client::ALL.into_iter().find(|client| client.as_str() == word);
        found.ok_or_else(|| format!("use one of {}", Client::ALL.map(Client::as_str).join(", ")))
    }

    /// Its display name.
    pub fn name(self) -> &'static str {
        match self {
            Client::Claude => "Claude Code",
            Client::Codex => "Codex",
            Client::Gemini => "Gemini CLI",
        }
    }
}
