//! Lists messages from the log. The newest few are found without reading the whole log.

use super::history::{LoggedMessage, MessageFilter};
use super::newest::near_end;
use crate::base::error::Result;
use crate::log::LogPosition;
use crate::log::find::{self, LineFilter, LogScan};
use crate::room::Room;
use std::sync::Arc;

/// The matching messages, in log order; with `last`, only the newest `last`.
///
/// ```
/// use mailbag::query::history::{MessageCriteria, MessageFilter};
/// use mailbag::query::list::list;
/// use mailbag::room::Room;
/// use mailbag::router::daemon;
///
/// let home = tempfile::tempdir()?;
/// let (room, _) = Room::init(home.path())?;
/// for n in 1..=3 {
///     let path = home.path().join(format!("outbox/human/{n}.json"));
///     std::fs::write(path, format!(r#"{{"to": "human", "body": "note {n}"}}"#))?;
///     daemon::pass(&room)?;
/// }
/// let newest = list(&room, MessageFilter::new(&room, MessageCriteria::default())?, Some(2))?;
/// let previews: Result<Vec<_>, _> = newest.map(|message| message.map(|message| message.preview)).collect();
/// assert_eq!(previews?, [Some("note 2".to_owned()), Some("note 3".to_owned())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn list(
    room: &Room,
    filter: MessageFilter,
    last: Option<usize>,
) -> Result<Box<dyn Iterator<Item = Result<LoggedMessage>>>> {
    let (begin, end) = filter.span(&room.dir)?;
    let filter = Arc::new(filter);
    let closed = filter.closed.clone();
    let with_closed = move |message: Result<LoggedMessage>| {
        let mut message = message?;
        closed.note(&mut message);
        Ok(message)
    };
    let Some(last) = last else {
        let all = scan(room, &filter, begin, end)?.values();
        return Ok(Box::new(all.map(with_closed)));
    };
    let newest = near_end(&room.dir, begin, end, last, |from, to| {
        Ok(scan(room, &filter, from, Some(to))?.values())
    })?;
    Ok(Box::new(newest.into_iter().map(Ok).map(with_closed)))
}

fn scan(
    room: &Room,
    filter: &Arc<MessageFilter>,
    from: LogPosition,
    end: Option<LogPosition>,
) -> Result<LogScan<LoggedMessage>> {
    let filter = filter.clone();
    let sieve = LineFilter::of(&Vec::from_iter(filter.sieve()))?;
    find::scan(&room.dir, from, end, sieve, move |line| {
        LoggedMessage::read(line.bytes).filter(|past| filter.fits(past))
    })
}
