//! Accepts connections, within bounds on their number and duration, and follows the room.

use super::app::{ChangeSignal, WebApp};
use super::browsers::Browsers;
use super::connections::ConnectionTable;
use super::gate::PageGate;
use super::keeper;
use super::routes;
use super::timeout_stream::TimeoutStream;
use crate::base::error::{Error, ErrorContext, Result};
use crate::base::limits;
use crate::base::worker::WorkerThread;
use crate::base::written_path::write_path;
use crate::disk::machine;
use crate::room::Room;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// The number of threads that read the room for requests, in addition to one for each event stream. Other requests
/// wait.
const WEB_THREADS: usize = 8;
/// The time limit for the head of a request, and between two requests of a connection.
const WEB_HEAD: Duration = Duration::from_secs(5);

/// A page that listens.
#[derive(Debug, Clone, serde::Serialize)]
pub struct StartedPage {
    /// The URL that lets one browser in, once.
    pub url: String,
    /// The address.
    pub listen: SocketAddr,
    /// The room.
    #[serde(serialize_with = "write_path")]
    pub room: std::path::PathBuf,
    /// The port of the room's last page, if another program uses it.
    #[serde(skip)]
    pub port_in_use: Option<u16>,
    /// The file with the browsers that have entered.
    #[serde(skip)]
    pub browsers: Option<std::path::PathBuf>,
}

/// Serves the page on 127.0.0.1 until a signal. Port 0 is any free one. If no router runs, it also delivers mail.
pub fn serve(
    room: &Room,
    port: u16,
    started: &mut dyn FnMut(&StartedPage) -> Result<()>,
) -> Result<()> {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let cannot = |source| Error::Io {
        verb: "listen on",
        path: listen.to_string().into(),
        source,
    };
    let browsers = Browsers::of(room);
    let (listener, port_in_use) = bind(listen, &browsers).map_err(cannot)?;
    let listen = listener.local_addr().map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let file = browsers.file();
    let gate = PageGate::new(listen.port(), browsers);
    // A browser keeps the part after `#` to itself: no server, log or other page gets it.
    let url = format!("http://{listen}/#enter={}", gate.entry());
    let started_at = StartedPage {
        url,
        listen,
        room: room.dir.path().into(),
        port_in_use,
        browsers: file,
    };
    let (change, changes) = watch::channel(ChangeSignal::default());
    let app = Arc::new(WebApp::new(room, gate, changes));
    let (ending, ended) = watch::channel(false);
    machine::at_signals(&machine::END_SIGNALS, move |_| ending.send_replace(true))?;
    let streams = app.streams.clone();
    let is_watched = move || streams.available_permits() < limits::WEB_STREAMS;
    let kept = room.clone();
    let keeper: WorkerThread = WorkerThread::start("room", move |ended| {
        keeper::keep(&kept, &change, &is_watched, ended)
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(WEB_THREADS + limits::WEB_STREAMS)
        .build();
    let runtime = runtime.doing("start", "the runtime of the page")?;
    let served = started(&started_at).and_then(|()| runtime.block_on(accept(listener, app, ended)));
    runtime.shutdown_background();
    drop(keeper);
    served
}

/// Listens. A page that may choose its port takes the port of the last one, so that browsers find it again. Returns that
/// port if another program uses it.
fn bind(listen: SocketAddr, browsers: &Browsers) -> std::io::Result<(TcpListener, Option<u16>)> {
    if listen.port() != 0 {
        return Ok((TcpListener::bind(listen)?, None));
    }
    let last = browsers.port();
    if let Some(listener) =
        last.and_then(|port| TcpListener::bind(SocketAddr::new(listen.ip(), port)).ok())
    {
        return Ok((listener, None));
    }
    let listener = TcpListener::bind(listen)?;
    if last.is_none() {
        browsers.set_port(listener.local_addr()?.port());
    }
    Ok((listener, last))
}

async fn accept(
    listener: TcpListener,
    app: Arc<WebApp>,
    mut ended: watch::Receiver<bool>,
) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)
        .doing("listen on", "the address of the page")?;
    let connections = Arc::new(ConnectionTable::default());
    let service = TowerToHyperService::new(routes::routes(app));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ended.changed() => return Ok(()),
        };
        let (stream, _) = match accepted {
            Ok(accepted) => accepted,
            Err(e) => {
                tracing::debug!("{e}");
                // Too many open files, for example.
                tokio::time::sleep(limits::LOCK_LOOK).await;
                continue;
            }
        };
        let Some(connection) = connections.add() else {
            continue;
        };
        let (connections, service) = (connections.clone(), service.clone());
        tokio::spawn(async move {
            let answers = service_fn(|mut request: Request<Incoming>| {
                request.extensions_mut().insert(connection.clone());
                service.call(request)
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(WEB_HEAD);
            tokio::select! {
                served = http.serve_connection(TokioIo::new(TimeoutStream::new(stream)), answers) => {
                    if let Err(e) = served {
                        tracing::debug!("{e}");
                    }
                }
                () = connection.end.notified() => {}
            }
            connections.remove(&connection);
        });
    }
}
