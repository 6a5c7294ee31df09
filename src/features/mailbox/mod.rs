//! `MAILBOX.md` and `queue/to-<agent>.md`: mail in files that people read and edit, enabled by `mailbox = true`.

mod edits;
mod files;
mod mail_files;
mod paths;

use super::Feature;
use crate::disk::Dir;
use crate::router::projections::Projection;

pub(super) const FEATURE: MailboxFeature = MailboxFeature;

pub(super) struct MailboxFeature;

/// The feature has no state.
pub(super) type State = ();

impl Feature for MailboxFeature {
    fn derived(&self, _: &Dir) -> Option<Box<dyn Projection>> {
        Some(Box::new(mail_files::MailFiles::default()))
    }

    fn derived_names(&self) -> &'static [&'static str] {
        &[paths::MAILBOX, paths::QUEUES]
    }
}
