//! The worklog: a Markdown file for people, in the repository, enabled by `worklog = true`.

mod entry;
pub mod envelope;
mod file;
mod foreign;
mod head;
mod note;
mod place;
mod state;

pub use state::{State, of};

use super::{AppliedRecord, Feature, States};
use crate::disk::Dir;
use crate::router::projections::Projection;

pub(super) const FEATURE: WorklogFeature = WorklogFeature;

pub(super) struct WorklogFeature;

impl Feature for WorklogFeature {
    fn apply(&self, states: &mut States, applied: &AppliedRecord<'_>) {
        state::apply(&mut states.worklog, applied);
    }

    fn derived(&self, _: &Dir) -> Option<Box<dyn Projection>> {
        Some(Box::new(file::Worklog::default()))
    }
}
