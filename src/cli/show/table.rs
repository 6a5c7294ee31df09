//! Columns that stand below each other.

use super::output::Output;
use crate::base::error::Result;
use unicode_width::UnicodeWidthStr;

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
