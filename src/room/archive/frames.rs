//! The form of a pack: a tar file in zstd frames, one for each file and one for the end of the archive.
//!
//! A damaged frame does not affect the others. A pack without its last frame is incomplete.

use crate::base::error::{ErrorContext, Result};
use crate::base::limits;
use crate::disk::Meta;
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, BufWriter, IntoInnerError, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use zstd::bulk::Compressor;
use zstd::zstd_safe::MAGICNUMBER;

/// The end of a tar file.
const END: [u8; 1024] = [0; 1024];

/// The longest path that fits in a header.
const HEADER_PATH: usize = 100;

/// The most bytes that a frame adds to its file: headers, records and padding.
const HEADER_BYTES: u64 = 1 << 14;

/// The number of bytes of a pack that are read or written at a time.
const PIECE: usize = 1 << 18;

/// Writes a pack.
pub(super) struct PackWriter<'a, W: Write> {
    out: BufWriter<W>,
    path: &'a Path,
    compressor: Compressor<'static>,
}

impl<'a, W: Write> PackWriter<'a, W> {
    /// Begins a pack. The path is for messages.
    pub(super) fn new(out: W, path: &'a Path) -> Result<Self> {
        let mut compressor = Compressor::new(limits::PACK_LEVEL).doing("write", path)?;
        compressor.include_checksum(true).doing("write", path)?;
        Ok(PackWriter {
            out: BufWriter::with_capacity(PIECE, out),
            path,
            compressor,
        })
    }

    /// Adds a file with its path, its modification time, its permissions and its owner.
    pub(super) fn add(&mut self, path: &Path, meta: &Meta, content: &[u8]) -> Result<()> {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(meta.mode & 0o777);
        header.set_uid(meta.uid.into());
        header.set_gid(meta.gid.into());
        header.set_mtime(u64::try_from(meta.modified / 1_000_000_000).unwrap_or(0));
        header.set_size(content.len() as u64);
        let time = pax_time(meta.modified);
        let mut records = vec![("mtime", time.as_bytes())];
        let mut name = path.as_os_str().as_bytes();
        // The crate `tar` reads a record only up to a newline. For such a path, it writes a GNU header instead.
        if name.len() > HEADER_PATH && !name.contains(&b'\n') {
            records.push(("path", name));
            name = &name[..HEADER_PATH];
        }
        let mut entry = tar::Builder::new(Vec::new());
        entry
            .append_pax_extensions(records)
            .and_then(|()| entry.append_data(&mut header, OsStr::from_bytes(name), content))
            .doing("pack", path)?;
        self.write_frame(entry.get_ref())
    }

    /// Writes the end of the archive.
    pub(super) fn finish(mut self) -> Result<W> {
        self.write_frame(&END)?;
        let written = self.out.into_inner();
        written
            .map_err(IntoInnerError::into_error)
            .doing("write", self.path)
    }

    fn write_frame(&mut self, content: &[u8]) -> Result<()> {
        let frame = self.compressor.compress(content);
        frame
            .and_then(|frame| self.out.write_all(&frame))
            .doing("write", self.path)
    }
}

/// Seconds since 1970 as PAX writes them.
fn pax_time(nanos: i128) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    format!(
        "{sign}{}.{:09}",
        nanos / 1_000_000_000,
        nanos % 1_000_000_000
    )
}

/// A file in a pack.
pub(super) struct PackEntry {
    /// Its original path, relative to the room.
    pub(super) path: PathBuf,
    /// Its content.
    pub(super) content: Vec<u8>,
}

impl PackEntry {
    fn read(frame: &[u8]) -> io::Result<PackEntry> {
        let mut archive = tar::Archive::new(frame);
        let mut entries = archive.entries()?;
        let other = || io::Error::other("a part of it is not one whole file");
        let mut entry = entries.next().ok_or_else(other)??;
        let path = OsString::from_vec(entry.path_bytes().into_owned()).into();
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        let is_file = entry.header().entry_type().is_file() && content.len() as u64 == entry.size();
        if is_file && entries.next().is_none() {
            Ok(PackEntry { path, content })
        } else {
            Err(other())
        }
    }
}

/// The files in a pack. After an error for a damaged frame, the iterator continues with the next frame.
pub(super) struct PackReader<R> {
    pack: BufReader<R>,
    is_over: bool,
}

impl<R: Read + Seek> PackReader<R> {
    pub(super) fn new(pack: R) -> PackReader<R> {
        PackReader {
            pack: BufReader::with_capacity(PIECE, pack),
            is_over: false,
        }
    }

    fn read_entry(&mut self) -> io::Result<Option<PackEntry>> {
        let start = self.pack.stream_position()?;
        let frame = self.read_frame();
        if frame.as_ref().is_ok_and(|frame| *frame == END) {
            return if self.pack.fill_buf()?.is_empty() {
                Ok(None)
            } else {
                Err(io::Error::other("it continues after its end"))
            };
        }
        let entry = frame.and_then(|frame| PackEntry::read(&frame));
        self.is_over = entry.is_err() && !self.find_frame(start + 1)?;
        entry.map(Some)
    }

