//! Reading the Markdown of a charter, line by line. Other Markdown than headings and lists is text for people.

use super::file::{Charter, CharterLane, CharterSetting, LANE};
use crate::base::error::{Problem, nearest};
use crate::base::limits;
use crate::message::address::{self, Address, quoted};
use crate::message::id;
use crate::message::subject::ClaimSubject;
use crate::room::registry::Lane;

impl Charter {
    /// Reads the text of a charter.
    ///
    /// ```
    /// use mailbag::features::charter::Charter;
    ///
    /// let charter = Charter::parse("## Lanes\n- web: alice, bob (src/web/**)\n- docs\n");
    /// assert_eq!(charter.lanes[0].owners, ["alice", "bob"]);
    /// assert_eq!(charter.problems[0].place, "line 3");
    /// ```
    pub fn parse(text: &str) -> Charter {
        charter(text)
    }

    /// The lanes as names for the addresses of their owners.
    pub fn names(&self) -> Vec<Lane> {
        let lanes = self.lanes.iter().map(|lane| Lane {
            name: lane.name.clone(),
            address: lane.address.clone(),
            owners: lane.owners.clone(),
        });
        lanes.collect()
    }
}

/// The sections, by their headings in lower case.
const SECTIONS: [(&str, CharterSection); 7] = [
    ("goals", CharterSection::Goals),
    ("goal", CharterSection::Goals),
    ("lanes", CharterSection::Lanes),
    ("lane", CharterSection::Lanes),
    ("acceptance criteria", CharterSection::Criteria),
    ("acceptance", CharterSection::Criteria),
    ("settings", CharterSection::Settings),
];

const LANE_FORM: &str =
    "write `- name: owner, owner (path, path)`, as in `- web: alice, bob (src/web/**)`";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharterSection {
    Goals,
    Lanes,
    Criteria,
    Settings,
    /// Text for people.
    Other,
}

/// An entry of a list, or a paragraph, with its first line.
struct CharterItem {
    line: usize,
    text: String,
    is_listed: bool,
}

struct CharterReader {
    charter: Charter,
    section: CharterSection,
    /// The level of the section's heading.
    level: usize,
    item: Option<CharterItem>,
}

pub(super) fn charter(text: &str) -> Charter {
    let mut reader = CharterReader {
        charter: Charter::default(),
        section: CharterSection::Other,
        level: 0,
        item: None,
    };
    let (mut comment, mut fence) = (None, None);
    for (n, line) in text
        .strip_prefix('\u{feff}')
        .unwrap_or(text)
        .lines()
        .enumerate()
    {
        let number = n + 1;
        let line = outside_comments(line, number, &mut comment);
        let trimmed = line.trim();
        if let Some(mark) = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark))
        {
            match fence {
                None => fence = Some((mark, number)),
                Some((open, _)) if open == mark => fence = None,
                Some(_) => {}
            }
        } else if fence.is_none() {
            reader.line(trimmed, line.starts_with([' ', '\t']), number);
        }
    }
    reader.end_item();
    for (line, what, end) in comment
        .map(|line| (line, "the comment", "-->"))
        .into_iter()
        .chain(fence.map(|(mark, line)| (line, "the code block", mark)))
    {
        let what = format!("{what} does not end, so everything after it is ignored");
        reader.problem(line, what, &format!("end it with {end}"));
    }
    reader.charter.problems.sort_by_key(line_of);
    reader.charter.problems.truncate(limits::PROBLEMS);
    reader.charter
}

fn line_of(problem: &Problem) -> usize {
    problem
        .place
        .strip_prefix("line ")
        .and_then(|line| line.parse().ok())
        .unwrap_or_default()
}

/// The line without comments. A comment can continue over lines; `comment` is the line where the open comment began.
fn outside_comments(line: &str, number: usize, comment: &mut Option<usize>) -> String {
    let (mut kept, mut rest) = (String::new(), line);
    loop {
        let mark = if comment.is_some() { "-->" } else { "<!--" };
        let Some((before, after)) = rest.split_once(mark) else {
            break;
        };
        match comment.take() {
            Some(_) => {}
            None => {
                kept.push_str(before);
                *comment = Some(number);
            }
        }
        rest = after;
    }
    if comment.is_none() {
        kept.push_str(rest);
    }
    kept
}

impl CharterReader {
    fn line(&mut self, line: &str, is_indented: bool, number: usize) {
        let level = line.bytes().take_while(|byte| *byte == b'#').count();
        let is_heading = (1..=6).contains(&level)
            && line[level..].chars().next().is_none_or(char::is_whitespace);
        if is_heading {
            self.end_item();
            return self.heading(
                level,
                line[level..].trim_matches(|c: char| c.is_whitespace() || "#:*".contains(c)),
                number,
            );
        }
        match (listed(line), &mut self.item) {
            _ if line.is_empty() => self.end_item(),
            (Some(text), _) => {
                self.end_item();
                self.item = Some(CharterItem {
                    line: number,
                    text: text.to_owned(),
                    is_listed: true,
                });
            }
            (None, Some(item)) if is_indented || !item.is_listed => {
                item.text.push(' ');
                item.text.push_str(line);
            }
            (None, _) => {
                self.end_item();
                self.item = Some(CharterItem {
                    line: number,
                    text: line.to_owned(),
                    is_listed: false,
                });
            }
        }
    }

