//! Waiting and completed agents, from the log.

use crate::base::clock::Stamp;
use crate::base::error::Result;
use crate::log::state::{self, WorkReport};
use crate::message::REPORTS;
use crate::message::record::Record;
use crate::room::Room;
use crate::room::registry::Registry;
use std::collections::{BTreeMap, BTreeSet};

/// The last status message of each agent.
#[derive(Default)]
pub(super) struct WaitGraph {
    last: BTreeMap<String, WorkReport>,
}

impl WaitGraph {
    /// Reads the current state of the log.
    pub(super) fn of(room: &Room, registry: &Registry) -> Result<WaitGraph> {
        let activity = state::committed(&room.dir)?.activity;
        let mut graph = WaitGraph::default();
        for agent in registry.agents() {
            if let Some(report) = activity.report_of(&agent.id) {
                graph.learn(&agent.id, report.clone(), registry);
            }
        }
        Ok(graph)
    }

    /// Applies a new record. Returns whether it is a status message.
    pub(super) fn follow(&mut self, record: &Record, registry: &Registry) -> bool {
        let Some(accepted) = record.accepted() else {
            return false;
        };
        if !record
            .shown()
            .is_some_and(|(_, kind)| REPORTS.contains(&&*kind))
        {
            return false;
        }
        WorkReport::of(record, record.time(record.stamp()))
            .is_some_and(|report| self.learn(&accepted.name.from, report, registry))
    }

    /// Ignores older messages. Converts names to ids.
    fn learn(&mut self, agent: &str, mut report: WorkReport, registry: &Registry) -> bool {
        if self
            .last
            .get(agent)
            .is_some_and(|last| last.at >= report.at)
        {
            return false;
        }
        for name in &mut report.waiting_for {
            if let Some(agent) = registry.find(name) {
                *name = agent.id.to_string();
            }
        }
        self.last.insert(agent.to_owned(), report);
        true
    }

    /// The last status message of an agent.
    pub(super) fn report_of(&self, agent: &str) -> Option<&WorkReport> {
        self.last.get(agent)
    }

    /// The cycle that arises if `first` waits for `others`: a path from `first` to `first`. Only agents that are present wait.
    pub(super) fn cycle(
        &self,
        first: &str,
        others: &[String],
        is_there: &dyn Fn(&str) -> bool,
    ) -> Option<Vec<String>> {
        let mut seen = BTreeSet::new();
        let mut ways: Vec<Vec<&str>> = others
            .iter()
            .rev()
            .map(|other| vec![first, other])
            .collect();
        while let Some(way) = ways.pop() {
            let last = *way.last().expect("a path is not empty");
            if last == first {
                return Some(way.into_iter().map(str::to_owned).collect());
            }
            if !seen.insert(last) || !is_there(last) {
                continue;
            }
            let next = self
                .last
                .get(last)
                .map(|report| report.waiting_for.as_slice())
                .unwrap_or_default();
            ways.extend(
                next.iter()
                    .rev()
                    .map(|next| [way.as_slice(), &[next]].concat()),
            );
        }
        None
    }

    /// The agent on this path that started to wait last.
    pub(super) fn latest<'w>(&self, way: &'w [String]) -> Option<&'w str> {
        way.iter()
            .max_by_key(|agent| {
                self.report_of(agent)
                    .map_or(Stamp::default().micros(), |report| report.at)
            })
            .map(String::as_str)
    }
}

/// `alice waits for bob, bob waits for alice`
pub(super) fn shown(way: &[String]) -> String {
    let steps: Vec<String> = way
        .windows(2)
        .map(|step| format!("{} waits for {}", step[0], step[1]))
        .collect();
    steps.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(waits: &[(&str, &[&str])]) -> WaitGraph {
        let mut graph = WaitGraph::default();
        for (at, (agent, others)) in waits.iter().enumerate() {
            let waiting_for = others.iter().map(ToString::to_string).collect();
            let report = WorkReport {
                kind: "blocked".into(),
                text: "waits".into(),
                progress: None,
                waiting_for,
                at: at as i64 + 1,
            };
            graph.learn(agent, report, &Registry::empty());
        }
        graph
    }

    fn way(graph: &WaitGraph, first: &str, others: &[&str]) -> String {
        let others: Vec<String> = others.iter().map(ToString::to_string).collect();
        graph
            .cycle(first, &others, &|agent| agent != "gone")
            .map(|way| shown(&way))
            .unwrap_or_default()
    }

    #[test]
    fn a_cycle_is_found_with_its_path() {
        let graph = graph(&[
            ("bob", &["dave", "carol"]),
            ("carol", &["alice"]),
            ("dave", &["bob"]),
        ]);
        let path = "alice waits for bob, bob waits for carol, carol waits for alice";
        assert_eq!(way(&graph, "alice", &["bob"]), path);
        assert_eq!(way(&graph, "alice", &["alice"]), "alice waits for alice");
        assert_eq!(
            way(&graph, "erin", &["bob"]),
            "",
            "a cycle of others is not its own"
        );
    }

    #[test]
    fn an_absent_agent_does_not_wait() {
        let graph = graph(&[("gone", &["alice"])]);
        assert_eq!(way(&graph, "alice", &["gone"]), "");
    }

    #[test]
    fn the_latest_of_a_cycle_is_one() {
        let graph = graph(&[("bob", &["alice"]), ("alice", &["bob"])]);
        assert_eq!(
            graph.latest(&["alice".into(), "bob".into(), "alice".into()]),
            Some("alice")
        );
        assert_eq!(
            graph.latest(&["bob".into(), "alice".into(), "bob".into()]),
            Some("alice")
        );
    }
}
