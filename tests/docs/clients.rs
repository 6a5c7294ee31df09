//! What the docs say that each client can do is what the table in the source says.

use super::read;
use mailbag::clients::kind;

#[test]
fn the_tables_of_what_clients_can_do_are_those_of_the_source() {
    let text = read("docs/agents.md");
    for (name, table) in [("abilities", kind::summary()), ("limits", kind::limits())] {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- {name} end -->"));
        let shown = text.split_once(&begin).and_then(|(_, rest)| rest.split_once(&end)).map(|(shown, _)| shown);
        assert_eq!(shown, Some(table.as_str()), "between {begin}and {end} in docs/agents.md must be:\n{table}");
    }
}
