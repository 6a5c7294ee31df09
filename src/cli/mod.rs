//! The command line: parse, call an action, show.
