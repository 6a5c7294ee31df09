//! The tables of client features in the docs match the table in the source.

use super::read;
use mailbag::clients::kind;

#[test]
fn the_tables_of_client_features_match_the_source() {
    let (summary, limits) = (kind::summary(), kind::limits());
    for (page, name, table) in [
        ("README.md", "abilities", &summary),
        ("docs/agents.md", "abilities", &summary),
        ("docs/agents.md", "limits", &limits),
    ] {
        let text = read(page);
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- {name} end -->"));
        let shown = text
            .split_once(&begin)
            .and_then(|(_, rest)| rest.split_once(&end))
            .map(|(shown, _)| shown);
        assert_eq!(
            shown,
            Some(table.as_str()),
            "between {begin}and {end} in {page} must be:\n{table}"
        );
    }
}
