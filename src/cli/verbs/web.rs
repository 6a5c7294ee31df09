//! `mailbag web`: shows the room in a browser.

use crate::base::error::{Error, Result};
use crate::cli::context::CommandContext;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mailbag web --open                # on this machine
  mailbag web --port 8025
  mailbag web --listen 192.168.1.5:8025 --password-file ~/.mailbag-password
  mailbag web --port 8025 --public https://mail.example.org   # behind a proxy
  mailbag web --sign-out            # all browsers have to enter again

The page shows what needs you, the agents and the timeline, and you act there as
the human: decide, reply, send. The printed URL lets one browser in. The browser
stays signed in for 30 days, also if the page is started again. For another
browser, start the page again and open the new URL.

For other machines, give an address of this machine and a password. The page speaks
HTTP: without an encrypted network, put a reverse proxy in front. Ctrl-C ends it.";

/// Show the room in a browser
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Port on 127.0.0.1; default: the room's last one if it is free
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// Address of this machine, for other machines; needs --password-file or --public
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<std::net::SocketAddr>,
    /// File with a password of at least 12 characters
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,
    /// URL of a reverse proxy in front of the page
    #[arg(long, value_name = "URL")]
    public: Option<String>,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
    /// Sign all browsers out, and end
    #[arg(long, conflicts_with_all = ["port", "listen", "password_file", "public", "open"])]
    sign_out: bool,
}

#[cfg(not(feature = "web"))]
pub(crate) fn run(_: Args, _: &mut CommandContext) -> Result<()> {
    Err(Error::usage(
        "this program was built without the page",
        "build it with `cargo build --release --features web`",
    ))
}

#[cfg(feature = "web")]
pub(crate) fn run(args: Args, cx: &mut CommandContext) -> Result<()> {
    use crate::commands::browse;
    use crate::room::actor::require_person;
    use crate::web::{PageAccess, WebOptions, serve};
    let room = cx.room()?;
    // The page acts as the human.
    require_person("open the page")?;
    if args.sign_out {
        return sign_out(&room, cx);
    }
    let password = args
        .password_file
        .as_deref()
        .map(browse::password)
        .transpose()?;
    let listen = args
        .listen
        .unwrap_or_else(|| ([127, 0, 0, 1], args.port.unwrap_or_default()).into());
    check(&args, listen, password.is_some())?;
    let access = PageAccess {
        public: args.public,
        password,
    };
    // Until the page ends.
    let mut opened = None;
    serve(&room, WebOptions { listen, access }, &mut |started| {
        if let Some(port) = started.port_in_use {
            cx.out.warn(&format!(
                "another program uses port {port} of the last page, so browsers have to enter again; if it is not a page \
                 of this room, an open tab may have sent it the browser's secret: run `mailbag web --sign-out`"
            ));
        }
        cx.out.show(&WebOutput::Started(started), |out| {
            out.line(format!(
                "the page of {} is at",
                crate::base::sanitize::line(&started.room.display().to_string())
            ))?;
            out.line(format!("  {}", started.url))?;
            out.done("Ctrl-C ends it")
        })?;
        cx.out.flush()?;
        opened = args.open.then(|| browse::open(&started.url)).transpose()?;
        Ok(())
    })?;
    drop(opened);
    Ok(())
}

/// The started page, or the browsers that were signed out.
#[cfg(feature = "web")]
#[derive(serde::Serialize)]
#[serde(untagged)]
pub(super) enum WebOutput<'a> {
    /// The page.
    Started(&'a crate::web::StartedPage),
    /// With `--sign-out`.
    SignedOut {
        /// The number of browsers that were signed out.
        signed_out: usize,
    },
}

#[cfg(feature = "web")]
fn sign_out(room: &crate::room::Room, cx: &mut CommandContext) -> Result<()> {
    let count = crate::web::sign_out(room)?;
    cx.out
        .show(&WebOutput::SignedOut { signed_out: count }, |out| {
            out.done(format!(
                "signed {} out",
                crate::base::text::count_of(count, "browser")
            ))
        })
}

/// Beyond this machine, the token in the URL is not enough.
#[cfg(feature = "web")]
fn check(args: &Args, listen: std::net::SocketAddr, has_password: bool) -> Result<()> {
    if !listen.ip().is_loopback() && !has_password && args.public.is_none() {
        return Err(Error::usage(
            format!("{listen} can be reached from other machines"),
            "pass --password-file FILE, or --public URL of a reverse proxy that asks for a password",
        ));
    }
    let is_url = |url: &String| url.starts_with("https://") || url.starts_with("http://");
    if let Some(url) = args
        .public
        .as_ref()
        .filter(|url| !is_url(url) || url.matches('/').count() > 3)
    {
        return Err(Error::usage(
            format!(
                "{} is not the URL of a host",
                crate::base::text::quoted(url)
            ),
            "write it as https://mail.example.org",
        ));
    }
    Ok(())
}
