//! Who is asking: what the command line says, else the environment, else the person at a terminal.

use crate::address::quoted;
use crate::error::{Error, Result};
use crate::id;
use crate::registry::{Agent, Registry};

/// The variables that name an agent, the first one that is set counts.
pub const VARIABLES: [&str; 2] = ["MAILBAG_AGENT", "MAOS_AGENT_ID"];

/// A name, and who said it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// An agent's id or display name, not looked up yet.
    pub name: String,
    /// `--as`, a variable, or `the terminal`.
    pub source: &'static str,
}

/// Who is asking. Only at a terminal is it the human: an agent that forgot to say who it is must not speak for the
/// person.
pub fn who(asked: Option<&str>, at_terminal: bool) -> Result<Who> {
    if let Some(name) = asked {
        return Ok(Who { name: name.to_owned(), source: "--as" });
    }
    for variable in VARIABLES {
        if let Some(name) = std::env::var(variable).ok().filter(|name| !name.is_empty()) {
            return Ok(Who { name, source: variable });
        }
    }
    if at_terminal {
        return Ok(Who { name: id::HUMAN.to_owned(), source: "the terminal" });
    }
    Err(Error::Usage {
        what: "nothing says which agent you are".into(),
        cure: format!("give --as AGENT, or set {}", VARIABLES[0]),
    })
}

impl Who {
    /// The agent of that name in this registry.
    pub fn in_registry<'r>(&self, registry: &'r Registry) -> Result<&'r Agent> {
        registered(registry, &self.name, Some(self.source))
    }
}

/// The agent of that id or display name, or an error with what may have been meant and how to register it.
pub fn registered<'r>(registry: &'r Registry, name: &str, source: Option<&str>) -> Result<&'r Agent> {
    registry.find(name).ok_or_else(|| {
        let said_by = source.map(|source| format!(" (said by {source})")).unwrap_or_default();
        let register = match id::is_name(name) {
            true => format!("; `mailbag agent add {name}` registers it"),
            false => String::new(),
        };
        Error::NotFound {
            what: format!("no agent is called {}{said_by}", quoted(name)),
            cure: format!("{}{register}", registry.did_you_mean(name)),
        }
    })
}
