//! The cost of each command in rooms of several sizes: by messages, by agents, and by unread messages.

use crate::finding::make::{self, agent};
use crate::harness::child::{Programs, Side, Usage};
use crate::harness::cleanup::{self, Undo};
use crate::harness::report::median;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const HELP: &str = "\
cargo bench --bench router -- growth-commands [OPTION…]

Prints the processor time of each command, in ms, as the median of several runs,
in rooms of several sizes, and the ratio of the largest room to the smallest.

  --messages N,N     sizes by messages (1000,10000,100000,1000000)
  --agents N,N       sizes by agents (10,1000,10000)
  --unread N,N       sizes by unread messages of one agent (10,100000)
  --only TEXT        measure only commands with this text
  --runs N           runs of each command (5)
  --dir DIR          place of the rooms, which stay there and are used again
  --mailbag PATH     measure this binary; repeatable: each gets rooms of its own,
                     and they run in turn
  --help             print this, and end
";

/// The messages of a room that is measured by its agents.
const MESSAGES_BESIDE: u64 = 1_000;
/// The agents of a room that is measured by its messages.
const AGENTS_BESIDE: u64 = 50;

struct Options {
    messages: Vec<u64>,
    agents: Vec<u64>,
    unread: Vec<u64>,
    only: String,
    runs: usize,
    dir: Option<PathBuf>,
    programs: Vec<PathBuf>,
}

/// The rooms of a table.
struct Rooms<'a> {
    by: &'a str,
    sizes: &'a [u64],
    has_router: bool,
    make: fn(&Bench, u64) -> Result<Sized>,
}

/// A room, and an old message in it.
struct Sized {
    path: PathBuf,
    old: OldMessage,
}

/// A message near the beginning of the log.
#[derive(Clone, Default)]
struct OldMessage {
    seq: String,
    id: String,
    from: String,
    to: String,
}

/// A command with its arguments and its standard input.
struct Case {
    name: &'static str,
    words: Vec<String>,
    input: Option<String>,
}

