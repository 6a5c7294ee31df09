//! Channels: list them, read a conversation, and follow a conversation.

use crate::base::clock::Stamp;
use crate::base::error::{Error, ErrorContext, Result, did_you_mean};
use crate::base::limits;
use crate::disk::{Dir, file_meta, layout};
use crate::log::state;
use crate::message::address::quoted;
use crate::message::{DEFAULT_CHANNEL, id};
use crate::room::Room;
pub use crate::router::projections::channels::ChannelLine;
use rustix::fs::FileType;
use serde::Serialize;
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};

/// The number of bytes at the end of a conversation that are searched for its last lines. For more lines, all of it is read.
const CONVERSATION_END: u64 = 16 << 20;

/// A channel.
#[derive(Debug, Clone, Serialize)]
pub struct Channel {
    /// Its name.
    pub channel: String,
    /// Number of messages sent to it.
    pub messages: u64,
    /// Accept time of the last message.
    pub last: String,
}

/// A line of a conversation.
pub struct ConversationLine {
    /// The parsed line; `null` if the line is not JSON.
    pub value: Value,
}

impl ConversationLine {
    /// The number of the record that the line shows.
    pub fn seq(&self) -> Option<u64> {
        self.value
            .pointer("/metadata/delivery/seq")
            .and_then(Value::as_u64)
    }

    /// Returns true if the message offers claims.
    pub fn is_offer(&self) -> bool {
        self.text("type") == "handoff" && !self.value["metadata"]["claims"].is_null()
    }

    /// When the message was accepted.
    pub fn accepted_at(&self) -> Option<&str> {
        self.value
            .pointer("/metadata/delivery/accepted_at")
            .and_then(Value::as_str)
    }

    /// A text field of the message, or an empty text.
    pub fn text(&self, field: &str) -> &str {
        self.value[field].as_str().unwrap_or_default()
    }
}

/// All channels of the room, sorted by name. They come from the state, so no conversation is read.
pub fn list(room: &Room) -> Result<Vec<Channel>> {
    let channels = state::committed(&room.dir)?.channels.into_iter();
    Ok(channels
        .map(|(channel, said)| Channel {
            channel: channel.to_string(),
            messages: said.messages,
            last: Stamp::from_micros(said.last_at).to_string(),
        })
        .collect())
}

/// The conversation of a channel that must exist.
pub fn find<'a>(room: &'a Room, channel: &str) -> Result<ConversationReader<'a>> {
    let names = names(room)?;
    check_known(channel, names.iter().map(String::as_str))?;
    Ok(ConversationReader::of(room, channel))
}

/// Fails if no known channel has this name. The default channel exists before its first message.
pub(super) fn check_known<'a>(
    channel: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Result<()> {
    if channel == DEFAULT_CHANNEL || known.clone().any(|name| name == channel) {
        return Ok(());
    }
    let fix = did_you_mean(channel, known).unwrap_or_else(|| {
        "`mailbag channel list` shows the channels; a message with the field `channel` creates one".into()
    });
    Err(Error::not_found(
        format!("no channel {}", quoted(channel)),
        fix,
    ))
}

/// The conversation of a channel that may not exist yet; `true` if it exists.
pub fn follow<'a>(room: &'a Room, channel: &str) -> Result<(ConversationReader<'a>, bool)> {
    id::check_name("channel", channel)?;
    Ok((
        ConversationReader::of(room, channel),
        names(room)?.iter().any(|name| name == channel),
    ))
}

