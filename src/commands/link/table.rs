//! Adds and removes the table of a link in the text of `settings.toml` and keeps the rest of the text.

use crate::base::error::Result;
use crate::room::registry::AddressKind;
use crate::room::settings::{LinkBudget, LinkSettings, NatsSettings};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TomlError, Value};

const LINKS: &str = "links";

/// The text with a link. A link of the same tag is changed.
pub(super) fn put(text: &str, tag: &str, link: &LinkSettings) -> Result<String, TomlError> {
    let mut document: DocumentMut = text.parse()?;
    if let Some(there) = table_mut(&mut document, tag) {
        let fields = fields(link);
        for gone in ["address", "as", "credentials", "ca", "replicas"]
            .into_iter()
            .filter(|gone| fields.iter().all(|(key, _)| key != gone))
        {
            there.remove(gone);
        }
        for (key, value) in fields {
            there.insert(key, Item::Value(value));
        }
        return Ok(document.to_string());
    }
    // A table at the end of the file never splits another one.
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let gap = if text.trim().is_empty() { "" } else { "\n" };
    let appended = format!("{text}{end}{gap}{}", block(tag, link));
    if appended.parse::<DocumentMut>().is_ok() {
        return Ok(appended);
    }
    // The links are an inline table, or have dotted keys.
    let mut inline = InlineTable::new();
    for (key, value) in fields(link) {
        inline.insert(key, value);
    }
    document[LINKS][tag] = Item::Value(Value::InlineTable(inline));
    Ok(document.to_string())
}

/// The text without a link.
pub(super) fn take_out(text: &str, tag: &str) -> Result<String, TomlError> {
    let mut document: DocumentMut = text.parse()?;
    let links = document.get_mut(LINKS).and_then(Item::as_table_like_mut);
    let is_empty = links.map(|links| {
        links.remove(tag);
        links.is_empty()
    });
    if is_empty == Some(true) {
        document.remove(LINKS);
    }
    Ok(document.to_string())
}

fn table_mut<'d>(
    document: &'d mut DocumentMut,
    tag: &str,
) -> Option<&'d mut dyn toml_edit::TableLike> {
    document
        .get_mut(LINKS)?
        .as_table_like_mut()?
        .get_mut(tag)?
        .as_table_like_mut()
}

/// The table as text, with its heading.
pub(super) fn block(tag: &str, link: &LinkSettings) -> String {
    let (mut links, mut table) = (Table::new(), Table::new());
    links.set_implicit(true);
    for (key, value) in fields(link) {
        table.insert(key, Item::Value(value));
    }
    links.insert(tag, Item::Table(table));
    let mut document = DocumentMut::new();
    document.insert(LINKS, Item::Table(links));
    document.to_string()
}

fn fields(link: &LinkSettings) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("carrier", link.carrier.as_str().into())];
    if !link.address.is_empty() {
        fields.push(("address", (&link.address).into()));
    }
    fields.extend(link.known_as.as_ref().map(|tag| ("as", tag.into())));
    let NatsSettings {
        credentials,
        ca,
        replicas,
    } = &link.nats;
    fields.extend(
        credentials
            .as_ref()
            .map(|file| ("credentials", file.into())),
    );
    fields.extend(ca.as_ref().map(|file| ("ca", file.into())));
    fields.extend(replicas.map(|n| ("replicas", i64::from(n).into())));
    fields.push(("accept", accept(&link.accept).into()));
    if !link.budget.is_default() {
        let LinkBudget { messages, copies } = link.budget;
        let limits = [("messages", messages), ("copies", copies)];
        let limits = limits
            .into_iter()
            .filter_map(|(key, most)| Some((key, i64::from(most?))));
        fields.push(("budget", limits.collect::<InlineTable>().into()));
    }
    fields
}

fn accept(accept: &[AddressKind]) -> Array {
    accept.iter().map(|accept| accept.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::settings::{Carrier, Settings};

    fn link() -> LinkSettings {
        LinkSettings::new(Carrier::Dir, "/srv/po/.mailbag")
    }

    fn put_and_read(text: &str) -> String {
        let text = put(text, "po", &link()).expect("TOML");
        let settings = Settings::parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        assert_eq!(settings.links.get("po"), Some(&link()), "{text}");
        text
    }

    #[test]
    fn a_new_link_is_a_table_at_the_end() {
        let table = "[links.po]\ncarrier = \"dir\"\naddress = \"/srv/po/.mailbag\"\naccept = [\"agents\", \"roles\"]\n";
        assert_eq!(put_and_read(""), table);
        let text = "# ours\ntag = \"fit\" # short\n\n[escalation]\nsupervisor = \"bob\"";
        assert_eq!(put_and_read(text), format!("{text}\n\n{table}"));
    }

    #[test]
    fn a_link_fits_every_form_of_the_links_that_are_there() {
        for text in [
            "links = { \"a.b\" = { address = \"/x\" } } # one line\ntag = \"fit\"\n",
            "links.a = { address = \"/x\" }\ntag = \"fit\"\n",
            "[links]\na = { address = \"/x\" }\n",
            "[links.a]\naddress = \"/x\"\n# the end\n",
            "[links.po]\n# an old one\ncarrier = \"ssh\"\naddress = \"there:/x\"\n",
        ] {
            let with = put_and_read(text);
            let without = take_out(&with, "po").expect("TOML");
            let settings = Settings::parse(&without).unwrap_or_else(|e| panic!("{e:?}\n{without}"));
            assert!(!settings.links.contains_key("po"), "{without}");
            let others = Settings::parse(text)
                .expect("valid")
                .links
                .into_keys()
                .filter(|tag| tag != "po");
            assert!(settings.links.into_keys().eq(others), "{without}");
        }
    }

    #[test]
    fn a_link_that_is_taken_out_leaves_everything_else() {
        let text = "# ours\ntag = \"fit\" # short\n\n[escalation]\nsupervisor = \"bob\"\n";
        assert_eq!(take_out(&put_and_read(text), "po").expect("TOML"), text);
        assert_eq!(take_out(text, "po").expect("TOML"), text);
    }

    #[test]
    fn a_tag_with_a_dot_is_quoted() {
        let text = put("", "po.west", &link()).expect("TOML");
        assert!(
            Settings::parse(&text)
                .expect("valid")
                .links
                .contains_key("po.west"),
            "{text}"
        );
    }
}
