//! The transport over standard input and output. It records each request and each response.

use super::lines::{InputLine, LineReader};
use super::receipts::{LogicalTime, UnconfirmedMail};
use crate::base::{json_text, limits, sanitize};
use rmcp::RoleServer;
use rmcp::model::{
    ClientNotification, ErrorCode, ErrorData, GetExtensions, JsonRpcMessage, RequestId,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, stdio};
use serde::Deserialize;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{BufReader, Empty, Stdin, Stdout, empty};
use tokio::sync::watch;

/// The arrival time of a request, for its handler.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ArrivalTime(pub(super) LogicalTime);

/// The transport.
pub(super) struct StdioTransport {
    streams: StdioStreams,
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
            streams: StdioStreams {
                input: LineReader::new(BufReader::new(input), limits::TOOL_LINE_BYTES),
                rejecting: None,
                output: AsyncRwTransport::new_server(empty(), output),
            },
            receipts,
            ending,
            ended,
        }
    }
}

/// Standard input and output.
///
/// Lines are read here: the SDK's transport drops a line that it cannot parse, and the client waits forever for the answer.
struct StdioStreams {
    input: LineReader<BufReader<Stdin>>,
    /// The unfinished answer to a line that is not a message.
    rejecting: Option<PendingSend>,
    output: AsyncRwTransport<RoleServer, Empty, Stdout>,
}

type PendingSend = Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>>;

impl StdioStreams {
    /// The next message. Answers lines that are not messages. `None` at the end of the input. Can be cancelled and repeated,
    /// because the SDK cancels [`Transport::receive`] when it has something to send.
    async fn next_message(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(sending) = &mut self.rejecting {
                let sent = sending.await;
                self.rejecting = None;
                sent.ok()?;
            }
            let read = self.input.next_line().await;
            let line = read
                .inspect_err(|e| tracing::warn!("cannot read from the client: {e}"))
                .ok()??;
            let parsed = match line {
                InputLine::Text(line) => parse_line(&line),
                InputLine::TooLong => reject_long_line(),
            };
            match parsed {
                ParsedLine::Message(message) => return Some(*message),
                ParsedLine::Ignored => {}
                ParsedLine::Rejected { request, error } => {
                    tracing::warn!("{}", error.message);
                    let answer = JsonRpcMessage::error(error, request);
                    self.rejecting = Some(Box::pin(self.output.send(answer)));
                }
            }
        }
    }
}

/// A line of the client.
enum ParsedLine {
    Message(Box<RxJsonRpcMessage<RoleServer>>),
    /// A blank line, or a notification that the SDK does not know.
    Ignored,
    Rejected {
        /// The request that gets the answer, if the line is one.
        request: Option<RequestId>,
        error: ErrorData,
    },
}

/// The fields that show the kind of a message. The other fields may nest deeper than a message can.
#[derive(Deserialize)]
struct LineHead {
    method: Option<String>,
    id: Option<RequestId>,
}

fn parse_line(line: &[u8]) -> ParsedLine {
    let text = json_text::decode(line);
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return ParsedLine::Ignored;
    }
    let problem = match serde_json::from_str(text) {
        Ok(message) => return ParsedLine::Message(Box::new(message)),
        Err(problem) => problem,
    };
    let request = match serde_json::from_str(text) {
        Ok(LineHead {
            method: Some(_),
            id: None,
        }) => return ParsedLine::Ignored,
        Ok(LineHead {
            method: Some(_),
            id,
        }) => id,
        // The id of an answer belongs to a request of this server.
        _ => None,
    };
    let code = if problem.is_data() {
        ErrorCode::INVALID_REQUEST
    } else {
        ErrorCode::PARSE_ERROR
    };
    let what = format!("this line is not a valid message: {problem}");
    let what = sanitize::line(&what).into_owned();
    ParsedLine::Rejected {
        request,
        error: ErrorData::new(code, what, None),
    }
}

fn reject_long_line() -> ParsedLine {
    let what = format!(
        "this line has more than {} bytes; no message is that large",
        limits::TOOL_LINE_BYTES
    );
    ParsedLine::Rejected {
        request: None,
        error: ErrorData::new(ErrorCode::INVALID_REQUEST, what, None),
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
        let (sending, receipts) = (self.streams.output.send(item), self.receipts.clone());
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
            message = self.streams.next_message() => message,
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
        self.streams.output.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::NumberOrString;

    fn call(arguments: &str) -> String {
        format!(
            r#"{{"method":"tools/call","params":{{"name":"send_message","arguments":{arguments}}},"jsonrpc":"2.0","id":7}}"#
        )
    }

    #[track_caller]
    fn rejected(line: &str) -> (Option<RequestId>, i32) {
        match parse_line(line.as_bytes()) {
            ParsedLine::Rejected { request, error } => (request, error.code.0),
            ParsedLine::Message(_) | ParsedLine::Ignored => panic!("not rejected: {line}"),
        }
    }

    #[test]
    fn a_request_that_cannot_be_parsed_is_rejected_with_its_id() {
        let seven = Some(NumberOrString::Number(7));
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert_eq!(
            rejected(&call(&format!(r#"{{"metadata":{deep}}}"#))),
            (seven.clone(), ErrorCode::PARSE_ERROR.0)
        );
        assert_eq!(
            rejected(r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#),
            (seven, ErrorCode::INVALID_REQUEST.0)
        );
    }

    #[test]
    fn a_line_that_is_no_request_is_rejected_without_an_id() {
        for line in ["garbage", "{oops", r#"{"id":7,"method":"ping""#] {
            assert_eq!(rejected(line), (None, ErrorCode::PARSE_ERROR.0), "{line}");
        }
        assert_eq!(
            rejected(r#"{"jsonrpc":"2.0","id":7}"#),
            (None, ErrorCode::INVALID_REQUEST.0)
        );
    }

    #[test]
    fn blank_lines_and_unknown_notifications_are_ignored() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let notification = format!(r#"{{"jsonrpc":"2.0","method":"x","params":{deep}}}"#);
        for line in ["\n", "\r\n", "\u{feff}", &notification] {
            let parsed = parse_line(line.as_bytes());
            assert!(matches!(parsed, ParsedLine::Ignored), "{line:?}");
        }
    }
}
