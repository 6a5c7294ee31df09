//! Step 3: keeps the content that was read before the pickup if the claim is the same unchanged file.

use super::letter::{Letter, Read};
use super::pickup::{PickedUp, Taken};
use crate::disk::Meta;
use crate::router::parts::{Intake, Storage};

/// Step 3: messages that were read once. Their content is delivered.
#[must_use]
pub(in crate::router) struct Letters(Vec<Letter<Read>>);

/// If another file took the name between the read and the pickup, or if the file changed, the claim is read again in
/// the next batch.
pub(in crate::router) fn read(
    intake: &mut Intake,
    storage: &Storage,
    picked_up: PickedUp,
) -> Letters {
    let mut read = Vec::new();
    for Taken {
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
    Letters(read)
}

impl Letters {
    pub(super) fn into_inner(self) -> Vec<Letter<Read>> {
        self.0
    }
}

fn is_same(storage: &Storage, claim: &str, meta: &Meta) -> bool {
    let there = storage.claims().stat(claim).ok().flatten();
    there.is_some_and(|there| {
        (there.inode, there.device, there.size, there.modified)
            == (meta.inode, meta.device, meta.size, meta.modified)
    })
}

// Returns true if the claim is not a readable file, so that reading it again would not help.
fn is_no_file(letters: &[Letter<Read>]) -> bool {
    let [
        Letter {
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
