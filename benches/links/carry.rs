//! The bare copy: each file that appears in a directory is written into another one, here or at the other end of a pipe.

use anyhow::{Context, Result, bail};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

/// `carry FROM TO sync|no READY`: moves what appears in FROM to TO. If `CARRY_BY` names an SSH client, `sink` writes it at the
/// other end of one connection. If it names servers of NATS, a thread fetches it there.
pub(crate) fn carry(args: &[String]) -> Result<()> {
    let [from, to, sync, ready] = args else {
        bail!("carry: four words are wanted")
    };
    let fd = inotify::init(CreateFlags::CLOEXEC)?;
    inotify::add_watch(&fd, from, WatchFlags::MOVED_TO | WatchFlags::CLOSE_WRITE)?;
    let mut target = match std::env::var_os("CARRY_BY") {
        None => {
            File::create(ready)?;
            Target::Here(Place::new(to, sync)?)
        }
        #[cfg(feature = "nats")]
        Some(servers) if servers.to_string_lossy().starts_with("nats://") => {
            let (address, place) = (
                servers.to_string_lossy().into_owned(),
                Place::new(to, sync)?,
            );
            let (ready, from) = (ready.clone(), address.clone());
            std::thread::spawn(move || {
                let put = |bytes: &[u8]| {
                    let end = bytes
                        .iter()
                        .position(|byte| *byte == b'\n')
                        .context("a name")?;
                    place.put(std::str::from_utf8(&bytes[..end])?, &bytes[end + 1..])
                };
                let is_ready = || Ok(File::create(ready).map(drop)?);
                super::nats::fetch(&from, is_ready, put).expect("it is fetched");
            });
            Target::Servers(super::nats::publisher(address))
        }
        Some(client) => {
            let mut ssh = Command::new(client);
            ssh.args(["-T", "po.example"])
                .arg(std::env::current_exe()?)
                .args(["sink", to, sync, ready]);
            Target::There(
                ssh.stdin(Stdio::piped())
                    .spawn()?
                    .stdin
                    .take()
                    .context("a pipe")?,
            )
        }
    };
    let (from, mut names) = (Path::new(from), VecDeque::<String>::new());
    let is_mail = |name: &str| name.ends_with(".json") && !name.starts_with('.');
    names.extend(
        fs::read_dir(from)?
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| is_mail(name)),
    );
    let mut buffer = vec![MaybeUninit::uninit(); 64 << 10];
    loop {
        while let Some(name) = names.pop_front() {
            let path = from.join(&name);
            // An event may follow for a file of the listing.
            let Ok(bytes) = fs::read(&path) else { continue };
            target.put(&name, &bytes)?;
            fs::remove_file(path)?;
        }
        let mut events = inotify::Reader::new(&fd, &mut buffer);
        loop {
            let event = events.next()?;
            names.extend(
                event
                    .file_name()
                    .and_then(|name| name.to_str().ok())
                    .filter(|name| is_mail(name))
                    .map(str::to_owned),
            );
            if events.is_buffer_empty() {
                break;
            }
        }
    }
}

/// `sink TO sync|no READY`: writes the data of standard input.
pub(crate) fn sink(args: &[String]) -> Result<()> {
    let [to, sync, ready] = args else {
        bail!("sink: three words are wanted")
    };
    let (place, mut input) = (
        Place::new(to, sync)?,
        BufReader::new(std::io::stdin().lock()),
    );
    File::create(ready)?;
    let mut head = String::new();
    while input.read_line(&mut head)? > 0 {
        let (size, name) = head
            .trim_end()
            .split_once(' ')
            .context("a size and a name")?;
        let mut bytes = vec![0; size.parse()?];
        input.read_exact(&mut bytes)?;
        place.put(name, &bytes)?;
        head.clear();
    }
    Ok(())
}

enum Target {
    Here(Place),
    There(ChildStdin),
    #[cfg(feature = "nats")]
    Servers(tokio::sync::mpsc::UnboundedSender<Vec<u8>>),
}

impl Target {
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<()> {
        match self {
            Target::Here(place) => place.put(name, bytes),
            #[cfg(feature = "nats")]
            Target::Servers(publisher) => {
                Ok(publisher.send([format!("{name}\n").as_bytes(), bytes].concat())?)
            }
            Target::There(pipe) => {
                Ok(pipe
                    .write_all(&[format!("{} {name}\n", bytes.len()).as_bytes(), bytes].concat())?)
            }
        }
    }
}

/// A directory that files are copied into.
struct Place {
    path: PathBuf,
    /// Open if each file is durable before the next one.
    dir: Option<File>,
}

impl Place {
    fn new(path: &str, sync: &str) -> Result<Place> {
        let dir = (sync == "sync").then(|| File::open(path)).transpose()?;
        Ok(Place {
            path: path.into(),
            dir,
        })
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let draft = self.path.join(format!(".{name}"));
        let mut file = File::create_new(&draft)?;
        file.write_all(bytes)?;
        if self.dir.is_some() {
            file.sync_all()?;
        }
        drop(file);
        // The bare copy of a dropped file has the name of a delivered one.
        let to = if name.contains("-m") {
            name.to_owned()
        } else {
            format!("x-m{name}")
        };
        fs::rename(draft, self.path.join(to))?;
        self.dir.as_ref().map_or(Ok(()), |dir| Ok(dir.sync_all()?))
    }
}
