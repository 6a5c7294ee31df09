//! Groups of agents by role, capability or topic. Letter case in their names is ignored.

use std::collections::BTreeMap;

/// The positions of the members, by the group's name in lower case.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentGroups(BTreeMap<String, AgentGroup>);

#[derive(Debug, Clone)]
struct AgentGroup {
    /// The name as the first member has it.
    name: String,
    members: Vec<u32>,
}

impl AgentGroups {
    /// The members of a group, in the order of the registry. `None` if no agent names the group.
    pub(super) fn members(&self, name: &str) -> Option<&[u32]> {
        let group = self
            .0
            .get(name)
            .or_else(|| self.0.get(&name.to_ascii_lowercase()))?;
        Some(&group.members)
    }

    /// The group that a word means, in the singular or the plural, with its members.
    pub(super) fn named<'t>(&self, word: &'t str) -> Option<(&'t str, &[u32])> {
        let singular = word.strip_suffix(['s', 'S']);
        [Some(word), singular]
            .into_iter()
            .flatten()
            .find_map(|name| Some((name, self.members(name)?)))
    }

    /// The members of a group that can be extended. A new group is empty.
    pub(super) fn group(&mut self, name: &str) -> &mut Vec<u32> {
        let entry = self.0.entry(name.to_ascii_lowercase());
        let group = entry.or_insert_with(|| AgentGroup {
            name: name.to_owned(),
            members: Vec::new(),
        });
        &mut group.members
    }

    /// All groups: name and members.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &[u32])> {
        self.0
            .values()
            .map(|group| (group.name.as_str(), group.members.as_slice()))
    }
}
