//! Lists as tables.

use super::output::Output;
use crate::base::error::Result;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

/// Prints a list as [`Output::list`] does, its rows as a table.
pub(crate) fn list<T: Serialize>(
    out: &mut Output,
    items: impl IntoIterator<Item = T>,
    none: &str,
    row: impl Fn(&T) -> Vec<String>,
) -> Result<()> {
    let mut rows = Vec::new();
    out.list(items.into_iter().map(Ok), none, |_, item| {
        rows.push(row(&item));
        Ok(())
    })?;
    print(out, &rows)
}

/// Prints rows with each column as wide as its widest cell. Cells carry no style, and must be made visible before.
pub(crate) fn print(out: &mut Output, rows: &[Vec<String>]) -> Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    rows.iter().try_for_each(|row| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width())));
        out.line(cells.collect::<Vec<_>>().join("  "))
    })
}
