//! Finding mail in a large log, and starting on it, beside a plain search of the same bytes.

pub(crate) mod make;
mod measure;

use crate::harness::child::Programs;
use crate::harness::cleanup::{self, Undo};
use anyhow::{Context, Result, bail};
use measure::Bench;
use std::fs;
use std::path::PathBuf;

/// The agents of the room.
const AGENTS: u64 = 50;

const HELP: &str = "\
cargo bench --bench router -- finding [OPTION…]

Makes a room with a large log, and measures what looks through it, side by side
with rg (or grep, where there is no rg) over the same bytes.

  --messages N       how many messages the log has (1000000)
  --room DIR         where the room goes, and stays; one that is there is used
  --pairs N          pairs of runs a case (5)
  --mailbag PATH     measure this binary instead of the one just built
  --help             print this, and end
";

/// Measures the requested cases.
pub(crate) fn main(args: &[String]) -> Result<()> {
    let (mut messages, mut pairs, mut kept) = (1_000_000, 5, None);
    let mut mailbag = PathBuf::from(env!("CARGO_BIN_EXE_mailbag"));
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            // Cargo adds this to every benchmark's arguments.
            "--bench" => {}
            "--messages" => messages = args.next().context("--messages N")?.parse()?,
            "--pairs" => pairs = args.next().context("--pairs N")?.parse()?,
            "--room" => kept = Some(std::path::absolute(args.next().context("--room DIR")?)?),
            "--mailbag" => mailbag = std::path::absolute(args.next().context("--mailbag PATH")?)?,
            "--help" | "-h" => {
                print!("{HELP}");
                return Ok(());
            }
            other => bail!("{other}? See --help."),
        }
    }
    let _guard = cleanup::Guard::new()?;
    let work =
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("finding-{}", std::process::id()));
    fs::create_dir_all(&work)?;
    cleanup::remember(Undo::Remove(work.clone()));
    let room = kept.unwrap_or_else(|| work.join("room"));
    if !room.join("registry.json").exists() {
        println!(
            "making a log of {messages} messages in {} …",
            room.display()
        );
        make::room(&room, messages, AGENTS, messages)?;
    }
    let programs = Programs {
        mailbag,
        floor_options: Vec::new(),
        own: std::env::current_exe()?,
        said: work.join("said"),
    };
    Bench::new(programs, room, pairs)?.run()
}
