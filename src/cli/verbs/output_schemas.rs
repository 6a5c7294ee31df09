//! The files in `schema/output/` that follow from the types of the output.
#![cfg(test)]

use super::claims::ClaimsOutput;
use crate::clients::briefing::context::Fitted;
use crate::commands::approval::Outcome;
use crate::commands::gap::Loss;
use crate::commands::post::Posted;
use crate::commands::{
    archive, backup, charter, claim, dry_run, init, join, link, rejected, service,
};
use crate::disk::Dir;
use crate::doctor;
use crate::message::schema::output;
use crate::query::history::LoggedMessage;
use crate::query::{charter::RoomCharter, digest, head, links, pending, search, status};
use crate::query::{thread, trace, verify, who};
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value};

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
        "ack" "dismiss" "reply" "send" => Posted,
        "archive" => archive::Report,
        "backup" => backup::Report,
        "charter" => RoomCharter,
        "charter-init" => charter::Written,
        "claim" "handoff" "release" => claim::Decided,
        "claims" => ClaimsOutput<'static>,
        "context" => Fitted,
        "decide" => Outcome,
        "doctor" => doctor::Report,
        "init" => init::Init,
        "join" => join::Joined,
        "link-add" => link::Added,
        "link-rebind" "link-remove" => link::Changed,
        "link-test" => link::Probe,
        "link-list" => Vec<links::Listed>,
        "link-status" => Vec<links::Link>,
        "list" => Vec<LoggedMessage>,
        "log-accept-gap" => Loss,
        "log-digest" => digest::Digest,
        "log-head" => head::Head,
        "log-verify" => verify::Verified,
        "pending" => pending::PendingList,
        "rejected-drop" "rejected-list" => Vec<rejected::Rejected>,
        "rejected-retry" => Vec<rejected::Retried>,
        "rejected-show" => rejected::Shown,
        "search" => Vec<search::Hit>,
        "send-dry-run" => dry_run::DryRun,
        "service-install" "service-uninstall" => service::Changed,
        "service-status" => service::Status,
        "status" => status::Status,
        "thread" => Vec<thread::Whole<'static>>,
        "topic-subscribe" "topic-unsubscribe" => Vec<Posted>,
        "trace" => trace::Trace,
        "who" => who::Everybody,
    };
    let directory = Dir::open("schema/output".as_ref()).expect("the schemas");
    let is_update = std::env::var_os("MAILBAG_WRITE_SCHEMAS").is_some();
    for (name, text) in generated {
        if is_update {
            let file = format!("{name}.schema.json");
            directory.replace(file, text.as_bytes()).expect("written");
        } else {
            let advice = "run this test with MAILBAG_WRITE_SCHEMAS=1, then again without it";
            assert_eq!(output(name), Some(&*text), "{name}: {advice}");
        }
    }
}

fn schema_of<T: JsonSchema>(name: &str) -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(remove_integer_format).transform(&mut schema);
    RecursiveTransform(remove_null_of_optional_fields).transform(&mut schema);
    let mut generated = std::mem::take(schema.ensure_object());
    let description = generated.shift_remove("description");
    let title = description
        .as_ref()
        .and_then(Value::as_str)
        .unwrap_or("A list");
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
