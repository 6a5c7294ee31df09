//! A room full of agents around the router: they drop their letters, take their mail, and in the end count it.
//!
//! All of it through plain files, as any agent would; only the router is the real program.

use crate::world::lossy;
use super::calls::Call;
use super::ledger::{Figures, Ledger};
use super::letters::{AGENTS, HEIR, LATE, Letter, WAVES, WRITER_OF_LINES, letters};
pub(crate) use super::setting::{BATCH_COPIES, RECEIPTS_OF_RECORD, STAGE_MS, Setting};
use super::{entries, originals, ptrace, receipts, relations, shown};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_mailbag");
/// A run without a tracer ends in milliseconds; one that doesn't is hung.
const HUNG: Duration = Duration::from_secs(60);
/// The number of clean runs that must be enough.
const RUNS: usize = 8;
/// The recipients take their mail at every 41st call of the router …
const TAKE_EVERY: usize = 41;
/// … at every so manieth they sync their inboxes, where they do …
const SYNC_EVERY: usize = 7;
/// … and at every so manieth the next wave of letters comes.
const WAVE_EVERY: usize = 100;
/// In front of every file that its sender has not dropped yet; the router leaves names with a dot alone.
const DRAFT: &str = ".draft-";

/// The room, its agents, and their mail.
pub(crate) struct World {
    room: PathBuf,
    log: PathBuf,
    setting: Setting,
    letters: Vec<Letter>,
    ledger: Ledger,
    figures: Figures,
    wave: usize,
    calls: usize,
    stays: bool,
    joined: bool,
    squatted: usize,
    /// The power is back, and no router has started yet.
    dark: bool,
    /// The last record that the router acknowledged, and the last one in the log when the power went.
    acknowledged: u64,
    appended: u64,
}

impl World {
    /// A room in the new directory `room`, with the first wave of letters in the outboxes.
    pub(crate) fn new(room: &Path, setting: Setting) -> io::Result<World> {
        let mut letters = letters(setting.seed, setting.late.then_some(WAVES).or(setting.joins.then_some(0)));
        letters.retain(|letter| !setting.archives || !letter.recipients.is_empty());
        if setting.env.iter().any(|(name, _)| *name == STAGE_MS) {
            // Only the last file of a sender is left to a later batch.
            letters.retain(|letter| letter.sender != WRITER_OF_LINES || !letter.recipients.is_empty());
        }
        if setting.unordered {
            // Where a name is used again, the second use would have to be undone together with the first.
            for (n, letter) in letters.iter_mut().enumerate() {
                letter.file = format!("note-{n}.{}", if letter.file.ends_with(".ndjson") { "ndjson" } else { "json" });
            }
        }
        let mut world = World {
            room: room.to_path_buf(),
            log: room.join("log"),
            setting,
            letters,
            ledger: Ledger::default(),
            figures: Figures::default(),
            wave: 0,
            calls: 0,
            stays: false,
            joined: false,
            squatted: 0,
            dark: false,
            acknowledged: 0,
            appended: 0,
        };
        if world.setting.worklog {
            entries::remove(room)?;
            fs::create_dir_all(room)?;
            fs::write(room.join("settings.toml"), "worklog = true\nmailbox = true\n")?;
        }
        let made = world.finish(Command::new(PROGRAM).arg("init").arg(room))?;
        if !made.status.success() {
            return Err(io::Error::other(format!("mailbag init: {}", lossy(&made.stderr))));
        }
        world.register(false)?;
        for (agent, _) in AGENTS.iter().chain(world.setting.late.then_some(&(LATE, None))).chain(world.setting.joins.then_some(&(LATE, None))) {
            fs::create_dir_all(room.join("outbox").join(agent))?;
            fs::create_dir_all(room.join("inbox").join(agent).join("seen"))?;
        }
        for (n, letter) in world.letters.iter().enumerate().filter(|(_, letter)| !letter.rides) {
            fs::write(world.draft(n, letter), &letter.bytes)?;
        }
        world.drop_letters()?;
        world.sync()?;
        Ok(world)
    }

    /// The router that the sweep disturbs.
    pub(crate) fn command(&mut self) -> Command {
        self.stays = self.setting.stays && self.calls == 0;
        if self.stays { self.program(&["run"]) } else { self.program(&["run", "--once"]) }
    }

