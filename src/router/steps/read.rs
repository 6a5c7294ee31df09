//! Step 3: keeps the content that was read before the pickup if the claim is the same unchanged file.

use super::batch_message::{BatchMessage, ReadResult};
use super::pickup::{PickedUpFile, PickedUpFiles};
use crate::disk::Meta;
use crate::router::parts::{MailIntake, RouterStorage};

/// Step 3: messages that were read once. Their content is delivered.
#[must_use]
pub(in crate::router) struct ReadMessages(Vec<BatchMessage<ReadResult>>);

/// If another file took the name between the read and the pickup, or if the file changed, the claim is read again in
/// the next batch.
pub(in crate::router) fn read(
    intake: &mut MailIntake,
    storage: &RouterStorage,
    picked_up: PickedUpFiles,
) -> ReadMessages {
    let mut read = Vec::new();
    for PickedUpFile {
        claim,
        letters,
        meta,
    } in picked_up.into_files()
    {
        if meta.is_none_or(|meta| is_same(storage, &claim, &meta)) || is_no_file(&letters) {
            read.extend(letters);
        } else {
            intake.queue_claims([claim]);
        }
    }
    ReadMessages(read)
}

impl ReadMessages {
    pub(super) fn into_inner(self) -> Vec<BatchMessage<ReadResult>> {
        self.0
    }
}

fn is_same(storage: &RouterStorage, claim: &str, meta: &Meta) -> bool {
    let there = storage.claims().stat(claim).ok().flatten();
    there.is_some_and(|there| {
        (there.inode, there.device, there.size, there.modified)
            == (meta.inode, meta.device, meta.size, meta.modified)
    })
}

// Returns true if the claim is not a readable file, so that reading it again would not help.
fn is_no_file(letters: &[BatchMessage<ReadResult>]) -> bool {
    let [
        BatchMessage {
            source: None,
            content: Err(problem),
            ..
        },
    ] = letters
    else {
        return false;
    };
    matches!(
        problem.code.as_str(),
        "symlink" | "not_a_file" | "unreadable"
    )
}