    fn heading(&mut self, level: usize, title: &str, number: usize) {
        let title = title.to_lowercase();
        let known = SECTIONS.iter().find(|(name, _)| *name == title);
        if let Some((_, section)) = known {
            (self.section, self.level) = (*section, level);
        } else if self.section == CharterSection::Other || level <= self.level {
            (self.section, self.level) = (CharterSection::Other, level);
            let alike = (level > 1).then(|| nearest(&title, SECTIONS.map(|(name, _)| name)));
            if let Some([near, ..]) = alike.as_deref() {
                let fix = format!("did you mean {near}? Otherwise choose another heading");
                self.problem(
                    number,
                    format!("the section {} is not known", quoted(&title)),
                    &fix,
                );
            }
        }
    }

    fn end_item(&mut self) {
        let Some(CharterItem {
            line,
            text,
            is_listed,
        }) = self.item.take()
        else {
            return;
        };
        match self.section {
            CharterSection::Other => {}
            CharterSection::Goals => self.charter.goals.push(text),
            CharterSection::Criteria => self.charter.criteria.push(text),
            CharterSection::Lanes if is_listed => self.lane(line, &text),
            CharterSection::Settings if is_listed => self.setting(line, &text),
            // A paragraph explains the list.
            CharterSection::Lanes | CharterSection::Settings => {}
        }
    }

    fn lane(&mut self, line: usize, text: &str) {
        let plain = text.replace(['*', '`'], "");
        let after_word = plain
            .get(..LANE.len())
            .filter(|word| word.eq_ignore_ascii_case(LANE))
            .map(str::len);
        let Some((name, rest)) = plain[after_word.unwrap_or_default()..].split_once(':') else {
            return self.problem(line, format!("{} names no owner", quoted(text)), LANE_FORM);
        };
        let name = name.trim();
        if !id::is_name(name) || address::reserved(name).is_some() {
            let fix = "use letters, digits, `.`, `_` and `-`, and no word that is an address already, such as `all`";
            return self.problem(
                line,
                format!("{} cannot be the name of a lane", quoted(name)),
                fix,
            );
        }
        if let Some(first) = self
            .charter
            .lanes
            .iter()
            .find(|lane| lane.name.eq_ignore_ascii_case(name))
        {
            let what = format!("the lane {name} is in line {} already", first.line);
            return self.problem(line, what, "write all its owners in one line");
        }
        // A glob of a path has stars, which the name has lost with its emphasis.
        let paths = text
            .split_once('(')
            .and_then(|(_, rest)| rest.rsplit_once(')'))
            .map_or("", |(paths, _)| paths);
        let owners = match rest.split_once('(') {
            Some((before, inside)) => [
                before,
                inside.rsplit_once(')').map_or("", |(_, after)| after),
            ]
            .join(" "),
            None => rest.to_owned(),
        };
        let owners = self.owners(line, name, &owners);
        let paths = self.paths(line, paths);
        let address = format!("{LANE}{name}");
        self.charter.lanes.push(CharterLane {
            name: name.to_owned(),
            owners,
            paths,
            line,
            address,
        });
    }

    fn owners(&mut self, line: usize, lane: &str, text: &str) -> Vec<String> {
        let words = text.split([',', ';', ' ', '\t']).map(str::trim);
        let words = words.filter(|word| !word.is_empty() && !["and", "&", "+"].contains(word));
        let mut owners: Vec<String> = Vec::new();
        for word in words {
            match Address::parse(word) {
                Ok(_) if owners.iter().any(|owner| owner == word) => {}
                Ok(_) => owners.push(word.to_owned()),
                Err(problem) => self.problem(
                    line,
                    problem.what,
                    "name agents, aliases or roles, with commas between",
                ),
            }
        }
        if owners.is_empty() {
            self.problem(line, format!("the lane {lane} has no owner"), LANE_FORM);
        }
        owners
    }

    fn paths(&mut self, line: usize, text: &str) -> Vec<String> {
        let (mut paths, mut depth) = (Vec::new(), 0_usize);
        let is_between = |c: char| {
            depth = if c == '{' {
                depth + 1
            } else {
                depth.saturating_sub(usize::from(c == '}'))
            };
            depth == 0 && matches!(c, ',' | ';')
        };
        for path in text
            .split(is_between)
            .map(|path| path.trim().trim_matches('`'))
            .filter(|path| !path.is_empty())
        {
            match ClaimSubject::parse(path) {
                Ok(subject) => paths.push(subject.to_string()),
                Err(problem) => self.problem(line, problem.what.clone(), &problem.fix),
            }
        }
        paths
    }

