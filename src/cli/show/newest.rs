//! Lists that may be long: the newest rows, and a note that there are more.

use super::output::CommandOutput;
use crate::base::error::Result;
use crate::query::newest::last_of;

/// The number of rows without `--last` and `--all`.
const ROWS: usize = 50;

/// The options of a list that may be long.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct NewestArgs {
    /// Number of rows, the newest; default: 50, with --json all
    #[arg(long, value_name = "N", conflicts_with = "all")]
    last: Option<usize>,
    /// All rows
    #[arg(long)]
    all: bool,
}

impl NewestArgs {
    /// The number of rows to show. `None` for all.
    pub(crate) fn limit(&self, out: &CommandOutput) -> Option<usize> {
        let default = (!self.all && !out.json).then_some(ROWS);
        self.last.or(default)
    }

    /// The number of rows to find. It is one more than are shown, because the note depends on it.
    pub(crate) fn sought(&self, out: &CommandOutput) -> Option<usize> {
        self.limit(out).map(|limit| limit.saturating_add(1))
    }

    /// Prints the newest of these rows in their order, and the note. Needs memory for these rows only.
    pub(crate) fn show<T>(
        &self,
        mut rows: impl Iterator<Item = Result<T>>,
        out: &mut CommandOutput,
        print: impl FnOnce(&mut CommandOutput, &mut dyn Iterator<Item = Result<T>>) -> Result<()>,
    ) -> Result<()> {
        let Some(sought) = self.sought(out) else {
            return print(out, &mut rows);
        };
        let mut rows = last_of(rows, sought)?;
        let is_cut = self.cut(&mut rows, out);
        print(out, &mut rows.into_iter().map(Ok))?;
        if is_cut { self.note(out) } else { Ok(()) }
    }

    /// Removes the oldest rows that are not to be shown. Returns true if there are any.
    pub(crate) fn cut<T>(&self, rows: &mut Vec<T>, out: &CommandOutput) -> bool {
        let limit = self.limit(out).unwrap_or(usize::MAX);
        let surplus = rows.len().saturating_sub(limit);
        rows.drain(..surplus);
        surplus > 0
    }

    /// Notes that older rows are not shown.
    pub(crate) fn note(&self, out: &mut CommandOutput) -> Result<()> {
        let shown = self.limit(out).unwrap_or_default();
        note(&shown.to_string(), out)
    }
}

/// Notes that only these rows are shown, such as `50 of 301 unread messages`.
pub(crate) fn note(shown: &str, out: &mut CommandOutput) -> Result<()> {
    if out.json {
        return Ok(());
    }
    // Notes follow the data, even if both are written to one file.
    out.flush()?;
    out.note(&format!("showing the newest {shown}; --all shows all"));
    Ok(())
}