fn names(room: &Room) -> Result<Vec<String>> {
    let Some(dir) = room.dir.sub_if_exists(layout::CHANNELS)? else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    for entry in dir.list()? {
        let name = entry?.name.into_string().unwrap_or_default();
        if id::is_name(&name)
            && room
                .dir
                .stat(layout::conversation(&name))?
                .is_some_and(|meta| meta.kind != FileType::RegularFile || meta.size > 0)
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// A conversation that is read line by line and can be followed as it grows.
pub struct ConversationReader<'a> {
    room: &'a Room,
    channel: String,
    open: Option<OpenConversation>,
    /// The last record that was returned.
    seq: u64,
}

struct OpenConversation {
    file: File,
    inode: u64,
    offset: u64,
}

impl<'a> ConversationReader<'a> {
    fn of(room: &'a Room, channel: &str) -> ConversationReader<'a> {
        ConversationReader {
            room,
            channel: channel.to_owned(),
            open: None,
            seq: 0,
        }
    }

    /// Calls `each` for every line added since the last call. If the file was replaced, reading starts again from its
    /// beginning and skips lines that were returned before.
    pub fn each_new(&mut self, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let Some(dir) = self.directory()? else {
            return Ok(());
        };
        let Some(meta) = dir.stat(layout::CONVERSATION)? else {
            return Ok(());
        };
        meta.check_regular(&dir.at(layout::CONVERSATION))?;
        let open = match self
            .open
            .take()
            .filter(|open| open.inode == meta.inode && open.offset <= meta.size)
        {
            Some(open) => open,
            None => {
                let file = dir.look(layout::CONVERSATION)?;
                let inode = file_meta(&file)
                    .doing_in("look at", dir.path(), layout::CONVERSATION)?
                    .inode;
                OpenConversation {
                    file,
                    inode,
                    offset: 0,
                }
            }
        };
        let OpenConversation {
            mut file,
            inode,
            mut offset,
        } = open;
        if meta.size > offset {
            offset = self.read_from(&mut file, offset, &dir, each)?;
        }
        self.open = Some(OpenConversation {
            file,
            inode,
            offset,
        });
        Ok(())
    }

    /// Calls `each` for the last `wanted` lines.
    pub fn last(&mut self, wanted: usize, each: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        if self.open.is_none() {
            self.open_near_end(wanted)?;
        }
        let mut kept = std::collections::VecDeque::new();
        self.each_new(&mut |line| {
            kept.push_back(line.to_owned());
            if kept.len() > wanted {
                kept.pop_front();
            }
            Ok(())
        })?;
        kept.iter().try_for_each(|line| each(line))
    }

    /// Opens the conversation at a place with at least `wanted` lines after it, so that its beginning is not read.
    fn open_near_end(&mut self, wanted: usize) -> Result<()> {
        let Some(dir) = self.directory()? else {
            return Ok(());
        };
        let Some(there) = dir.stat(layout::CONVERSATION)? else {
            return Ok(());
        };
        there.check_regular(&dir.at(layout::CONVERSATION))?;
        let mut file = dir.look(layout::CONVERSATION)?;
        let meta = file_meta(&file).doing_in("look at", dir.path(), layout::CONVERSATION)?;
        let mut length = limits::TAIL_LOOK;
        while length < meta.size.min(CONVERSATION_END) {
            let from = meta.size - length;
            let mut end = vec![0; length as usize];
            // A conversation that became shorter is read from its beginning.
            let start = file.seek(SeekFrom::Start(from));
            if start.and_then(|_| file.read_exact(&mut end)).is_err() {
                break;
            }
            let mut breaks = memchr::memchr_iter(b'\n', &end);
            if let Some(first) = breaks.next()
                && breaks.count() >= wanted
            {
                self.open = Some(OpenConversation {
                    file,
                    inode: meta.inode,
                    offset: from + first as u64 + 1,
                });
                break;
            }
            length *= 4;
        }
        Ok(())
    }

    fn directory(&self) -> Result<Option<Dir>> {
        self.room.dir.sub_if_exists(layout::channel(&self.channel))
    }

    // A last line without a newline is still being written.
    fn read_from(
        &mut self,
        file: &mut File,
        from: u64,
        dir: &Dir,
        each: &mut dyn FnMut(&str) -> Result<()>,
    ) -> Result<u64> {
        let path = dir.at(layout::CONVERSATION);
        file.seek(SeekFrom::Start(from)).doing("read", &path)?;
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let (mut offset, mut line) = (from, Vec::new());
        loop {
            line.clear();
            let most = limits::MESSAGE_BYTES_MOST * 2;
            let read = reader
                .by_ref()
                .take(most)
                .read_until(b'\n', &mut line)
                .doing("read", &path)?;
            let Some(text) = line.strip_suffix(b"\n") else {
                return Ok(offset);
            };
            offset += read as u64;
            let text = String::from_utf8_lossy(text);
            let seq = parse_line(&text).seq().unwrap_or(u64::MAX);
            if seq > self.seq {
                self.seq = if seq == u64::MAX { self.seq } else { seq };
                each(&text)?;
            }
        }
    }
}

/// Parses a line of a conversation.
pub fn parse_line(line: &str) -> ConversationLine {
    ConversationLine {
        value: serde_json::from_str(line).unwrap_or_default(),
    }
}
