//! The cases: the query of mailbag, the plain search beside it, and a check that both have found
//! matches.

use super::make::{RARE, agent};
use crate::harness::child::{Programs, Usage};
use crate::harness::report::{Row, Target, median};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The inputs of the runs.
pub(super) struct Bench {
    programs: Programs,
    room: PathBuf,
    pairs: usize,
    plain: &'static str,
}

/// A question, asked in both ways.
struct Case {
    name: String,
    mailbag: Vec<String>,
    /// The pattern that the plain search gets, and whether it is a fixed text.
    plain: (String, bool),
    target: Option<Target>,
}

impl Bench {
    pub(super) fn new(programs: Programs, room: PathBuf, pairs: usize) -> Result<Bench> {
        let has_rg = Command::new("rg")
            .arg("--version")
            .output()
            .is_ok_and(|output| output.status.success());
        Ok(Bench {
            programs,
            room,
            pairs,
            plain: if has_rg { "rg" } else { "grep" },
        })
    }

    pub(super) fn run(&self) -> Result<()> {
        let bytes = self.log_bytes()?;
        println!(
            "processors  {}",
            std::thread::available_parallelism().map_or(0, usize::from)
        );
        println!(
            "load        {} (before)",
            fs::read_to_string("/proc/loadavg")
                .unwrap_or_default()
                .trim()
        );
        println!(
            "log         {} MiB, {} segments",
            bytes >> 20,
            fs::read_dir(self.room.join("log"))?.count()
        );
        println!("beside      {} over the same bytes; both warm", self.plain);
        println!(
            "\n{:<48} {:<24} {:>10} {:>10} {:>6} {:<11} {:<15} verdict",
            "case", "metric", self.plain, "mailbag", "ratio", "lowest-high", "target"
        );
        for case in self.cases()? {
            self.measure(&case)?;
        }
        self.starts()
    }

    fn cases(&self) -> Result<Vec<Case>> {
        let (thread, message, seq) = self.a_thread()?;
        let words = |words: &[&str]| {
            words
                .iter()
                .map(|&word| word.to_owned())
                .collect::<Vec<_>>()
        };
        let case = |name: &str, mailbag: &[&str], plain: &str, fixed: bool, target| Case {
            name: name.to_owned(),
            mailbag: words(mailbag),
            plain: (plain.to_owned(), fixed),
            target,
        };
        let hour = hour_of(&self.last_time()?);
        let twice = Some(Target::RatioAtMost(2.0));
        let own = agent(7);
        Ok(vec![
            case(
                "list --since 1h",
                &["list", "--since", "1h"],
                &hour,
                true,
                Some(Target::AtMost(50.0)),
            ),
            case(
                "list --last 20",
                &["list", "--last", "20"],
                &hour,
                true,
                None,
            ),
            case(
                "list --from A --type question",
                &["list", "--from", &own, "--type", "question"],
                &own,
                true,
                None,
            ),
            case(
                "thread, by its name",
                &["thread", &thread],
                &thread,
                true,
                twice,
            ),
            case(
                "thread, by a message in it",
                &["thread", &message],
                &thread,
                true,
                twice,
            ),
            case("thread, by a seq", &["thread", &seq], &thread, true, twice),
            case(
                "search, a rare text",
                &["search", "--regex", RARE],
                RARE,
                true,
                twice,
            ),
            case(
                "search -i, a rare text",
                &["search", "--regex", "-i", RARE],
                &format!("(?i){RARE}"),
                false,
                twice,
            ),
            case(
                "search, a pattern with a text",
                &["search", "--regex", "needs \\d\\.\\d+ GW"],
                "needs \\d\\.\\d+ GW",
                false,
                twice,
            ),
            case(
                "search, a pattern without",
                &["search", "--regex", "[0-9]\\.[0-9]+ G"],
                "[0-9]\\.[0-9]+ G",
                false,
                None,
            ),
            case(
                "search, two words that many have",
                &["search", "--regex", "façade naïve"],
                "façade naïve",
                true,
                None,
            ),
        ])
    }

    fn measure(&self, case: &Case) -> Result<()> {
        let mut pairs = Vec::new();
        for pair in 0..=self.pairs {
            let first = if pair % 2 == 0 {
                Some(self.plain(case)?)
            } else {
                None
            };
            let ours = self.mailbag(&case.mailbag).context(case.name.clone())?;
            let theirs = first.map_or_else(|| self.plain(case), Ok)?;
            // The first pair only warms up.
            if pair > 0 {
                pairs.push((theirs, ours));
            }
        }
        self.beside(case, "ms", &pairs, case.target, millis);
        // On a busy machine the processor time says more.
        self.beside(case, "processor ms", &pairs, None, |usage| {
            (usage.user + usage.system).as_secs_f64() * 1e3
        });
        self.alone(
            &case.name,
            "peak MiB",
            pairs
                .iter()
                .map(|(_, ours)| ours.peak as f64 / f64::from(1 << 20))
                .collect(),
            None,
        );
        Ok(())
    }

