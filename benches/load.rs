//! The load: agents' names, and messages of the size mix that every case uses.

use std::io;
use std::path::Path;

/// Where the messages of a case come from and go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// The first agents, up to ten in turn, write to the last agent.
    ToOne,
    /// The first agents, up to ten in turn, write to all others.
    ToAll,
    /// Each agent writes to the next, the last to the first.
    Spread,
    /// The first agents, up to ten in turn, write to the agent of the last one's name in the room `po`.
    ToFar,
}

/// Agents, and how they write to each other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) agents: usize,
    pub(crate) traffic: Traffic,
}

impl Load {
    /// The number of copies of each message.
    pub(crate) fn fan_out(self) -> usize {
        if self.traffic == Traffic::ToAll {
            self.agents - 1
        } else {
            1
        }
    }

    /// The number of writing agents.
    pub(crate) fn senders(self) -> usize {
        match self.traffic {
            Traffic::Spread => self.agents,
            Traffic::ToOne | Traffic::ToAll | Traffic::ToFar => {
                self.agents.saturating_sub(1).clamp(1, 10)
            }
        }
    }

    /// Writes the message of that number into its sender's outbox, as a plain agent would: create, write, close.
    pub(crate) fn drop_message(self, room: &Path, number: usize) -> io::Result<()> {
        let (path, text) = self.message(room, number);
        std::fs::write(path, text)
    }

    /// The path and the text of the message of that number.
    pub(crate) fn message(self, room: &Path, number: usize) -> (std::path::PathBuf, String) {
        let sender = number % self.senders();
        let to = match self.traffic {
            Traffic::ToAll => "all".to_owned(),
            Traffic::ToOne => agent(self.agents - 1),
            Traffic::ToFar => format!("po:{}", agent(self.agents - 1)),
            Traffic::Spread => agent((sender + 1) % self.agents),
        };
        let text = text(number, &to);
        (
            room.join("outbox")
                .join(agent(sender))
                .join(format!("{number:06}.json")),
            text,
        )
    }
}

/// The name of an agent.
pub(crate) fn agent(number: usize) -> String {
    format!("r{number:05}")
}

/// The number of the message that a delivered file's name ends with.
pub(crate) fn number_in(delivered: &str) -> Option<usize> {
    delivered
        .strip_suffix(".json")?
        .rsplit_once("-m")?
        .1
        .parse()
        .ok()
}

/// How the sizes are mixed, in words.
pub(crate) const MIX: &str = "of 20 messages 14 of 600 bytes, 4 of 250 and 2 of 2,000; mean 670";

/// One message; of every 20, four are 250 bytes long, two 2,000 and the others 600.
fn text(number: usize, to: &str) -> String {
    const WORDS: &str =
        "The build of the parser fails on the second input, since a comment may now end a line. ";
    let size = match number % 20 {
        3 | 8 | 13 | 18 => 250,
        6 | 16 => 2000,
        _ => 600,
    };
    let head = format!(
        "{{\"id\":\"m{number:06}\",\"to\":\"{to}\",\"type\":\"request\",\"subject\":\"Please look at the parser\",\"body\":\""
    );
    let body: String = WORDS
        .chars()
        .cycle()
        .take(size - head.len() - "\"}\n".len())
        .collect();
    format!("{head}{body}\"}}\n")
}
