//! The page: pending items, agents and mail, in a browser.
//!
//! In: a room, and an address to listen on. Out: pages, JSON with the schemas of `--json`, and a stream of events.
//!
//! `server` accepts connections, `gate` and `guard` decide who may ask, `browsers` knows who has entered, `views` shows, `api`
//! answers programs, `live` streams the timeline, and `forms` acts for the person: as `human`, through the same
//! commands as the terminal.
//!
//! It is a process of its own. If it dies, only the browser notices.
//!
//! Setup does not belong here: the page cannot change settings, consent or hooks.

mod api;
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
mod turns;
mod views;

pub use gate::PageAccess;
pub use server::{StartedPage, WebOptions, serve, sign_out};
