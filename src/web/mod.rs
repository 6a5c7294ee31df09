//! The page: pending items, agents and mail, in a browser.
//!
//! In: a room, and a port of 127.0.0.1. Out: pages, and a stream of events.
//!
//! `server` accepts connections, `gate` and `guard` decide who may ask, `browsers` knows who has entered, `views` shows, `live`
//! streams the timeline, and `forms` acts for the person: as `human`, through the same commands as the terminal.
//!
//! It is a process of its own. If it dies, only the browser notices.
//!
//! Setup does not belong here: the page cannot change settings, consent or hooks.

mod app;
mod assets;
mod browsers;
mod connections;
mod forms;
mod gate;
mod guard;
mod keeper;
mod live;
mod timeout_stream;
mod reply;
mod request;
mod routes;
mod server;
mod views;

pub use server::{StartedPage, serve};
