//! The measured cases: each with its load, its label and its targets.

use super::disk::Kind;
use super::report::Target;
use crate::load::{Load, Traffic};

/// How a case is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Measure {
    /// All messages wait; one pass of the router routes them.
    Throughput,
    /// Messages are dropped at this many a second while the router runs.
    Latency(f64),
    /// Next to nothing happens, for this many seconds.
    Idle(u64),
    /// The router is started on a room without mail.
    Startup,
    /// This many commands that send one message.
    Send(usize),
    /// This many hooks at a prompt.
    Hook(usize),
}

/// One case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) measure: Measure,
    pub(crate) disk: Kind,
    pub(crate) load: Load,
    pub(crate) messages: usize,
    /// True beside another program that writes 100 MB/s to the same file system.
    pub(crate) beside: bool,
}

impl Case {
    /// The case in words. Each word can be given on the command line.
    pub(crate) fn label(&self) -> String {
        let size = match self.name {
            "throughput" | "latency" => format!("fanout={}", self.load.fan_out()),
            "waiting" => format!("files={}", self.messages),
            "hook" => format!("unread={}", self.messages),
            _ => format!("agents={}", self.load.agents),
        };
        let beside = if self.beside { "beside" } else { "alone" };
        format!("{} {} {size} {beside}", self.name, self.disk)
    }

    /// Returns true if these words ask for it: its label has each of them.
    pub(crate) fn is_asked_for(&self, words: &[String]) -> bool {
        let label = self.label();
        words
            .iter()
            .all(|word| label.split(' ').any(|of_label| of_label == word))
    }

    /// Returns true if the first message of each agent is routed. In other cases the directories exist before.
    pub(crate) fn nobody_has_sent(&self) -> bool {
        self.name == "first-message"
    }

    /// The target of that metric in this case.
    pub(crate) fn target(&self, metric: &str) -> Option<Target> {
        match (self.name, metric) {
            ("throughput", "messages/s") if self.disk == Kind::Ext4 => {
                Some(Target::RatioAtLeast(0.8))
            }
            ("throughput", "messages/s") => Some(Target::RatioAtLeast(0.7)),
            ("throughput", "cpu us/message") => Some(Target::RatioAtMost(1.6)),
            ("latency", "p50 ms") => Some(Target::RatioAtMost(1.25)),
            ("waiting", "peak MiB") => Some(Target::AtMost(150.0)),
            ("hook", "peak MiB") => Some(Target::AtMost(30.0)),
            (_, "peak MiB") if (1000..=1001).contains(&self.load.agents) => {
                Some(Target::AtMost(60.0))
            }
            ("startup", "ready ms" | "first ready ms" | "pass ms") => Some(Target::AtMost(1000.0)),
            ("idle", "cpu %") => Some(Target::AtMost(1.0)),
            ("hook", _) => Some(Target::AtMost(20.0)),
            ("send", "beside a router ms") => Some(Target::RatioAtMost(3.0)),
            _ => None,
        }
    }
}

/// Every case, in the order of the runs; a quick run has a tenth of the load.
pub(crate) fn all(quick: bool) -> Vec<Case> {
    let share = if quick { 10 } else { 1 };
    let mut cases = Vec::new();
    for beside in [false, true] {
        for disk in [Kind::Ext4, Kind::Tmpfs] {
            // On tmpfs no data reaches a disk, so another writer does not matter.
            if beside && disk == Kind::Tmpfs {
                continue;
            }
            for fan_out in [1, 10, 100, 1000] {
                cases.extend(by_fan_out(fan_out, disk, beside, share));
            }
        }
    }
    for agents in [1, 10, 100, 1000, 10_000] {
        cases.extend(by_agents(agents, share));
    }
    cases.extend(limits(share));
    cases
}

fn by_fan_out(fan_out: u32, disk: Kind, beside: bool, share: usize) -> [Case; 2] {
    // One recipient: ten senders and one agent that only receives. Otherwise ten agents write to
    // all, so that a message stays short for every fan-out, with about 80,000 copies. Latency is
    // measured well below the floor's limit, with at most 5,000 copies a second, so that it does
    // not measure a queue.
    let (load, messages, per_second) = match fan_out {
        1 => (
            Load {
                agents: 11,
                traffic: Traffic::ToOne,
            },
            20_000,
            200,
        ),
        _ => (
            Load {
                agents: fan_out as usize + 1,
                traffic: Traffic::ToAll,
            },
            80_000 / fan_out as usize,
            (5000 / fan_out).min(200),
        ),
    };
    let throughput = Case {
        name: "throughput",
        measure: Measure::Throughput,
        disk,
        load,
        messages: messages / share,
        beside,
    };
    let dropped = if share == 1 {
        (per_second * 5).max(100)
    } else {
        per_second.max(10)
    };
    let measure = Measure::Latency(f64::from(per_second));
    [
        throughput,
        Case {
            name: "latency",
            measure,
            messages: dropped as usize,
            ..throughput
        },
    ]
}

fn by_agents(agents: usize, share: usize) -> [Case; 3] {
    let load = Load {
        agents,
        traffic: Traffic::ToOne,
    };
    let registered = Case {
        name: "growth-registered",
        measure: Measure::Throughput,
        disk: Kind::Ext4,
        load,
        messages: 20_000 / share,
        beside: false,
    };
    let load = Load {
        agents,
        traffic: Traffic::Spread,
    };
    let spread = Case {
        name: "growth-spread",
        load,
        ..registered
    };
    [
        registered,
        spread,
        Case {
            name: "growth-latency",
            measure: Measure::Latency(200.0),
            messages: 1000 / share,
            ..spread
        },
    ]
}

/// The absolute limits, and the whole-process cost of sending.
fn limits(share: usize) -> [Case; 7] {
    let load = Load {
        agents: 1000,
        traffic: Traffic::Spread,
    };
    let startup = Case {
        name: "startup",
        measure: Measure::Startup,
        disk: Kind::Ext4,
        load,
        messages: 0,
        beside: false,
    };
    let many = Load {
        agents: 10_000,
        traffic: Traffic::Spread,
    };
    let waiting = Load {
        agents: 11,
        traffic: Traffic::ToOne,
    };
    let two = Load {
        agents: 2,
        traffic: Traffic::ToOne,
    };
    let hook = Case {
        name: "hook",
        measure: Measure::Hook(if share == 1 { 40 } else { 5 }),
        messages: 1000,
        load: Load {
            agents: 1000,
            traffic: Traffic::ToOne,
        },
        ..startup
    };
    [
        startup,
        Case {
            name: "first-message",
            measure: Measure::Throughput,
            messages: 1000,
            ..startup
        },
        Case {
            name: "waiting",
            measure: Measure::Throughput,
            load: waiting,
            messages: 100_000 / share,
            ..startup
        },
        Case {
            name: "idle",
            measure: Measure::Idle(if share == 1 { 20 } else { 4 }),
            load: many,
            ..startup
        },
        Case {
            name: "send",
            measure: Measure::Send(if share == 1 { 40 } else { 5 }),
            load: two,
            ..startup
        },
        hook,
        Case {
            messages: 100_000 / share,
            ..hook
        },
    ]
}
