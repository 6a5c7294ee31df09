//! Accepts connections, within bounds on their number and their patience, and follows the room meanwhile.

use super::app::{App, Change};
use super::gate::{Access, Gate};
use super::keeper::Keeper;
use super::routes;
use crate::base::error::{Doing, Error, Result};
use crate::base::limits;
use crate::disk::machine;
use crate::room::Room;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// Where and for whom the page is.
#[derive(Debug, Clone)]
pub struct Options {
    /// The address to listen on. Port 0 is any free one.
    pub listen: SocketAddr,
    /// How people reach it.
    pub access: Access,
}

/// A page that listens.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Started {
    /// The URL that lets a browser in.
    pub url: String,
    /// The token in it, for programs: `Authorization: Bearer TOKEN`.
    pub token: String,
    /// The address.
    pub listen: SocketAddr,
    /// The room.
    pub room: std::path::PathBuf,
}

/// Serves the page until a signal. Delivers mail meanwhile, if no router runs.
pub fn serve(room: &Room, options: Options, started: &mut dyn FnMut(&Started) -> Result<()>) -> Result<()> {
    let Options { listen, access } = options;
    let cannot = |source| Error::Io { verb: "listen on", path: listen.to_string().into(), source };
    let listener = TcpListener::bind(listen).map_err(cannot)?;
    let listen = listener.local_addr().map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let base = access.public.clone().map_or_else(|| format!("http://{listen}"), |url| url.trim_end_matches('/').into());
    let gate = Gate::new(listen, access);
    let token = gate.token().to_owned();
    let started_at =
        Started { url: format!("{base}/enter?token={token}"), token, listen, room: room.dir.path().into() };
    let (change, changes) = watch::channel(Change::default());
    let app = Arc::new(App::new(room, gate, changes));
    let (ending, ended) = watch::channel(false);
    machine::at_signals(move || ending.send_replace(true))?;
    let streams = app.streams.clone();
    let keeper = Keeper::start(room, change, move || streams.available_permits() < limits::WEB_STREAMS)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(limits::WEB_THREADS + limits::WEB_STREAMS)
        .build();
    let runtime = runtime.doing("start", "the runtime of the page")?;
    let served = started(&started_at).and_then(|()| runtime.block_on(accept(listener, app, ended)));
    runtime.shutdown_background();
    drop(keeper);
    served
}

async fn accept(listener: TcpListener, app: Arc<App>, mut ended: watch::Receiver<bool>) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener).doing("listen on", "the address of the page")?;
    let places = Arc::new(Semaphore::new(limits::WEB_CONNECTIONS));
    let service = TowerToHyperService::new(routes::routes(app));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ended.changed() => return Ok(()),
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(e) => {
                tracing::debug!("{e}");
                // Too many open files, for example.
                tokio::time::sleep(limits::LOCK_LOOK).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let service = service.clone();
        tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(limits::WEB_HEAD);
            if let Err(e) = http.serve_connection(TokioIo::new(stream), service).await {
                tracing::debug!("{e}");
            }
            drop(place);
        });
    }
}
