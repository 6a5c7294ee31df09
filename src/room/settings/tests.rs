//! Reading and listing the settings of a room.

use super::*;

#[test]
fn a_value_that_leads_out_is_reset_and_listed() {
    // P301
    let text = "attach_from = [\"/etc\"]\ncontext = \"a/../../b\"\nworklog = \"a/README.md\"\n";
    let mut settings = Settings::parse(text).expect("settings");
    settings.withhold();
    let withheld = settings.withheld.iter().map(|one| one.key.as_str());
    assert_eq!(
        withheld.collect::<Vec<_>>(),
        ["context", "attach_from", "worklog"]
    );
    assert!(KEYS.iter().all(|key| !(key.leads_out)(&settings)));
    assert_eq!(settings.values(), Settings::default().values());
}

#[test]
fn the_listing_of_the_defaults_is_valid_and_equal_to_them() {
    let mut text = String::new();
    for setting in Settings::default().listing() {
        let mark = if setting.value.is_empty() { "#" } else { "" };
        text += &format!("{mark}{} = {}\n", setting.key, setting.value);
    }
    let again = Settings::parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    assert_eq!(again.values(), Settings::default().values());
    assert!(KEYS.len() <= 18);
}

#[test]
fn the_worklog_is_off_or_has_a_path() {
    for (value, path) in [
        ("false", None),
        ("true", Some("WORKLOG.md")),
        ("\"docs/W.md\"", Some("docs/W.md")),
    ] {
        let settings = Settings::parse(&format!("worklog = {value}\n")).expect(value);
        assert_eq!(settings.worklog.as_deref(), path);
        assert_eq!(to_toml(&settings.values()["worklog"]), value);
    }
}

#[test]
fn the_listing_names_the_source_of_a_value() {
    let settings =
        Settings::parse("# a room\ntag = \"po\"\nadmission = \"open\"\n").expect("settings");
    assert_eq!(
        (settings.tag.as_deref(), settings.admission),
        (Some("po"), SenderAdmission::Open)
    );
    let sources: Vec<_> = settings
        .listing()
        .iter()
        .map(|s| (s.key, s.source))
        .collect();
    assert_eq!(
        sources[..3],
        [
            ("tag", "settings.toml"),
            ("admission", "settings.toml"),
            ("context", "default")
        ]
    );
    let again: String = settings
        .listing()
        .iter()
        .filter(|s| !s.value.is_empty())
        .map(|s| format!("{} = {}\n", s.key, s.value))
        .collect();
    assert_eq!(
        Settings::parse(&again).expect("settings").names,
        settings.names
    );
    assert_eq!(Settings::parse("").expect("settings"), Settings::default());
    let names = Settings::default().names;
    assert!(names.len() == 134 && names.iter().all(|name| is_display_name(name)));
}

#[test]
fn budgets_are_whole_numbers_and_their_window_a_time() {
    let window = |text: &str| {
        Settings::parse(&format!("budget.window = {text}\n")).map(|s| s.budget.window.as_secs())
    };
    assert_eq!(window("\"1s\""), Ok(1));
    assert_eq!(window("\"10m\""), Ok(600));
    assert_eq!(window("\"24h\""), Ok(86_400));
    for bad in [
        "60",
        "\"60\"",
        "\"0s\"",
        "\"25h\"",
        "\"1.5m\"",
        "\"-1s\"",
        "\"s\"",
        "\"\"",
        "\"99999999999999999999h\"",
    ] {
        let problem = window(bad).expect_err(bad);
        assert!(
            problem.to_string().contains("a duration from 1s to 24h"),
            "{bad}: {problem:?}"
        );
    }
    for key in ["budget.messages", "budget.copies", "budget.replies"] {
        for bad in ["-1", "1.5", "\"60\"", "1_000_001"] {
            let problem = Settings::parse(&format!("{key} = {bad}\n")).expect_err(bad);
            assert!(
                problem
                    .to_string()
                    .contains("a whole number from 0 (no limit) to 1000000"),
                "{problem:?}"
            );
        }
    }
    assert_eq!(
        Settings::parse("budget.messages = 0x10\nbudget.replies = 0\n")
            .expect("settings")
            .budget
            .messages,
        16
    );
}