/// Prints the tables.
pub(crate) fn main(args: &[String]) -> Result<()> {
    let Some(options) = Options::parse(args)? else {
        print!("{HELP}");
        return Ok(());
    };
    let _guard = cleanup::Guard::new()?;
    let work =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("growth-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    cleanup::remember(Undo::Remove(work.clone()));
    let dir = options.dir.clone().unwrap_or_else(|| work.join("rooms"));
    let mut benches = Vec::new();
    for (number, mailbag) in options.programs.iter().enumerate() {
        benches.push(Bench {
            programs: Programs {
                mailbag: mailbag.clone(),
                floor_options: Vec::new(),
                own: std::env::current_exe()?,
                said: work.join(format!("said-{number}")),
            },
            dir: dir.join(number.to_string()),
        });
    }
    for has_router in [false, true] {
        options.by_messages(&benches, has_router)?;
        options.by_agents(&benches, has_router)?;
    }
    options.by_unread(&benches)
}

impl Options {
    /// `None` if help is requested.
    fn parse(args: &[String]) -> Result<Option<Options>> {
        let mut options = Options {
            messages: vec![1_000, 10_000, 100_000, 1_000_000],
            agents: vec![10, 1_000, 10_000],
            unread: vec![10, 100_000],
            only: String::new(),
            runs: 5,
            dir: None,
            programs: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            if ["--help", "-h"].contains(&arg.as_str()) {
                return Ok(None);
            }
            // Cargo adds this to every benchmark's arguments.
            if arg == "--bench" {
                continue;
            }
            let value = args.next().with_context(|| format!("{arg} VALUE"))?;
            match arg.as_str() {
                "--messages" => options.messages = numbers(value)?,
                "--agents" => options.agents = numbers(value)?,
                "--unread" => options.unread = numbers(value)?,
                "--only" => options.only.clone_from(value),
                "--runs" => options.runs = value.parse()?,
                "--dir" => options.dir = Some(std::path::absolute(value)?),
                "--mailbag" => options.programs.push(std::path::absolute(value)?),
                other => bail!("{other}? See --help."),
            }
        }
        if options.programs.is_empty() {
            options
                .programs
                .push(PathBuf::from(env!("CARGO_BIN_EXE_mailbag")));
        }
        Ok(Some(options))
    }

    fn by_messages(&self, benches: &[Bench], has_router: bool) -> Result<()> {
        let rooms = Rooms {
            by: "messages",
            sizes: &self.messages,
            has_router,
            make: |bench, size| bench.room(size, AGENTS_BESIDE),
        };
        self.table(benches, &rooms, by_messages)
    }

    fn by_agents(&self, benches: &[Bench], has_router: bool) -> Result<()> {
        let rooms = Rooms {
            by: "agents",
            sizes: &self.agents,
            has_router,
            make: |bench, size| bench.room(MESSAGES_BESIDE, size),
        };
        self.table(benches, &rooms, by_agents)
    }

    fn by_unread(&self, benches: &[Bench]) -> Result<()> {
        let rooms = Rooms {
            by: "unread messages",
            sizes: &self.unread,
            has_router: false,
            make: Bench::room_with_unread,
        };
        self.table(benches, &rooms, by_unread)
    }

    fn table(
        &self,
        benches: &[Bench],
        kind: &Rooms<'_>,
        cases: fn(&OldMessage) -> Vec<Case>,
    ) -> Result<()> {
        if kind.sizes.is_empty() {
            return Ok(());
        }
        let mut rooms = Vec::new();
        for bench in benches {
            let mut of_bench = Vec::new();
            for &size in kind.sizes {
                of_bench.push((kind.make)(bench, size)?);
            }
            rooms.push(of_bench);
        }
        let mut routers = Vec::new();
        if kind.has_router {
            for (bench, rooms) in benches.iter().zip(&rooms) {
                for room in rooms {
                    routers.push(bench.start_router(room)?);
                }
            }
        }
        print_head(kind, benches.len());
        for (number, case) in cases(&OldMessage::default()).iter().enumerate() {
            if !case.name.contains(&self.only) {
                continue;
            }
            let mut row = format!("| {} |", case.name);
            for cells in self.measure(benches, &rooms, |old| cases(old).swap_remove(number))? {
                row += &cells;
            }
            println!("{row}");
        }
        for router in routers {
            router.stop()?;
        }
        Ok(())
    }

    /// The cells of a row for each program, which run in turn.
    fn measure(
        &self,
        benches: &[Bench],
        rooms: &[Vec<Sized>],
        case: impl Fn(&OldMessage) -> Case,
    ) -> Result<Vec<String>> {
        let mut usages: Vec<Vec<Vec<Usage>>> = rooms
            .iter()
            .map(|rooms| rooms.iter().map(|_| Vec::new()).collect())
            .collect();
        // The first run only warms up.
        for run in 0..=self.runs {
            for (program, bench) in benches.iter().enumerate() {
                for (place, room) in rooms[program].iter().enumerate() {
                    let case = case(&room.old);
                    let usage = bench.run(&case, &room.path).context(case.name)?;
                    if run > 0 {
                        usages[program][place].push(usage);
                    }
                }
            }
        }
        Ok(usages.iter().map(|usages| cells(usages)).collect())
    }
}

struct Bench {
    programs: Programs,
    dir: PathBuf,
}

impl Bench {
    fn room(&self, messages: u64, agents: u64) -> Result<Sized> {
        let path = self.dir.join(format!("{messages}-{agents}"));
        if !path.join("registry.json").exists() {
            make::room(&path, messages, agents, MESSAGES_BESIDE)?;
            self.prepare(&path)?;
        }
        Ok(Sized {
            old: OldMessage::find(&path)?,
            path,
        })
    }

    /// A room with this many unread messages of one agent.
    fn room_with_unread(&self, unread: u64) -> Result<Sized> {
        let path = self.dir.join(format!("unread-{unread}"));
        if !path.join("registry.json").exists() {
            make::room(&path, MESSAGES_BESIDE, AGENTS_BESIDE, MESSAGES_BESIDE)?;
            self.prepare(&path)?;
            let outbox = path.join("outbox").join(agent(1));
            for file in 0..unread.div_ceil(1_000) {
                let lines = (file * 1_000..unread.min((file + 1) * 1_000)).map(|number| {
                    let message = json!({"id": format!("u{number:06}"), "to": agent(2), "body": "The build is done."});
                    format!("{message}\n")
                });
                fs::write(
                    outbox.join(format!("{file:06}.ndjson")),
                    lines.collect::<String>(),
                )?;
            }
            self.prepare(&path)?;
        }
        Ok(Sized {
            path,
            old: OldMessage::default(),
        })
    }

    /// Lets a router make its files.
    fn prepare(&self, room: &Path) -> Result<()> {
        fs::write(
            room.join("settings.toml"),
            "budget.messages = 1000000\nbudget.copies = 1000000\n",
        )?;
        let router = self.programs.router(Side::Mailbag, room, true);
        self.programs.start(router)?.wait().context("preparing")?;
        Ok(())
    }

    fn start_router(&self, room: &Sized) -> Result<crate::harness::child::Running> {
        let router = self.programs.router(Side::Mailbag, &room.path, false);
        Ok(self.programs.start_ready(router)?.0)
    }

    fn run(&self, case: &Case, room: &Path) -> Result<Usage> {
        let words: Vec<&str> = case.words.iter().map(String::as_str).collect();
        let mut command = self.programs.mailbag(&words);
        command.arg("--room").arg(room);
        let input = match &case.input {
            Some(text) => {
                let path = self.programs.said.with_extension("input");
                fs::write(&path, text)?;
                Stdio::from(File::open(path)?)
            }
            None => Stdio::null(),
        };
        self.programs.start_on(command, input)?.wait()
    }
}

impl OldMessage {
    /// An early message with one recipient.
    fn find(room: &Path) -> Result<OldMessage> {
        let log = BufReader::new(File::open(room.join("log/00000001.ndjson"))?);
        for line in log.lines().skip(20) {
            let line: Value = serde_json::from_str(&line?)?;
            let message = &line["event"]["accepted"]["message"];
            let text = |field: &str| message[field].as_str().unwrap_or_default().to_owned();
            let (from, to) = (&message["from"], &message["to"]);
            if let (Some(from), Some(to)) = (from.as_str(), to.as_str())
                && from != to
            {
                return Ok(OldMessage {
                    seq: line["seq"].to_string(),
                    id: text("id"),
                    from: from.to_owned(),
                    to: to.to_owned(),
                });
            }
        }
        bail!("no message with one recipient in {}", room.display())
    }
}

fn case(name: &'static str, words: &[&str]) -> Case {
    Case {
        name,
        words: words.iter().map(|&word| word.to_owned()).collect(),
        input: None,
    }
}

fn hook(name: &'static str, event: &str) -> Case {
    let input = json!({"session_id": "s1", "cwd": "/", "hook_event_name": event, "prompt": "go on", "source": "startup"});
    Case {
        input: Some(input.to_string()),
        ..case(name, &["hook", "claude", "--as", &agent(1)])
    }
}

fn mcp() -> Case {
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
    ];
    Case {
        input: Some(lines.map(|line| format!("{line}\n")).concat()),
        ..case("mcp start", &["mcp"])
    }
}

