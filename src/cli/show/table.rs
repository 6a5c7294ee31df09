//! Lists as tables.

use super::output::{CommandOutput, PLAIN};
use super::row::cut;
use crate::base::error::Result;
use crate::base::sanitize;
use anstyle::Style;
use serde::Serialize;
use unicode_width::UnicodeWidthStr;

/// Prints a list as [`CommandOutput::list`] does, its rows as a table.
pub(crate) fn list<T: Serialize>(
    out: &mut CommandOutput,
    field: &str,
    items: impl IntoIterator<Item = T>,
    none: &str,
    row: impl Fn(&T, &CommandOutput) -> Vec<String>,
) -> Result<()> {
    let mut rows = Vec::new();
    out.list(field, items.into_iter().map(Ok), none, |out, item| {
        rows.push(row(&item, out));
        Ok(())
    })?;
    print(out, &rows)
}

/// Prints rows of plain text as [`print_styled`] does.
pub(crate) fn print(out: &mut CommandOutput, rows: &[Vec<String>]) -> Result<()> {
    print_styled(
        out,
        &rows
            .iter()
            .map(|row| row.iter().map(|cell| (PLAIN, cell.clone())).collect())
            .collect::<Vec<_>>(),
    )
}

/// A cell with its style. Its text may come from anywhere.
pub(crate) type StyledCell = (Style, String);

/// Prints rows with each column as wide as its widest cell. At a terminal, empty columns are left out, and the widest
/// columns are cut until the rows fit.
pub(crate) fn print_styled(out: &mut CommandOutput, rows: &[Vec<StyledCell>]) -> Result<()> {
    let visible = |row: &Vec<StyledCell>| -> Vec<StyledCell> {
        let cells = row.iter();
        cells
            .map(|(style, text)| (*style, sanitize::line(text).into_owned()))
            .collect()
    };
    let mut rows: Vec<Vec<StyledCell>> = rows.iter().map(visible).collect();
    let mut widths = widths_of(&rows);
    if let Some(most) = out.width() {
        for row in &mut rows {
            let mut all = widths.iter();
            row.retain(|_| all.next().is_some_and(|width| *width > 0));
        }
        widths.retain(|width| *width > 0);
        narrow(&mut widths, most);
    }
    for row in &rows {
        let mut line = String::new();
        for (n, ((style, text), width)) in row.iter().zip(&widths).enumerate() {
            let gap = if n == 0 { "" } else { "  " };
            let text = cut(text, *width);
            let blanks = " ".repeat(width.saturating_sub(text.width()));
            line += &format!("{gap}{}{blanks}", out.paint(*style, &text));
        }
        out.line(line)?;
    }
    Ok(())
}

/// The width of the widest cell in each column.
fn widths_of(rows: &[Vec<StyledCell>]) -> Vec<usize> {
    let mut widths = Vec::new();
    for row in rows {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, (_, cell)) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    widths
}

/// Narrows the widest columns until a row fits this width.
fn narrow(widths: &mut [usize], most: usize) {
    let most = most
        .saturating_sub(2 * widths.len().saturating_sub(1))
        .max(widths.len());
    while widths.iter().sum::<usize>() > most {
        let Some(widest) = widths.iter_mut().max() else {
            return;
        };
        *widest -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::narrow;

    #[test]
    fn the_widest_columns_are_narrowed_until_a_row_fits() {
        let mut widths = [5, 100, 30];
        narrow(&mut widths, 80);
        assert_eq!(widths, [5, 41, 30]);
        narrow(&mut widths, 24);
        assert_eq!(widths.iter().sum::<usize>(), 20);
        narrow(&mut widths, 0);
        assert_eq!(widths, [1, 1, 1]);
    }
}
