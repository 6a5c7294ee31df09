//! The transport over standard input and output. It records each request and each response.

use super::receipts::{LogicalTime, UnconfirmedMail};
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, GetExtensions, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, stdio};
use std::sync::Arc;
use tokio::io::{Stdin, Stdout};
use tokio::sync::watch;

/// The arrival time of a request, for its handler.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ArrivalTime(pub(super) LogicalTime);

/// The transport.
pub(super) struct StdioTransport {
    inner: AsyncRwTransport<RoleServer, Stdin, Stdout>,
    receipts: Arc<UnconfirmedMail>,
    ending: watch::Sender<bool>,
    ended: watch::Receiver<bool>,
}

impl StdioTransport {
    /// The transport, until `ending` is set. It sets `ending` itself when the input ends.
    pub(super) fn new(
        receipts: Arc<UnconfirmedMail>,
        ending: watch::Sender<bool>,
    ) -> StdioTransport {
        let (input, output) = stdio();
        let ended = ending.subscribe();
        StdioTransport {
            inner: AsyncRwTransport::new_server(input, output),
            receipts,
            ending,
            ended,
        }
    }
}

impl Transport<RoleServer> for StdioTransport {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            _ => None,
        };
        if let Some(request) = &answered {
            self.receipts.writing(request);
        }
        let (sending, receipts) = (self.inner.send(item), self.receipts.clone());
        async move {
            let sent = sending.await;
            match (&sent, answered) {
                (Ok(()), Some(request)) => receipts.written(&request),
                (Err(_), Some(request)) => receipts.lost(&request),
                (_, None) => {}
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = tokio::select! {
            message = self.inner.receive() => message,
            _ = self.ended.wait_for(|ended| *ended) => None,
        };
        match &mut message {
            // A call that waits for mail must not delay the end.
            None => drop(self.ending.send_replace(true)),
            Some(JsonRpcMessage::Request(request)) => {
                let came = ArrivalTime(self.receipts.came(&request.id));
                request.request.extensions_mut().insert(came);
            }
            Some(JsonRpcMessage::Notification(notification)) => {
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(request) = &cancelled.params.request_id
                {
                    self.receipts.lost(request);
                }
            }
            Some(_) => {}
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
