//! The variable that switches the guard off for a command or a session.

/// The variable.
pub const VARIABLE: &str = "MAILBAG_GUARD";

/// Returns true if the guard is switched off.
pub fn is_off() -> bool {
    std::env::var(VARIABLE).is_ok_and(|value| value.eq_ignore_ascii_case("off"))
}
