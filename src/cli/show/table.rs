//! Lists as tables.

use super::output::Output;
use super::row::cut;
use crate::base::error::Result;
use crate::base::sanitize;
use anstyle::Style;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

/// Prints a list as [`Output::list`] does, its rows as a table.
pub(crate) fn list<T: Serialize>(
    out: &mut Output,
    field: &str,
    items: impl IntoIterator<Item = T>,
    none: &str,
    row: impl Fn(&T) -> Vec<String>,
) -> Result<()> {
    let mut rows = Vec::new();
    out.list(field, items.into_iter().map(Ok), none, |_, item| {
        rows.push(row(&item));
        Ok(())
    })?;
    print(out, &rows)
}

/// Prints rows with each column as wide as its widest cell. Cells carry no style, and must be made visible before.
pub(crate) fn print(out: &mut Output, rows: &[Vec<String>]) -> Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.width())
            .max()
    };
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    rows.iter().try_for_each(|row| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.width())));
        out.line(cells.collect::<Vec<_>>().join("  "))
    })
}

/// A cell with its style. Its text may come from anywhere.
pub(crate) type Cell = (Style, String);

/// As [`print`], for cells with styles. At a terminal, each row is cut at its width.
pub(crate) fn print_styled(out: &mut Output, rows: &[Vec<Cell>]) -> Result<()> {
    let visible = |row: &Vec<Cell>| {
        row.iter()
            .map(|(style, text)| (*style, sanitize::line(text).into_owned()))
            .collect()
    };
    let rows: Vec<Vec<Cell>> = rows.iter().map(visible).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|(_, cell)| cell.width())
            .max()
    };
    let most = out.width().unwrap_or(usize::MAX);
    // One long cell must not push the others out of sight.
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0).min(most / 3))
        .collect();
    rows.iter().try_for_each(|row| {
        let (mut line, mut left) = (String::new(), most);
        for (n, ((style, text), width)) in row.iter().zip(&widths).enumerate() {
            let is_last = n + 1 == row.len();
            let text = cut(text, if is_last { left } else { left.min(*width) });
            let blanks = if is_last {
                0
            } else {
                width.saturating_sub(text.width()) + 2
            };
            left = left.saturating_sub(text.width() + blanks);
            line += &out.paint(*style, &text);
            line += &" ".repeat(if left > 0 { blanks } else { 0 });
        }
        out.line(line)
    })
}