fn by_messages(old: &OldMessage) -> Vec<Case> {
    let (one, two) = (agent(1), agent(2));
    let OldMessage { seq, id, from, to } = old;
    let full = format!("{from}/{id}");
    vec![
        case("send", &["send", &two, "hi", "--as", &one]),
        case("inbox", &["inbox", &two]),
        case("read", &["read", "--as", &two]),
        case("claims", &["claims"]),
        case("who", &["who"]),
        case("status", &["status"]),
        case("pending", &["pending", "--as", "human"]),
        case("context", &["context", "--as", &one]),
        case("trace, by number", &["trace", seq]),
        case("trace, by id", &["trace", &full]),
        case("thread, by number", &["thread", seq]),
        case("thread, by id", &["thread", &full]),
        case("reply, by number", &["reply", seq, "yes", "--as", to]),
        case("reply, by id", &["reply", &full, "yes", "--as", to]),
        case("ack, by number", &["ack", seq, "--as", to]),
        case("ack, by id", &["ack", &full, "--as", to]),
        case("read, by number", &["read", seq, "--as", to]),
        case("who --channel", &["who", "--channel"]),
        case("list --events", &["list", "--events", "--since", "1h"]),
        case("log head", &["log", "head"]),
        case("list --last 20", &["list", "--last", "20"]),
        mcp(),
        hook("session-start hook", "SessionStart"),
        hook("prompt hook", "UserPromptSubmit"),
        case("agent list", &["agent", "list"]),
        case("doctor", &["doctor", "--json"]),
    ]
}

