//! Fuzz target: the text of `settings.toml`.

use mailbag::room::settings::Settings;

/// Reads the text. Accepted settings can be written from their listing and read back equal.
pub(crate) fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let settings = match Settings::parse(&text) {
        Ok(settings) => settings,
        Err(problem) => {
            assert!(
                !problem.what.is_empty() && !problem.fix.is_empty(),
                "{problem:?}"
            );
            let said = problem.what.len() + problem.fix.len();
            return assert!(said <= 64 << 10, "{said} bytes about {} bytes", bytes.len());
        }
    };
    let listing = settings.listing();
    let given = listing.iter().filter(|setting| !setting.value.is_empty());
    let written: String = given
        .map(|setting| format!("{} = {}\n", setting.key, setting.value))
        .collect();
    let again =
        Settings::parse(&written).unwrap_or_else(|e| panic!("doesn't read back: {e:?}\n{written}"));
    let values = |settings: &Settings| {
        settings
            .listing()
            .into_iter()
            .map(|s| (s.key, s.value))
            .collect::<Vec<_>>()
    };
    assert_eq!(values(&again), values(&settings));
}