    fn setting(&mut self, line: usize, text: &str) {
        match text
            .split_once(':')
            .map(|(name, value)| (name.trim(), value.trim()))
        {
            Some((name, value)) if !name.is_empty() && !value.is_empty() => {
                self.charter.settings.push(CharterSetting {
                    name: name.to_owned(),
                    value: value.to_owned(),
                });
            }
            _ => self.problem(
                line,
                format!("{} has no name and value", quoted(text)),
                "write `- name: value`",
            ),
        }
    }

    fn problem(&mut self, line: usize, what: String, fix: &str) {
        let problem = Problem::new("bad_charter", what)
            .at(format!("line {line}"))
            .fix(fix);
        self.charter.problems.push(problem);
    }
}

/// The text of an entry of a list, without its mark and its box.
fn listed(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let mark = match digits {
        0 => line.strip_prefix(['-', '*', '+']),
        _ => line[digits..].strip_prefix(['.', ')']),
    };
    let text = mark
        .filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))?
        .trim();
    Some(
        ["[ ]", "[x]", "[X]"]
            .into_iter()
            .find_map(|mark| text.strip_prefix(mark))
            .unwrap_or(text)
            .trim(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TEXT: &str = "\u{feff}# Charter\n\n## Goals:\n1. Ship the\n   login page\n* [x] Keep it small\n\n## LANES\nEach lane has \
        owners.\n- **web**: @alice, bob and carol (src/{web,css}/**, `docs`)\n- lane:ops: all_engineers\n<!-- - old: dave -->\n\
        ```\n- code: erin\n```\n### Later\n- db: frank\n## Notes\n- anything: here\n## Acceptance criteria\nAll tests \
        pass.\n\n## Settings\n- branch: main\n";

    #[test]
    fn a_charter_in_the_usual_markdown_is_read() {
        let charter = charter(TEXT);
        assert_eq!(charter.problems, []);
        assert_eq!(charter.goals, ["Ship the login page", "Keep it small"]);
        assert_eq!(charter.criteria, ["All tests pass."]);
        assert_eq!(
            charter.settings,
            [CharterSetting {
                name: "branch".into(),
                value: "main".into()
            }]
        );
        let lanes: Vec<(&str, String, String)> = charter
            .lanes
            .iter()
            .map(|lane| {
                (
                    lane.address.as_str(),
                    lane.owners.join(" "),
                    lane.paths.join(" "),
                )
            })
            .collect();
        let lane =
            |address, owners: &str, paths: &str| (address, owners.to_owned(), paths.to_owned());
        assert_eq!(
            lanes,
            [
                lane("lane:web", "@alice bob carol", "src/{web,css}/** docs"),
                lane("lane:ops", "all_engineers", ""),
                lane("lane:db", "frank", "")
            ]
        );
    }

    #[test]
    fn each_mistake_is_named_with_its_line() {
        for (text, line, word) in [
            ("## Lanes\n- web\n", 2, "names no owner"),
            ("## Lanes\n- web:\n", 2, "has no owner"),
            ("## Lanes\n- all: bob\n", 2, "cannot be the name"),
            ("## Lanes\n- a b: bob\n", 2, "cannot be the name"),
            (
                "## Lanes\n- web: bob\n- WEB: carol\n",
                3,
                "in line 2 already",
            ),
            ("## Lanes\n- web: b!b\n", 2, "not a valid address"),
            ("## Lanes\n- web: bob (../x)\n", 2, ".."),
            ("## Settings\n- branch\n", 2, "no name and value"),
            ("\n## Gaols\n- x\n", 2, "is not known"),
            ("## Goals\n\n<!-- x\n- y\n", 3, "the comment does not end"),
            ("## Goals\n```\n- y\n", 2, "the code block does not end"),
        ] {
            let charter = charter(text);
            let problem = charter
                .problems
                .first()
                .unwrap_or_else(|| panic!("no problem in {text:?}: {charter:?}"));
            assert_eq!(
                (problem.code.as_str(), problem.place.clone()),
                ("bad_charter", format!("line {line}")),
                "{text:?}"
            );
            assert!(
                problem.what.contains(word) && !problem.fix.is_empty(),
                "{text:?}: {problem}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(## (Goals|Lanes|Settings)\n|- |[a-z:,(*`<!>-]{0,6}|\\PC{0,4}|\n){0,30}") {
            let charter = charter(&text);
            prop_assert!(charter.problems.len() <= limits::PROBLEMS);
            prop_assert!(charter.lanes.iter().all(|lane| id::is_name(&lane.name)));
        }
    }
}
