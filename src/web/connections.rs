//! The open connections. Strangers cannot take the places of a person who has entered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The largest number of open connections of the page. A further one takes the place of the oldest one that has not entered.
const WEB_CONNECTIONS: usize = 128;

/// An open connection.
#[derive(Debug)]
pub(super) struct WebConnection {
    number: u64,
    has_entered: AtomicBool,
    /// Ends the connection.
    pub(super) end: Notify,
}

impl WebConnection {
    /// Records that this connection had a request with a valid secret.
    pub(super) fn set_entered(&self) {
        self.has_entered.store(true, Ordering::Relaxed);
    }

    fn is_stranger(&self) -> bool {
        !self.has_entered.load(Ordering::Relaxed)
    }
}

/// All open connections, the oldest first.
#[derive(Debug, Default)]
pub(super) struct ConnectionTable(Mutex<OpenConnections>);

#[derive(Debug, Default)]
struct OpenConnections {
    last: u64,
    open: Vec<Arc<WebConnection>>,
}

impl ConnectionTable {
    /// Adds a connection. If there are too many, the oldest one of a stranger ends. `None` if every other connection has
    /// entered.
    pub(super) fn add(&self) -> Option<Arc<WebConnection>> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.open.len() >= WEB_CONNECTIONS {
            let victim = table.open.iter().position(|one| one.is_stranger())?;
            table.open.remove(victim).end.notify_one();
        }
        table.last += 1;
        let (number, has_entered, end) = (table.last, AtomicBool::new(false), Notify::new());
        let connection = Arc::new(WebConnection {
            number,
            has_entered,
            end,
        });
        table.open.push(connection.clone());
        Some(connection)
    }

    /// Removes a connection that has ended.
    pub(super) fn remove(&self, connection: &WebConnection) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.open.retain(|one| one.number != connection.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_open(table: &ConnectionTable, connection: &WebConnection) -> bool {
        let table = table.0.lock().expect("a table");
        table.open.iter().any(|one| one.number == connection.number)
    }

    #[test]
    fn a_further_connection_takes_the_place_of_the_oldest_stranger() {
        let table = ConnectionTable::default();
        let mut all: Vec<_> = (0..WEB_CONNECTIONS)
            .map(|_| table.add().expect("a place"))
            .collect();
        all[0].set_entered();
        let further = table.add().expect("a place");
        assert!(is_open(&table, &all[0]) && !is_open(&table, &all[1]) && is_open(&table, &further));
        table.remove(&further);
        all.remove(1);
        assert!(
            table.add().is_some() && is_open(&table, &all[1]),
            "a free place costs no connection"
        );
    }

    #[test]
    fn connections_that_have_entered_end_for_no_further_one() {
        let table = ConnectionTable::default();
        for _ in 0..WEB_CONNECTIONS {
            table.add().expect("a place").set_entered();
        }
        assert!(table.add().is_none());
    }
}
