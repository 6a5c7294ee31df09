//! Lists messages from the log. The newest few are found without reading the whole log.

use super::history::{LoggedMessage, MessageFilter};
use super::newest::LogQuery;
use crate::base::error::Result;
use crate::log::find::LineFilter;
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
) -> Result<impl Iterator<Item = Result<LoggedMessage>>> {
    let (begin, end) = filter.span(&room.dir)?;
    let closed = filter.closed.clone();
    let query = LogQuery {
        room: room.dir.clone(),
        begin,
        end,
        sieve: LineFilter::of(&Vec::from_iter(filter.sieve()))?,
        take: Arc::new(move |line| {
            LoggedMessage::read(line.bytes).filter(|past| filter.fits(past))
        }),
    };
    let messages = query.values(last, &|_| {})?;
    Ok(messages.map(move |message| {
        let mut message = message?;
        closed.note(&mut message);
        Ok(message)
    }))
}
