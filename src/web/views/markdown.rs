//! Mail as Markdown. HTML in it is text, links show their target, and nothing is loaded from elsewhere.

use super::{block, text};
use maud::{Markup, PreEscaped, html};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html::push_html};

/// The largest text that is parsed. Longer text is shown as plain text.
const MOST: usize = 64 << 10;

/// The text of a message.
pub(super) fn markdown(source: &str) -> Markup {
    if source.len() > MOST {
        return html! { pre .body dir="auto" { (block(source)) } };
    }
    let extensions =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut targets = Vec::new();
    let events = Parser::new_ext(source, extensions).map(|event| shown(event, &mut targets));
    let mut written = String::new();
    push_html(&mut written, events);
    html! { div .body dir="auto" { (PreEscaped(written)) } }
}

/// The event as the page shows it. `targets` has the links and images that are open.
fn shown<'a>(event: Event<'a>, targets: &mut Vec<String>) -> Event<'a> {
    match event {
        Event::Html(source) | Event::InlineHtml(source) | Event::Text(source) => {
            Event::Text(block(&source).into_owned().into())
        }
        Event::Code(source) => Event::Code(text(&source).into_owned().into()),
        // A line of a sender is a line for the reader.
        Event::SoftBreak => Event::HardBreak,
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            targets.push(dest_url.into_string());
            Event::InlineHtml("".into())
        }
        Event::End(TagEnd::Link | TagEnd::Image) => {
            let target = targets.pop().unwrap_or_default();
            Event::InlineHtml(link(&target).into_string().into())
        }
        Event::Start(Tag::CodeBlock(_)) => {
            Event::Start(Tag::CodeBlock(pulldown_cmark::CodeBlockKind::Indented))
        }
        // Headings of a message do not belong to the outline of the page.
        Event::Start(Tag::Heading { .. }) => Event::InlineHtml("<p class=\"heading\">".into()),
        Event::End(TagEnd::Heading(_)) => Event::InlineHtml("</p>\n".into()),
        Event::TaskListMarker(is_done) => Event::Text(if is_done { "☑ " } else { "☐ " }.into()),
        event => event,
    }
}

/// The target of a link, after its words. Only targets on the web can be opened.
fn link(target: &str) -> Markup {
    let is_web = ["https://", "http://"]
        .iter()
        .any(|scheme| target.starts_with(scheme));
    html! {
        " ("
        @if is_web { a href=(target) target="_blank" rel="noopener noreferrer" { (text(target)) } }
        @else { (text(target)) }
        ")"
    }
}

#[cfg(test)]
mod tests {
    use super::markdown;

    #[test]
    fn html_is_text_and_hidden_characters_are_visible() {
        let hostile = "<img src=x onerror=alert(1)> <script>alert(2)</script>\n\n<div onclick=x>\n\n`<b>` &lt;i&gt; &#x202e;x \u{202e}";
        let shown = markdown(hostile).into_string();
        for markup in ["<img", "<script", "<div onclick", "<b>", "<i>", "\u{202e}"] {
            assert!(!shown.contains(markup), "{markup}: {shown}");
        }
        assert!(
            shown.contains("&lt;img src=x onerror=alert(1)&gt;"),
            "{shown}"
        );
    }

    #[test]
    fn a_link_shows_its_target_and_an_image_is_not_loaded() {
        let shown = markdown("[pay](https://evil.example/?a=\"b) ![cat](https://evil.example/c.png) [x](javascript:alert(1)) <https://a.example>")
            .into_string();
        assert!(
            shown.contains("rel=\"noopener noreferrer\">https://evil.example/?a=&quot;b</a>"),
            "{shown}"
        );
        assert!(
            shown.contains("cat (<a href=\"https://evil.example/c.png\""),
            "{shown}"
        );
        assert!(
            !shown.contains("href=\"javascript") && !shown.contains("<img"),
            "{shown}"
        );
    }

    #[test]
    fn lists_code_and_lines_are_kept() {
        let shown = markdown("# Title\n- one\n- two\n\n```rust\nlet x = 1;\n```\nfirst\nsecond")
            .into_string();
        for part in [
            "<p class=\"heading\">Title</p>",
            "<li>one</li>",
            "<pre><code>let x = 1;\n</code></pre>",
            "first<br />\nsecond",
        ] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
    }

    #[test]
    fn code_in_words_is_safe_and_a_title_of_a_link_is_left_out() {
        let shown =
            markdown("[a](http://x.example \"\\\"><script>\") <a href='y'>z</a>").into_string();
        assert!(
            !shown.contains("<script") && !shown.contains("<a href='y'"),
            "{shown}"
        );
    }
}
