//! The order of the syncs of a batch, which depends on the file system.

use super::failpoint::{self, Failpoint};
use super::{Dir, can_sync_all, power_cut_safety};
use std::fs::read_to_string;
use std::path::Path;

/// The changes that are made durable before a batch is appended to the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SyncOrder {
    /// Each staged file and each changed directory, by a sync of its own or one of the whole file system.
    #[default]
    Each,
    /// The content of each staged file. The sync of the log commits the journal of the file system, and with it all
    /// changes of names that were made before.
    Journal,
}

/// A file system with a journal that commits all earlier changes of names with the new length of a synced file.
struct JournalRule {
    /// The number of the file system: statfs(2).
    magic: i64,
    /// Its options.
    options: fn(&BlockDevice) -> Option<String>,
    /// Options that must be there.
    required: &'static [&'static str],
    /// Options that exclude the order, alone or as `option=value`.
    refused: &'static [&'static str],
    /// Other conditions.
    is_usual: fn(&BlockDevice) -> bool,
}

/// The file systems where [`SyncOrder::Journal`] is known to hold. The same table is in `docs/reliability.md`.
const JOURNAL_RULES: [JournalRule; 2] = [
    JournalRule {
        magic: power_cut_safety::EXT,
        options: |device| read_to_string(format!("/proc/fs/ext4/{}/options", device.name)).ok(),
        required: &["data=ordered", "barrier"],
        refused: &[
            "journal_async_commit",
            "fast_commit",
            "fc_debug_force",
            "dax",
        ],
        is_usual: |device| has_internal_journal(device) && has_no_fast_commits(device),
    },
    JournalRule {
        magic: power_cut_safety::XFS,
        options: BlockDevice::mount_options,
        required: &[],
        refused: &["rtdev", "logdev", "nobarrier", "dax"],
        is_usual: |device| {
            let place = format!("/sys/fs/xfs/{}", device.name);
            // A file system with zones has a realtime section that no option shows.
            Path::new(&place).is_dir() && !Path::new(&place).join("zoned").exists()
        },
    },
];

/// A block device.
struct BlockDevice {
    /// Its numbers, as in `/sys/dev/block`.
    numbers: String,
    /// Its name, as in `/sys/block`.
    name: String,
}

/// Chooses the order for a room: its own directory, and the others that must be on the same device. On ext4, fast
/// commits show only after a sync, so a router asks after its first batch.
pub fn sync_order(room: &Dir, others: [&Dir; 3]) -> SyncOrder {
    if !can_sync_all() {
        return SyncOrder::Each;
    }
    if !failpoint::on(Failpoint::SyncOrder) || is_journal_enough(room, others).unwrap_or(false) {
        SyncOrder::Journal
    } else {
        SyncOrder::Each
    }
}

fn is_journal_enough(room: &Dir, others: [&Dir; 3]) -> Option<bool> {
    let number = room.meta().ok()?.device;
    for other in others {
        if other.meta().ok()?.device != number {
            return Some(false);
        }
    }
    let magic = power_cut_safety::magic(room)?;
    let rule = JOURNAL_RULES.iter().find(|rule| rule.magic == magic)?;
    let device = BlockDevice::new(number)?;
    let options = (rule.options)(&device)?;
    Some(rule.allows(&options) && (rule.is_usual)(&device))
}

impl JournalRule {
    fn allows(&self, options: &str) -> bool {
        let options: Vec<&str> = options.split([',', '\n', ' ']).map(str::trim).collect();
        let has_all = self
            .required
            .iter()
            .all(|required| options.contains(required));
        has_all
            && !options.iter().any(|option| {
                let name = option.split('=').next().unwrap_or_default();
                self.refused.contains(&name)
            })
    }
}

impl BlockDevice {
    fn new(number: u64) -> Option<BlockDevice> {
        let numbers = power_cut_safety::device_numbers(number);
        let name = power_cut_safety::device_name(number)?;
        Some(BlockDevice { numbers, name })
    }

    /// The options of the file system by the table of mounts: proc_pid_mountinfo(5).
    fn mount_options(&self) -> Option<String> {
        let mounts = read_to_string("/proc/self/mountinfo").ok()?;
        let mount = mounts
            .lines()
            .find(|line| line.split(' ').nth(2) == Some(&self.numbers))?;
        mount
            .rsplit_once(' ')
            .map(|(_, options)| options.to_owned())
    }
}

/// An internal journal is listed by its device and its inode. The inode of a journal is always 8.
fn has_internal_journal(device: &BlockDevice) -> bool {
    Path::new(&format!("/proc/fs/jbd2/{}-8", device.name)).is_dir()
}

/// Returns true if the kernel has no fast commits, or counts none for this file system. No option shows the feature, but
/// each sync of a file is counted if the file system has it.
fn has_no_fast_commits(device: &BlockDevice) -> bool {
    if !Path::new("/sys/fs/ext4/features/fast_commit").exists() {
        return true;
    }
    let counts = read_to_string(format!("/proc/fs/ext4/{}/fc_info", device.name));
    counts.is_ok_and(|counts| {
        ["0 commits", "0 ineligible"]
            .iter()
            .all(|count| counts.lines().any(|line| line.trim() == *count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXT4: &str = "rw\nbarrier\ndelalloc\ncommit=5\ndata=ordered\n";

    fn rule(magic: i64) -> &'static JournalRule {
        JOURNAL_RULES
            .iter()
            .find(|rule| rule.magic == magic)
            .expect("a rule")
    }

    #[test]
    fn the_order_by_the_journal_needs_the_usual_options() {
        // P560
        let (ext4, xfs) = (rule(power_cut_safety::EXT), rule(power_cut_safety::XFS));
        assert!(ext4.allows(EXT4));
        for other in [
            "journal_async_commit",
            "fast_commit",
            "fc_debug_force",
            "dax=always",
        ] {
            assert!(!ext4.allows(&format!("{EXT4}{other}\n")), "{other}");
        }
        for missing in ["barrier", "data=ordered"] {
            assert!(!ext4.allows(&EXT4.replace(missing, "")), "{missing}");
        }
        assert!(xfs.allows("rw,inode64,logbufs=8,logbsize=32k,noquota"));
        for other in ["rtdev=/dev/sdb", "logdev=/dev/sdb", "nobarrier"] {
            assert!(
                !xfs.allows(&format!("rw,inode64,{other},noquota")),
                "{other}"
            );
        }
    }
}
