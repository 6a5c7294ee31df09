//! The files in `schema/output/` that follow from the types of the output.
#![cfg(all(test, feature = "web"))]

use super::agent::AgentOutput;
use super::ask::AskOutput;
use super::claims::ClaimsOutput;
use super::demo::DemoOutput;
use super::install::{self, status::InstallStatus};
use super::link_carry::ExchangeResult;
use super::run::PassReport;
use super::share::ShareOutput;
use super::take::{LeaseOutput, TakeOutput};
use super::trust::TrustOutput;
use super::up;
use super::web::WebOutput;
use crate::cli::show::output::ErrorOutput;
use crate::clients::briefing::context::FittedContext;
use crate::commands::approval::ApprovalOutcome;
use crate::commands::gap::LogLoss;
use crate::commands::post::SendResult;
use crate::commands::topic::Topic;
use crate::commands::{
    archive, backup, charter, claim, dry_run, init, join, link, rejected, service,
};
use crate::disk::Dir;
use crate::doctor;
use crate::message::record::EventKind;
use crate::message::schema::OUTPUTS;
use crate::query::channel::{Channel, ChannelLine};
use crate::query::charter::RoomCharter;
use crate::query::events::LogEvent;
use crate::query::history::LoggedMessage;
use crate::query::inbox::{FullInboxMessage, InboxMessage};
use crate::query::{digest, head, links, pending, search, status, timeline};
use crate::query::{thread, trace, verify, who};
use crate::room::registry::Agent;
use crate::room::settings::Setting;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident { $field:ident })*) => {
        $($(#[$doc])*
        #[derive(JsonSchema)]
        struct $name<T> {
            #[expect(dead_code, reason = "only its schema is used")]
            $field: Vec<T>,
        })*
    };
}

lists! {
    /// Agents
    Agents { agents }
    /// Channels
    Channels { channels }
    /// Links
    Links { links }
    /// Messages
    Messages { messages }
    /// Rejected files
    RejectedFiles { rejected }
    /// Rejected files that were sent again
    RetriedFiles { retried }
    /// Settings
    SettingList { settings }
    /// Topics
    Topics { topics }
}

/// A record of the log. The protocol describes all fields
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct RecordOutput {
    seq: u64,
    at: String,
    batch: u64,
    prev: String,
    event: EventKind,
    #[schemars(flatten)]
    rest: Map<String, Value>,
}

/// The number of agents by role
#[derive(JsonSchema)]
#[schemars(transparent)]
#[expect(dead_code, reason = "only its schema is used")]
struct RoleCounts(BTreeMap<String, usize>);

