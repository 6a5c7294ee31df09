//! The promise at every crash: a simulated computer plays a story, is stopped at each of its steps, and gets every disk that
//! the stop can leave. Then the story continues, and its ending must be the same as without a crash.
//!
//! [`story`] plays the acts of a story, [`ending`] describes the room in the end, [`explore`] places the
//! crashes, and [`failing`] the calls that fail. [`plain`], [`features`], [`files`] and [`links`] are the stories;
//! [`controls`] shows that a missing sync is noticed, and [`images`] compares the
//! simulation with real power cuts.
//!
//! An ordinary run tries a sample of each story. `MAILBAG_SWEEP=first` tries every first crash and every failing call,
//! `MAILBAG_SWEEP=full` also every second crash and every error. A failure prints the seed; `MAILBAG_SEED` repeats it.

mod controls;
mod ending;
mod explore;
mod failing;
mod features;
mod files;
mod images;
mod kept;
mod links;
mod outcomes;
mod plain;
mod story;
