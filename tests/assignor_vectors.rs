//! Conformance of the assignors with Kafka's classes: the cases of `tests/vectors/assignor_*` have the answers of Kafka's classes.
//!
//! Kafka's defects are not reproduced. Cases with a defect are tagged; they are counted, and the engine's answers only have to be
//! valid assignments. The environment variable `ASSIGNOR_VECTORS` names another folder with `assignor_*` files.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::sync::Arc;

use assignor::assign::{Assignor, Options, assign};
use assignor::group::{Group, Partitions, Racks, Topics};
use assignor::plan::Plan;
use flate2::read::GzDecoder;
use serde_json::Value;

/// Partitions by member.
type Answer = BTreeMap<String, BTreeSet<(String, i32)>>;

/// Tags of cases in which Kafka's answer shows a defect.
const DEFECTS: [&str; 4] = ["error", "not_a_partition", "gives_unsubscribed", "out_of_range"];

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn pair(value: &Value) -> (String, i32) {
    (text(&value[0]), i32::try_from(value[1].as_i64().unwrap()).unwrap())
}

/// Return the cases of a kind, and true if they are from `tests/vectors`.
fn cases(kind: &str) -> (Vec<Value>, bool) {
    let other = env::var_os("ASSIGNOR_VECTORS").filter(|folder| !folder.is_empty());
    let is_own = other.is_none();
    let folder = other.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors"), PathBuf::from);
    let of_kind = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(&format!("assignor_{kind}_")) && name.ends_with(".jsonl.gz")
    };
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(of_kind);
    let lines = paths.iter().flat_map(|path| BufReader::new(GzDecoder::new(File::open(path).unwrap())).lines());
    let found: Vec<Value> = lines.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(!found.is_empty(), "no vectors of the kind {kind}");
    (found, is_own)
}

/// Return the name, number of partitions, racks and id of each existing topic.
fn described_topics(case: &Value) -> Vec<(String, u32, Option<&Value>, Option<u128>)> {
    let count = |partitions: &Value| u32::try_from(partitions.as_u64().unwrap()).unwrap();
    if let Some(topics) = case["topics"].as_object() {
        let racks = |name: &str| case["replica_racks"].get(name);
        return topics.iter().map(|(name, count_)| (name.clone(), count(count_), racks(name), None)).collect();
    }
    let id = |topic: &Value| u128::from_str_radix(&text(&topic["id"]).replace('-', ""), 16).unwrap();
    let existing = list(&case["topics"]).iter().filter(|topic| topic["deleted"] != true);
    existing
        .map(|topic| (text(&topic["name"]), count(&topic["partitions"]), topic.get("replica_racks"), Some(id(topic))))
        .collect()
}

fn group(case: &Value) -> Group {
    let described = described_topics(case);
    let mut racks = Racks::default();
    let mut set = |replicas: &Value| {
        let mut on = list(replicas).iter().filter_map(Value::as_str).map(|rack| racks.number(rack)).collect();
        racks.set(&mut on)
    };
    let sets: Vec<Option<Vec<u32>>> = described
        .iter()
        .map(|(_, count, replicas, _)| {
            let of_partitions = replicas.map(|replicas| list(replicas).iter().map(&mut set).collect::<Vec<u32>>());
            of_partitions.filter(|sets| sets.len() == *count as usize)
        })
        .collect();
    let topics: Vec<(&str, Partitions)> = described
        .iter()
        .zip(sets)
        .map(|((name, count, ..), sets)| {
            let listed = sets.map(|sets| Partitions::listed(name, (0..).zip(sets).collect(), &racks).unwrap());
            (name.as_str(), listed.unwrap_or_else(|| Partitions::counted(*count)))
        })
        .collect();
    let mut group = Group::new(Arc::new(Topics::new(topics, racks)), 0);
    if case["assignor"] == "sticky" {
        group.set_from_wire();
    }
    for (name, .., id) in &described {
        let number = group.topic_number(name);
        if let Some(id) = id {
            group.set_topic_id(number, *id);
        }
    }
    for member in list(&case["members"]) {
        let wanted: Vec<u32> = list(&member["topics"]).iter().map(|name| group.topic_number(&text(name))).collect();
        let subscription = group.intern_subscription(&wanted);
        group.push(&text(&member["member_id"]), subscription, member["instance_id"].as_str(), member["rack"].as_str());
        set_member_data(&mut group, member);
    }
    group
}

