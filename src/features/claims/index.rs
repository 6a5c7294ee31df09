//! Finds owned subjects that can conflict with others, without a look at all of them.
//!
//! Two path subjects can conflict only if the names before the first wildcard of one are the first names of the other. So the
//! subjects are sorted by these names, and only the parents and children of a subject can conflict with it.

use super::owned::OwnedClaim;
use crate::message::subject::ClaimSubject;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::OnceLock;

/// The positions of owned subjects. Made when it is first needed: a hook reads thousands of subjects and
/// asks about one path.
#[derive(Debug, Clone, Default)]
pub(super) struct SubjectIndex(OnceLock<SubjectPlaces>);

#[derive(Debug, Clone, Default)]
struct SubjectPlaces {
    by_beginning: BTreeMap<String, Vec<usize>>,
    by_key: HashMap<u64, Vec<usize>>,
}

/// It follows from the subjects, so it never differs.
impl PartialEq for SubjectIndex {
    fn eq(&self, _: &SubjectIndex) -> bool {
        true
    }
}

impl Eq for SubjectIndex {}

impl SubjectIndex {
    /// A subject was added at the end.
    pub(super) fn added(&mut self, held: &[OwnedClaim]) {
        if let (Some(places), Some(last)) = (self.0.get_mut(), held.last()) {
            places.put(last, held.len() - 1);
        }
    }

    /// Subjects were removed.
    pub(super) fn removed(&mut self) {
        self.0.take();
    }

    /// The position of this subject of an owner.
    pub(super) fn find(
        &self,
        held: &[OwnedClaim],
        owner: &str,
        subject: &ClaimSubject,
    ) -> Option<usize> {
        let there = self.places(held).by_key.get(&subject.key())?;
        there
            .iter()
            .copied()
            .find(|at| *held[*at].owner == *owner && held[*at].subject == *subject)
    }

    /// The positions of the subjects that can conflict with one of these, in their order.
    pub(super) fn near<'s>(
        &self,
        held: &[OwnedClaim],
        subjects: impl IntoIterator<Item = &'s ClaimSubject>,
    ) -> BTreeSet<usize> {
        let places = &self.places(held).by_beginning;
        let keys: BTreeSet<String> = subjects
            .into_iter()
            .flat_map(ClaimSubject::beginnings)
            .collect();
        let (mut near, mut last) = (BTreeSet::new(), None);
        for key in &keys {
            // The subjects below the last key are in already.
            if last.is_some_and(|last: &String| key.starts_with(last)) {
                continue;
            }
            last = Some(key);
            let above = key
                .match_indices(ClaimSubject::AFTER_NAME)
                .map(|(at, _)| &key[..=at])
                .filter(|above| *above != key);
            near.extend(above.filter_map(|above| places.get(above)).flatten());
            let below = places
                .range(key.clone()..)
                .take_while(|(other, _)| other.starts_with(key));
            near.extend(below.flat_map(|(_, there)| there));
        }
        near
    }

    fn places(&self, held: &[OwnedClaim]) -> &SubjectPlaces {
        self.0.get_or_init(|| {
            let mut places = SubjectPlaces::default();
            for (at, held) in held.iter().enumerate() {
                places.put(held, at);
            }
            places
        })
    }
}

impl SubjectPlaces {
    fn put(&mut self, held: &OwnedClaim, at: usize) {
        for key in held.subject.beginnings() {
            self.by_beginning.entry(key).or_default().push(at);
        }
        self.by_key.entry(held.subject.key()).or_default().push(at);
    }
}