fn by_agents(_: &OldMessage) -> Vec<Case> {
    let (one, two) = (agent(1), agent(2));
    vec![
        case("send", &["send", &two, "hi", "--as", &one]),
        case(
            "send --dry-run",
            &["send", &two, "hi", "--as", &one, "--dry-run"],
        ),
        case("inbox", &["inbox", &two]),
        case("read", &["read", "--as", &two]),
        hook("prompt hook", "UserPromptSubmit"),
        hook("session-start hook", "SessionStart"),
        case("claims", &["claims"]),
        case("pending", &["pending", "--as", "human"]),
        case("status", &["status"]),
        case("who", &["who"]),
        case("context", &["context", "--as", &one]),
        mcp(),
    ]
}

fn by_unread(_: &OldMessage) -> Vec<Case> {
    let (one, two) = (agent(1), agent(2));
    vec![
        case("send", &["send", &two, "hi", "--as", &one]),
        case("inbox", &["inbox", &two]),
        case("read", &["read", "--as", &two]),
        case(
            "read, by id",
            &["read", &format!("{one}/u000009"), "--as", &two],
        ),
        case(
            "wait --timeout 0",
            &["wait", "--timeout", "0", "--as", &two],
        ),
        case("status", &["status"]),
        hook("prompt hook", "UserPromptSubmit"),
    ]
}

fn cells(usages: &[Vec<Usage>]) -> String {
    let of = |usages: &[Usage], value: fn(&Usage) -> f64| {
        median(usages.iter().map(value).collect()).unwrap_or_default()
    };
    let times: Vec<f64> = usages.iter().map(|usages| of(usages, millis)).collect();
    let (first, last) = (times[0], times[times.len() - 1]);
    let peak = of(&usages[usages.len() - 1], |usage| {
        usage.peak as f64 / f64::from(1 << 20)
    });
    let shown: Vec<String> = times.iter().map(|time| format!("{time:.1}")).collect();
    format!(
        " {} | {:.2} | {peak:.0} |",
        shown.join(" / "),
        last / first.max(0.001)
    )
}

fn print_head(kind: &Rooms<'_>, programs: usize) {
    let router = if kind.has_router {
        "with a router"
    } else {
        "no router"
    };
    let title = format!("{}, {router}", kind.by);
    let shown: Vec<String> = kind.sizes.iter().map(u64::to_string).collect();
    let columns = format!(" {} | ratio | peak MiB |", shown.join(" / "));
    println!("\n| {title} |{}", columns.repeat(programs));
    println!("|---|{}", "---|---|---|".repeat(programs));
}

fn numbers(text: &str) -> Result<Vec<u64>> {
    let parts = text.split(',').filter(|part| !part.is_empty());
    Ok(parts.map(str::parse).collect::<Result<_, _>>()?)
}

fn millis(usage: &Usage) -> f64 {
    (usage.user + usage.system).as_secs_f64() * 1e3
}