    fn beside(
        &self,
        case: &Case,
        metric: &'static str,
        pairs: &[(Usage, Usage)],
        target: Option<Target>,
        of: impl Fn(&Usage) -> f64,
    ) {
        let (plain, mailbag): (Vec<f64>, Vec<f64>) = pairs
            .iter()
            .map(|(plain, ours)| (of(plain), of(ours)))
            .unzip();
        let mut ratios: Vec<f64> = plain
            .iter()
            .zip(&mailbag)
            .map(|(plain, mailbag)| mailbag / plain)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let row = Row {
            case: case.name.clone(),
            metric,
            floor: median(plain),
            mailbag: median(mailbag),
            between: ratios.first().copied().zip(ratios.last().copied()),
            ratio: median(ratios),
            target,
        };
        println!("{}", row.line());
    }

    /// A start of the router: from the snapshot, and from the log alone.
    fn starts(&self) -> Result<()> {
        for (name, kept) in [
            ("run --once with a snapshot", true),
            ("run --once without", false),
        ] {
            let (mut times, mut peaks) = (Vec::new(), Vec::new());
            self.mailbag(&["run".into(), "--once".into()])?;
            for _ in 0..self.pairs {
                if !kept {
                    fs::remove_file(self.room.join("spool/snapshot"))
                        .context("no snapshot was written")?;
                }
                let usage = self.mailbag(&["run".into(), "--once".into()])?;
                times.push(millis(&usage));
                peaks.push(usage.peak as f64 / f64::from(1 << 20));
            }
            self.alone(name, "ms", times, kept.then_some(Target::AtMost(1000.0)));
            self.alone(name, "peak MiB", peaks, Some(Target::AtMost(100.0)));
        }
        Ok(())
    }

    fn alone(&self, case: &str, metric: &'static str, values: Vec<f64>, target: Option<Target>) {
        let mailbag = median(values);
        let row = Row {
            case: case.to_owned(),
            metric,
            floor: None,
            mailbag,
            ratio: None,
            between: None,
            target,
        };
        println!("{}", row.line());
    }

    fn mailbag(&self, words: &[String]) -> Result<Usage> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut command = self.programs.mailbag(&words);
        command.arg("--room").arg(&self.room);
        self.programs.start(command)?.wait()
    }

    fn plain(&self, case: &Case) -> Result<Usage> {
        let (pattern, fixed) = &case.plain;
        let mut command = Command::new(self.plain);
        command.arg(if *fixed {
            "-F"
        } else if self.plain == "rg" {
            "--no-unicode"
        } else {
            "-P"
        });
        // A room has a `.gitignore`, which counts where the room is in a repository.
        command.arg(if self.plain == "grep" {
            "-r"
        } else {
            "--no-ignore"
        });
        command.args(["--", pattern]).arg(self.room.join("log"));
        self.programs
            .start(command)?
            .wait()
            .with_context(|| format!("{} found nothing for {}", self.plain, case.name))
    }

    /// The name of a conversation in the middle of the log, and the id and the seq of a message in it.
    fn a_thread(&self) -> Result<(String, String, String)> {
        let segments = self.segments()?;
        let text = fs::read_to_string(&segments[segments.len() / 2])?;
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let message = |line: &serde_json::Value| line["event"]["accepted"]["message"].clone();
        let mut answers = lines.filter(|line| message(line)["in_reply_to"].is_string());
        let line = answers
            .nth(1000)
            .or_else(|| answers.next())
            .context("no answer in the middle of the log")?;
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        Ok((
            text(&message(&line)["thread_id"]),
            text(&message(&line)["id"]),
            line["seq"].to_string(),
        ))
    }

    fn last_time(&self) -> Result<String> {
        let text = fs::read_to_string(self.segments()?.last().context("no segment")?)?;
        let line: serde_json::Value =
            serde_json::from_str(text.lines().next_back().context("no line")?)?;
        Ok(line["at"].as_str().unwrap_or_default().to_owned())
    }

    fn segments(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.room.join("log"))?;
        let mut paths = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>>>()?;
        paths.sort();
        ensure!(!paths.is_empty(), "the log is empty");
        Ok(paths)
    }

    fn log_bytes(&self) -> Result<u64> {
        self.segments()?
            .iter()
            .map(|path| Ok(fs::metadata(path)?.len()))
            .sum()
    }
}

/// The text in every line of the hour of that time.
fn hour_of(time: &str) -> String {
    format!("\"at\":\"{}", time.get(..13).unwrap_or_default())
}

fn millis(usage: &Usage) -> f64 {
    usage.wall.as_secs_f64() * 1e3
}