/// Changes in the files of a client or a repository, or with `--status` the installation status
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum InstallOutput<'a> {
    Changes(install::InstallChanges<'a>),
    Status(InstallStatus<'a>),
}

/// The comment in each generated schema.
const GENERATED: &str = "Generated from the type of the output by cli/verbs/output_schemas.rs.";

macro_rules! schemas {
    ($($($name:literal)+ => $type:ty,)*) => {
        [$($(($name, schema_of::<$type>($name)),)+)*]
    };
}

/// With `MAILBAG_WRITE_SCHEMAS=1`, writes the files again.
#[test]
fn output_schemas_are_generated_from_their_types() {
    let generated = schemas! {
        "ack" "dismiss" "reply" "send" => SendResult,
        "agent-add" "agent-list" => Agents<Agent>,
        "agent-remove" "agent-retire" "agent-set" "agent-show" => AgentOutput<'static>,
        "agent-roles" => RoleCounts,
        "archive" => archive::ArchiveReport,
        "ask" => AskOutput<'static>,
        "backup" => backup::BackupReport,
        "channel-list" => Channels<Channel>,
        "channel-show" "channel-watch" => ChannelLine<'static>,
        "charter" => RoomCharter,
        "charter-init" => charter::CharterTemplate,
        "claim" "handoff" "release" => claim::ClaimDecision,
        "claims" => ClaimsOutput<'static>,
        "context" => FittedContext,
        "decide" => ApprovalOutcome,
        "demo" => DemoOutput<'static>,
        "doctor" => doctor::DoctorReport,
        "error" => ErrorOutput,
        "inbox" => Messages<InboxMessage>,
        "init" => init::InitReport,
        "install" => InstallOutput<'static>,
        "join" => join::JoinResult,
        "link-add" => link::AddedLink,
        "link-rebind" "link-remove" => link::RecordedLinkChange,
        "link-test" => link::ProbeResult,
        "link-list" => Links<links::ConfiguredLink>,
        "link-status" => Links<links::LinkStatus>,
        "link-run" => ExchangeResult,
        "list" => Messages<LoggedMessage>,
        "list-follow" => FullInboxMessage<'static>,
        "log" => RecordOutput,
        "log-accept-gap" => LogLoss,
        "log-digest" => digest::LogDigest,
        "log-events" => LogEvent,
        "log-head" => head::LogHead,
        "log-verify" => verify::VerifiedLog,
        "pending" => pending::PendingList,
        "read" "wait" => Messages<FullInboxMessage<'static>>,
        "rejected-drop" "rejected-list" => RejectedFiles<rejected::ListedRejection>,
        "rejected-retry" => RetriedFiles<rejected::RetryResult>,
        "rejected-show" => rejected::RejectedDetails,
        "run" => PassReport,
        "search" => Messages<search::SearchHit>,
        "send-dry-run" => dry_run::DryRun,
        "service-install" "service-uninstall" => service::ServiceChange,
        "service-status" => service::ServiceStatus,
        "settings" => SettingList<Setting>,
        "share" => ShareOutput,
        "status" => status::RoomStatus,
        "take" => TakeOutput<'static>,
        "take-done" => LeaseOutput<'static>,
        "thread" => Messages<thread::FullMessage<'static>>,
        "topic-list" => Topics<Topic>,
        "topic-subscribe" "topic-unsubscribe" => Messages<SendResult>,
        "trace" => trace::MessageTrace,
        "trust" => TrustOutput<'static>,
        "uninstall" => install::InstallChanges<'static>,
        "up" => up::UpOutput<'static>,
        "watch" => timeline::TimelineLine,
        "web" => WebOutput<'static>,
        "who" => who::KnownAgents,
    };
    let directory = Dir::open("schema/output".as_ref()).expect("the schemas");
    let is_update = std::env::var_os("MAILBAG_WRITE_SCHEMAS").is_some();
    let texts: BTreeMap<&str, String> = generated.into_iter().collect();
    if is_update {
        for (name, text) in &texts {
            let file = format!("{name}.schema.json");
            directory.replace(file, text.as_bytes()).expect("written");
        }
        return;
    }
    let known: BTreeMap<&str, String> = OUTPUTS
        .iter()
        .map(|(name, text)| (*name, (*text).to_owned()))
        .collect();
    let advice = "run this test with MAILBAG_WRITE_SCHEMAS=1, then again without it";
    assert_eq!(known, texts, "{advice}");
}

fn schema_of<T: JsonSchema>(name: &str) -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(remove_integer_format).transform(&mut schema);
    RecursiveTransform(remove_null_of_optional_fields).transform(&mut schema);
    let mut generated = std::mem::take(schema.ensure_object());
    let description = generated.shift_remove("description");
    let title = description.as_ref().and_then(Value::as_str);
    let title = title.expect("a doc comment");
    let mut fields = Map::new();
    fields.extend(generated.shift_remove_entry("$schema"));
    fields.insert(
        "$id".into(),
        format!("urn:mailbag:schema:output:{name}:1").into(),
    );
    fields.insert("title".into(), title.trim_end_matches('.').into());
    fields.insert("$comment".into(), GENERATED.into());
    generated.shift_remove("title");
    fields.extend(generated);
    serde_json::to_string_pretty(&fields).expect("a schema has only text keys") + "\n"
}

// JSON Schema does not define the formats `uint64` and the like.
fn remove_integer_format(schema: &mut Schema) {
    let format = schema.get("format").and_then(Value::as_str);
    if format.is_some_and(|format| format.contains("int")) {
        schema.remove("format");
    }
}

// A field that is not required is left out if it has no value.
fn remove_null_of_optional_fields(schema: &mut Schema) {
    let required = schema.get("required").cloned().unwrap_or_default();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, field) in properties.into_iter().flatten() {
        let is_required = required
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one == name));
        if let Some(field) = field.as_object_mut()
            && !is_required
        {
            remove_null(field);
        }
    }
}

fn remove_null(field: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = field.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = &types[..] {
            field["type"] = one.clone();
        }
    }
    if let Some(Value::Array(options)) = field.get_mut("anyOf") {
        options.retain(|one| one["type"] != "null");
        if let [Value::Object(only)] = &options[..] {
            let only = only.clone();
            field.shift_remove("anyOf");
            field.extend(only);
        }
    }
}