    /// The program in this room.
    pub(crate) fn program(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).arg("--room").arg(&self.room);
        command.envs(self.setting.env.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn room(&self) -> &Path {
        &self.room
    }

    /// The directory with everything that the router writes.
    pub(crate) fn written(&self) -> &Path {
        let above = self.room.parent().filter(|_| self.setting.worklog);
        above.unwrap_or(&self.room)
    }

    /// Returns true if the sweep undoes calls of the router.
    pub(crate) fn is_undone(&self) -> bool {
        self.setting.unordered
    }

    /// Writes the registry as a careful editor does: beside it, then over it.
    fn register(&self, late: bool) -> io::Result<()> {
        let mut agents: Vec<_> = AGENTS.iter().map(|(id, role)| json!({"id": id, "role": role})).collect();
        agents.iter_mut().filter(|agent| agent["role"].is_null()).for_each(|agent| {
            agent.as_object_mut().and_then(|agent| agent.remove("role"));
        });
        if late != self.setting.joins {
            agents.push(json!({"id": LATE, "role": "newcomer"}));
        }
        agents.extend(self.setting.joins.then(|| json!({"id": HEIR})));
        let aliases = if late && self.setting.joins { json!({LATE: HEIR}) } else { json!({}) };
        let beside = self.room.join(".registry.json.editing");
        fs::write(&beside, serde_json::to_vec_pretty(&json!({"agents": agents, "aliases": aliases}))?)?;
        if self.setting.power {
            File::open(&beside)?.sync_all()?;
        }
        fs::rename(beside, self.room.join("registry.json"))
    }

    fn draft(&self, n: usize, letter: &Letter) -> PathBuf {
        self.room.join("outbox").join(letter.sender).join(format!("{DRAFT}{n}"))
    }

    /// All agents drop their due letters. If a name is still in use, its letter waits.
    fn drop_letters(&mut self) -> io::Result<()> {
        for (n, letter) in self.letters.iter().enumerate().filter(|(_, letter)| letter.wave <= self.wave) {
            let draft = self.draft(n, letter);
            let dropped = draft.with_file_name(&letter.file);
            if !draft.exists() || dropped.exists() {
                continue;
            }
            if self.setting.power || n % 3 > 0 {
                fs::rename(draft, dropped)?;
            } else {
                fs::write(dropped, &letter.bytes)?;
                fs::remove_file(draft)?;
            }
        }
        Ok(())
    }

    /// The next wave comes, and with the second the newcomer.
    fn next_wave(&mut self) -> io::Result<()> {
        self.wave = (self.wave + 1).min(WAVES);
        // A power cut may have undone a change of the registry.
        let is_new = !self.joined || self.setting.joins && self.setting.power;
        if (self.setting.late || self.setting.joins) && is_new && self.wave >= 2 {
            self.joined = true;
            self.register(true)?;
        }
        self.drop_letters()
    }

    /// All agents take their mail: some read it and delete it, some move it to `seen/`.
    fn collect(&mut self) -> io::Result<()> {
        if self.dark {
            return Ok(());
        }
        let reader = if self.setting.joins { HEIR } else { LATE };
        for (n, (agent, _)) in AGENTS.iter().chain([&(reader, None)]).enumerate() {
            let inbox = self.room.join("inbox").join(agent);
            for name in names(&inbox)? {
                let (from, Some(shown)) = (inbox.join(&name), name.to_str()) else { continue };
                if !shown.ends_with(".json") {
                    continue;
                }
                let bytes = fs::read(&from)?;
                if bytes == SQUATTER {
                    self.squatted -= 1;
                } else if *agent == HEIR {
                    let text = lossy(&bytes).replace("\"to\": \"heir\"", "\"to\": \"late\"");
                    self.ledger.take(LATE, shown, text.into_bytes());
                } else {
                    self.ledger.take(agent, shown, bytes);
                }
                if n % 2 == 0 {
                    fs::remove_file(from)?;
                } else {
                    fs::rename(from, inbox.join("seen").join(&name))?;
                }
            }
        }
        Ok(())
    }

    /// The actions of agents while the router is stopped at the entry of this call.
    pub(crate) fn act(&mut self, call: &Call) {
        if let Err(error) = self.try_to_act(call) {
            self.figures.damaged(format!("the agents can't work: {error}"));
        }
    }

    /// The same where the disk may be broken, which agents hear of by errors of their own.
    pub(crate) fn try_to_act(&mut self, call: &Call) -> io::Result<()> {
        self.calls += 1;
        self.acknowledged = self.acknowledged.max(acknowledged(&self.room));
        let mut done = Ok(());
        if self.setting.syncs_inboxes && self.calls.is_multiple_of(SYNC_EVERY) {
            done = done.and(self.sync_inboxes());
        }
        if self.calls.is_multiple_of(TAKE_EVERY) {
            done = done.and(self.collect());
        }
        if self.calls.is_multiple_of(WAVE_EVERY) {
            done = done.and(self.next_wave());
        }
        if self.setting.squatters {
            done = done.and(self.squat(call));
        }
        // An idle router writes receipts or the roster. After a batch of duplicates it only touches its lock.
        let is_roster = |path: &PathBuf| path.to_string_lossy().contains("roster.json");
        if self.stays && call.paths.iter().any(|path| path.starts_with(&self.log) || is_roster(path) || path.ends_with("spool/lock")) {
            done = done.and(self.end_when_done(call));
        }
        done
    }

    /// When nothing waits, the router is idle: on with the next wave, or the end.
    fn end_when_done(&mut self, call: &Call) -> io::Result<()> {
        let waits = |left: Vec<String>| left.iter().any(|path| !path.contains(DRAFT));
        if waits(self.left_over()?) {
            return Ok(());
        }
        self.next_wave()?;
        if self.wave == WAVES && !waits(self.left_over()?) {
            // Only once: a second signal would not let it end cleanly.
            self.stays = false;
            ptrace::end(call.thread);
        }
        Ok(())
    }

    /// Puts a file where every seventh delivery is about to go.
    fn squat(&mut self, call: &Call) -> io::Result<()> {
        let ([_, to], true) = (&*call.paths, call.name.starts_with("rename")) else { return Ok(()) };
        if !to.starts_with(self.room.join("inbox")) || !self.calls.is_multiple_of(7) || to.exists() {
            return Ok(());
        }
        self.squatted += 1;
        fs::write(to, SQUATTER)
    }

    /// The agents continue between two runs, and with `sync` all their changes become durable.
    pub(crate) fn between(&mut self, sync: bool) -> io::Result<()> {
        receipts::check(&self.room, &mut self.figures)?;
        self.collect()?;
        self.next_wave()?;
        if sync { self.sync() } else { Ok(()) }
    }

    fn sync_inboxes(&self) -> io::Result<()> {
        AGENTS.iter().try_for_each(|(agent, _)| File::open(self.room.join("inbox").join(agent))?.sync_all())
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.setting.power {
            rustix::fs::syncfs(File::open(&self.room)?)?;
            self.ledger.firm();
        }
        Ok(())
    }

    /// The power went, and is back.
    pub(crate) fn power_went(&mut self) {
        self.ledger.power_went();
        self.dark = self.setting.waits_for_router;
    }

    /// The power is about to go.
    pub(crate) fn note_appended(&mut self) -> io::Result<()> {
        self.appended = recorded(&self.log)?.last().copied().unwrap_or_default();
        Ok(())
    }

    /// Each record that the router acknowledged before the cut is in the log. To be called before a router starts again.
    pub(crate) fn check_acknowledged(&mut self) -> io::Result<()> {
        if self.setting.archives {
            return Ok(());
        }
        let last = recorded(&self.log)?.last().copied().unwrap_or_default();
        if last < self.acknowledged {
            self.figures.lost(format!("record {} was acknowledged before the cut, and the log ends with {last}", self.acknowledged));
        }
        self.figures.in_flight += usize::from(last < self.appended && last >= self.acknowledged);
        (self.acknowledged, self.appended) = (last, last);
        Ok(())
    }

    /// Each copy that a recipient took or can see is whole, and the log has its record. To be called before a router
    /// starts again.
    pub(crate) fn check_seen(&mut self) -> io::Result<()> {
        if self.setting.archives {
            return Ok(());
        }
        let mut seen = self.ledger.copies();
        for agent in names(&self.room.join("inbox"))? {
            for file in files(&self.room.join("inbox").join(agent))? {
                let bytes = fs::read(&file)?;
                if bytes != SQUATTER {
                    seen.push((file.display().to_string(), bytes));
                }
            }
        }
        let recorded = recorded(&self.log)?;
        for (name, bytes) in seen {
            let copy: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            match copy["delivery"]["seq"].as_u64() {
                None => self.figures.damaged(format!("{name} is visible after the cut with {} bytes", bytes.len())),
                Some(seq) if !recorded.contains(&seq) => {
                    self.figures.damaged(format!("{name} was visible, and its record {seq} is gone"));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// The progress of the agents and the waiting files, for the report about a router that does not end.
    pub(crate) fn stands(&self) -> String {
        let waits = self.left_over().map_or_else(|e| e.to_string(), |left| left.join(" "));
        format!("after wave {} of {WAVES}, {} calls and {waits:?}", self.wave, self.calls)
    }

    /// Something that a sweep saw going wrong.
    pub(crate) fn complain(&mut self, what: String) {
        self.figures.damaged(what);
    }

    /// Runs the router without disturbance until it has no work.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        while self.wave < WAVES {
            self.next_wave()?;
        }
        for _ in 0..RUNS {
            self.between(true)?;
            let (taken, waiting) = (self.ledger.len(), self.left_over()?);
            let run = self.finish(&mut self.program(&["run", "--once"]))?;
            self.dark = false;
            if !run.status.success() {
                self.complain(format!("a clean run: {}, {}", run.status, lossy(&run.stderr)));
            }
            self.collect()?;
            if self.ledger.len() == taken && waiting.is_empty() && self.left_over()?.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Counts everything: to be called after [`World::settle`].
    pub(crate) fn figures(&mut self) -> io::Result<Figures> {
        let mut figures = self.figures.clone();
        figures.add(self.ledger.figures(&self.letters));
        self.left_over()?.into_iter().for_each(|path| figures.left_over(path));
        figures.set_aside += self.quarantined()?.iter().filter(|path| self.is_rightly_set_aside(path)).count();
        let verified = self.finish(&mut self.program(&["log", "verify"]))?;
        if !verified.status.success() {
            let what = format!("{}{}", lossy(&verified.stdout), lossy(&verified.stderr));
            figures.damaged(format!("log verify: {what}"));
        }
        for _ in 0..self.squatted {
            figures.lost("a file that somebody else had put into an inbox".into());
        }
        originals::check(&self.room, &self.letters, &mut figures)?;
        shown::check(&self.room, &self.letters, &self.setting, &mut figures)?;
        relations::check(&self.room, &self.setting, &mut figures)?;
        if self.setting.worklog {
            entries::check(&self.room, &self.letters, || self.finish(&mut self.program(&["run", "--once"])).map(drop), &mut figures)?;
        }
        Ok(figures)
    }

    /// Files that should have gone somewhere.
    fn left_over(&self) -> io::Result<Vec<String>> {
        let mut left = Vec::new();
        for directory in ["outbox", "rejected"] {
            for agent in names(&self.room.join(directory))? {
                left.extend(files(&self.room.join(directory).join(agent))?);
            }
        }
        let unread = if self.setting.joins { "inbox/late" } else { "spool/claim" };
        for directory in ["spool/claim", "spool/stage", unread] {
            left.extend(files(&self.room.join(directory))?);
        }
        left.extend(self.quarantined()?.into_iter().filter(|path| !self.is_rightly_set_aside(path)));
        Ok(left.iter().map(|path| path.strip_prefix(&self.room).unwrap_or(path).display().to_string()).collect())
    }

    fn quarantined(&self) -> io::Result<Vec<PathBuf>> {
        files(&self.room.join("spool/quarantine"))
    }

    fn is_rightly_set_aside(&self, path: &Path) -> bool {
        let torn = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("log-"));
        torn || self.setting.unordered
    }

    fn finish(&self, command: &mut Command) -> io::Result<Output> {
        let mut timed = assert_cmd::Command::new(command.get_program());
        timed.args(command.get_args()).envs(self.setting.env.iter().map(|(name, value)| (name, value)));
        timed.timeout(HUNG).output()
    }
}

/// The last record that readers count as committed, by the router's note.
fn acknowledged(room: &Path) -> u64 {
    let note = fs::read_to_string(room.join("spool/committed")).unwrap_or_default();
    let words: Vec<&str> = note.split_ascii_whitespace().collect();
    // A note that is written twice is complete.
    let is_complete = words.len() == 14 && words[..7] == words[7..];
    if is_complete { words[3].parse().unwrap_or_default() } else { 0 }
}

/// The numbers of the records in the log.
fn recorded(log: &Path) -> io::Result<BTreeSet<u64>> {
    let mut seqs = BTreeSet::new();
    for segment in files(log)? {
        let text = fs::read(segment)?;
        let lines = text.split(|byte| *byte == b'\n');
        seqs.extend(lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok()?["seq"].as_u64()));
    }
    Ok(seqs)
}

/// The content of a squatter's file.
const SQUATTER: &[u8] = b"{\"mine\": true}\n";

/// The names in a directory, in order. None if the directory does not exist.
fn names(directory: &Path) -> io::Result<Vec<std::ffi::OsString>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// The files in a directory, drafts included: they are letters that were never dropped.
pub(crate) fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = names(directory)?.into_iter().map(|name| directory.join(name));
    Ok(paths.filter(|path| path.is_file()).collect())
}