fn set_member_data(group: &mut Group, member: &Value) {
    let byte = |hex: &str, index: usize| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap();
    let bytes = |hex: &str| (0..hex.len() / 2).map(|index| byte(hex, index)).collect::<Vec<u8>>();
    let user_data = member["user_data"].as_str().map(bytes);
    let generation = member["generation"].as_i64().map(|generation| i32::try_from(generation).unwrap());
    for owned in member.get("owned").or_else(|| member.get("assigned")).map(list).unwrap_or_default() {
        let (topic, id) = pair(owned);
        let topic = group.owned_topic_number(&topic);
        group.push_owned(topic, [id]);
    }
    group.set_member_data(user_data.as_deref(), generation.filter(|generation| *generation >= 0));
}

fn answer(plan: &Plan) -> Answer {
    let mut found = Answer::new();
    for (number, member) in plan.members().iter().enumerate() {
        let spans = plan.spans_of(number);
        let named = |topic: u32| plan.topics().get(topic as usize).to_owned();
        let partitions: Vec<(String, i32)> =
            spans.iter().flat_map(|span| span.ids().map(|id| (named(span.topic), id))).collect();
        let set: BTreeSet<(String, i32)> = partitions.iter().cloned().collect();
        assert_eq!(partitions.len(), set.len());
        found.insert(member.to_owned(), set);
    }
    found
}

fn expected(case: &Value) -> Answer {
    let members = list(&case["members"]).iter().map(|member| text(&member["member_id"]));
    members
        .map(|member| {
            let partitions = case["expected"].get(&member).map(list).unwrap_or_default();
            (member, partitions.iter().map(pair).collect())
        })
        .collect()
}

/// Check that each partition is given at most once, to a subscriber. If `is_whole`, all partitions with a subscriber must be given.
fn check_valid(case: &Value, answer: &Answer, is_whole: bool) {
    let name = &case["name"];
    let mut given = BTreeSet::new();
    let mut wanted = BTreeSet::new();
    for member in list(&case["members"]) {
        let topics: BTreeSet<String> = list(&member["topics"]).iter().map(text).collect();
        for partition in &answer[&text(&member["member_id"])] {
            assert!(topics.contains(&partition.0), "{name}: {partition:?}");
            assert!(given.insert(partition.clone()), "{name}: {partition:?}");
        }
        wanted.extend(topics);
    }
    let existing = described_topics(case);
    let all = existing.into_iter().filter(|(topic, ..)| wanted.contains(topic));
    let all: BTreeSet<_> =
        all.flat_map(|(topic, count, ..)| (0..count.cast_signed()).map(move |id| (topic.clone(), id))).collect();
    assert!(given.is_subset(&all), "{name}");
    assert!(!is_whole || given == all, "{name}");
}

/// Check the cases of a kind; `defective` is the number of cases with a defect of Kafka.
fn check(kind: &str, assignor: Assignor, defective: usize) {
    let (cases, is_own) = cases(kind);
    let is_defective = |case: &&Value| list(&case["tags"]).iter().any(|tag| DEFECTS.contains(&tag.as_str().unwrap()));
    let (apart, applying): (Vec<&Value>, Vec<&Value>) = cases.iter().partition(is_defective);
    for (case, is_equal) in applying.iter().map(|case| (case, true)).chain(apart.iter().map(|case| (case, false))) {
        let found = answer(&assign(&Arc::new(group(case)), Options { assignor, ..Options::default() }));
        check_valid(case, &found, assignor != Assignor::CooperativeSticky);
        assert!(!is_equal || expected(case) == found, "{}:\n{:?}\n{found:?}", case["name"], expected(case));
    }
    if is_own {
        assert_eq!((1000 - defective, defective), (applying.len(), apart.len()));
    }
}

#[test]
fn roundrobin_gives_kafkas_answers() {
    check("roundrobin", Assignor::RoundRobin, 0);
}

#[test]
fn sticky_gives_kafkas_answers() {
    check("sticky", Assignor::Sticky, 25);
}

#[test]
fn cooperative_sticky_gives_kafkas_answers() {
    check("cooperative_sticky", Assignor::CooperativeSticky, 31);
}

#[test]
fn server_uniform_gives_kafkas_answers() {
    check("server_uniform", Assignor::ServerUniform, 85);
}

#[test]
fn server_range_gives_kafkas_answers() {
    check("server_range", Assignor::ServerRange, 26);
}