    fn read_frame(&mut self) -> io::Result<Vec<u8>> {
        if self.pack.fill_buf()?.is_empty() {
            return Err(io::Error::other("its end is missing"));
        }
        let mut frame = Vec::new();
        let mut decoder = zstd::Decoder::with_buffer(&mut self.pack)?.single_frame();
        let most = limits::PACK_FILE_BYTES + HEADER_BYTES;
        decoder.by_ref().take(most).read_to_end(&mut frame)?;
        Ok(frame)
    }

    /// Moves to the next frame that begins at this position or after it. Returns false if there is none.
    fn find_frame(&mut self, from: u64) -> io::Result<bool> {
        self.pack.seek(SeekFrom::Start(from))?;
        let mut last: u32 = 0;
        for byte in self.pack.by_ref().bytes() {
            last = last >> 8 | u32::from(byte?) << 24;
            if last == MAGICNUMBER {
                self.pack.seek_relative(-4)?;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl<R: Read + Seek> Iterator for PackReader<R> {
    type Item = io::Result<PackEntry>;

    fn next(&mut self) -> Option<io::Result<PackEntry>> {
        if std::mem::replace(&mut self.is_over, true) {
            return None;
        }
        self.read_entry().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::file_meta;
    use std::io::Cursor;

    type Files = Vec<(PathBuf, Vec<u8>)>;

    fn files() -> Files {
        let long = [b'x'; 255];
        let wide = "\u{1f9c0}".repeat(63);
        let names: [&[u8]; 6] = [
            b"7~x.json",
            b"-\xff\n.json",
            &long,
            &[b"\xff", &long[1..]].concat(),
            &[b"\xff\n", &long[2..]].concat(),
            wide.as_bytes(),
        ];
        let path = |name: &&[u8]| Path::new("inbox/bob/seen").join(OsStr::from_bytes(name));
        let contents = (0..).map(|n| vec![b'a'; n * 256]);
        names.iter().map(path).zip(contents).collect()
    }

    /// A pack of these files, and where each frame begins.
    fn pack(files: &Files) -> (Vec<u8>, Vec<usize>) {
        let meta = file_meta(&tempfile::tempfile().expect("a file")).expect("its metadata");
        let mut writer = PackWriter::new(Vec::new(), Path::new("pack")).expect("a writer");
        let mut starts = Vec::new();
        for (path, content) in files {
            writer.out.flush().expect("written");
            starts.push(writer.out.get_ref().len());
            writer.add(path, &meta, content).expect("packed");
        }
        writer.out.flush().expect("written");
        starts.push(writer.out.get_ref().len());
        (writer.finish().expect("finished"), starts)
    }

    /// The files that can be read, and the number of errors.
    fn read(pack: &[u8]) -> (Files, usize) {
        let (mut files, mut errors) = (Vec::new(), 0);
        for entry in PackReader::new(Cursor::new(pack)) {
            match entry {
                Ok(entry) => files.push((entry.path, entry.content)),
                Err(_) => errors += 1,
            }
        }
        (files, errors)
    }

    #[test]
    fn every_path_and_content_is_read_back() {
        assert_eq!(read(&pack(&files()).0), (files(), 0));
    }

    #[test]
    fn a_path_outside_the_room_is_never_written() {
        let meta = file_meta(&tempfile::tempfile().expect("a file")).expect("its metadata");
        for path in ["../x.json", "/x.json", "sent/../../x.json"] {
            let mut writer = PackWriter::new(Vec::new(), Path::new("pack")).expect("a writer");
            assert!(writer.add(Path::new(path), &meta, b"").is_err(), "{path}");
        }
    }

    #[test]
    fn a_torn_pack_is_noticed_wherever_it_ends() {
        let files = files();
        let (bytes, starts) = pack(&files);
        for end in 0..bytes.len() {
            let whole = starts[1..].iter().filter(|next| **next <= end).count();
            let (found, errors) = read(&bytes[..end]);
            assert_eq!(found, files[..whole], "{end}");
            assert!(errors > 0, "{end}");
        }
        assert!(read(&[&bytes[..], b"x"].concat()).1 > 0);
    }

    #[test]
    fn a_damaged_byte_affects_only_its_own_file() {
        let files = files();
        let (bytes, starts) = pack(&files);
        for at in 0..bytes.len() {
            let damaged = starts.iter().rposition(|start| *start <= at);
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x55;
            let (mut found, errors) = read(&bytes);
            let mut wanted = files.clone();
            // A changed byte of a table need not change the content.
            if let Some(n) = damaged.filter(|n| errors > 0 && *n < files.len()) {
                let file = wanted.remove(n);
                found.retain(|one| *one != file);
            }
            assert_eq!(found, wanted, "{at}");
        }
    }
}
