//! Reader of a mapping of member ids to subscriptions.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyFrozenSet, PyList, PyMapping, PySet, PyString, PyTuple, PyType};

use super::named_topics::NamedTopics;
use super::pattern_subscriptions::{PatternSubscriptions, Wanted};
use super::patterns;
use super::subscriptions::SubscriptionInterner;
use super::topic_ids::TopicIds;
use super::values::{each_item, expected_len, iterate, plain, with_name};
use crate::group::{Group, java_order};
use crate::memory;
use crate::python::error::wrong_type;
use crate::python::imports::{SUBSCRIPTION, TOPIC_PARTITION};
use crate::python::interrupt::Steps;
use crate::python::objects::entries::{Entry, lend, references};
use crate::python::objects::ints;
use crate::python::objects::slots::Slots;
use crate::python::objects::tuple_class::TupleClass;

/// Attributes of a `Subscription`, in the order of `SubscriptionField`.
const FIELDS: [&str; 8] =
    ["topics", "pattern", "dialect", "group_instance_id", "rack", "user_data", "owned_partitions", "generation"];

/// The class `Subscription`, its slots, and the class of owned partitions. It is imported for the first value that is not a
/// container, because importing it takes longer than a small assignment.
#[derive(Clone, Copy)]
struct SubscriptionClass<'py> {
    class: &'py Bound<'py, PyType>,
    slots: &'py Slots<{ FIELDS.len() }>,
    partition: &'py TupleClass,
}

static SLOTS: PyOnceLock<Slots<{ FIELDS.len() }>> = PyOnceLock::new();
static PARTITION_CLASS: PyOnceLock<TupleClass> = PyOnceLock::new();

impl<'py> SubscriptionClass<'py> {
    fn get(py: Python<'py>) -> PyResult<Self> {
        let class = SUBSCRIPTION.get(py)?;
        Ok(Self {
            class,
            slots: SLOTS.get_or_try_init(py, || Slots::new(class, FIELDS))?,
            partition: PARTITION_CLASS.get_or_try_init(py, || TupleClass::new(TOPIC_PARTITION.get(py)?))?,
        })
    }
}

/// Attribute of a `Subscription`: its place in `FIELDS`.
#[derive(Clone, Copy)]
enum SubscriptionField {
    Topics,
    Pattern,
    Dialect,
    GroupInstanceId,
    Rack,
    UserData,
    OwnedPartitions,
    Generation,
}

/// Instance of `Subscription` or of a derived class.
struct SubscriptionObject<'a, 'py> {
    object: &'a Bound<'py, PyAny>,
    /// Slots of the class itself; None for a derived class, which may override the attributes.
    slots: Option<&'a Slots<{ FIELDS.len() }>>,
}

impl<'py> SubscriptionObject<'_, 'py> {
    fn get(&self, field: SubscriptionField) -> PyResult<Bound<'py, PyAny>> {
        match self.slots {
            Some(slots) => slots.get(field as usize, self.object),
            None => self.object.getattr(FIELDS[field as usize]),
        }
    }
}

/// Read a mapping of member ids to subscriptions; return the group, and the ids as Python has them.
pub(crate) fn read(
    topics: &NamedTopics,
    subscriptions: &Bound<'_, PyAny>,
    topic_ids: Option<&TopicIds>,
) -> PyResult<(Arc<Group>, Vec<Py<PyString>>)> {
    let py = subscriptions.py();
    let expected = expected_len(subscriptions);
    ints::check(py);
    // `Group` is a large struct: it is filled in its place in memory.
    let mut shared = Arc::new(Group::new(Arc::clone(&topics.topics), expected));
    let group = Arc::get_mut(&mut shared).expect("the group has no other reference");
    let mut reader = MemberReader {
        topics,
        group,
        patterns: PatternSubscriptions::default(),
        interner: SubscriptionInterner::new(topics.in_input_order()),
        class: None,
        none: py.None().as_ptr() as usize,
        steps: Steps::default(),
    };
    let mut ids = Vec::with_capacity(expected);
    each_item(subscriptions, "subscriptions", "member ids to subscriptions", |name, subscription| {
        let id = plain(name, || "a member id".into())?;
        reader.member(&id, subscription)?;
        ids.push(id.unbind());
        Ok(())
    })?;
    if let Some(topic_ids) = topic_ids {
        topic_ids.set_in(group, topics);
    }
    Ok((shared, ids))
}

struct MemberReader<'py> {
    topics: &'py NamedTopics,
    group: &'py mut Group,
    patterns: PatternSubscriptions,
    interner: SubscriptionInterner,
    /// None until a value is not a container.
    class: Option<SubscriptionClass<'py>>,
    /// Address of `None`.
    none: usize,
    steps: Steps,
}

impl<'py> MemberReader<'py> {
    fn member(&mut self, id: &Bound<'py, PyString>, subscription: &Bound<'py, PyAny>) -> PyResult<()> {
        if self.steps.count(id.py())? {
            self.interner.forget_addresses();
        }
        let what = || "a member id".into();
        if is_container(subscription) {
            return with_name(id, what, |id| self.member_with_names(id, subscription))?;
        }
        let class = if let Some(class) = self.class {
            class
        } else {
            if SLOTS.get(id.py()).is_none() {
                self.interner.forget_addresses(); // the import runs Python code
            }
            *self.class.insert(SubscriptionClass::get(id.py())?)
        };
        let of_kind = subscription.get_type_ptr() == class.class.as_type_ptr();
        if of_kind && with_name(id, what, |id| self.plain_subscription(class, id, subscription))?? {
            return Ok(());
        }
        if !of_kind && !subscription.is_instance(class.class)? {
            if subscription.cast::<PyMapping>().is_ok() {
                // Its keys would be read as names of topics.
                let wanted = "a Subscription, such as Subscription(topics=['orders']), or an iterable of topic names";
                return with_name(id, what, |id| {
                    Err(wrong_type(&format!("member '{id}': a subscription"), wanted, subscription))
                })?;
            }
            return with_name(id, what, |id| self.member_with_names(id, subscription))?;
        }
        if !of_kind {
            self.interner.forget_addresses();
        }
        let subscription = SubscriptionObject { object: subscription, slots: of_kind.then_some(class.slots) };
        with_name(id, what, |id| self.subscription(class, id, &subscription))??;
        if !of_kind {
            self.interner.forget_addresses(); // its attributes may be user code
        }
        Ok(())
    }

    fn member_with_names(&mut self, id: &str, names: &Bound<'_, PyAny>) -> PyResult<()> {
        let number = self.names(id, names)?;
        self.group.push(id, number, None, None);
        Ok(())
    }

    fn names(&mut self, id: &str, names: &Bound<'_, PyAny>) -> PyResult<u32> {
        intern_names(self.group, &mut self.interner, &Owner::Member(id), names)
    }

    /// Return the subscription to the topics and the patterns of a `Subscription`.
    fn topics_and_patterns(&mut self, id: &str, subscription: &SubscriptionObject<'_, '_>) -> PyResult<u32> {
        let py = subscription.object.py();
        let names = subscription.get(SubscriptionField::Topics)?;
        let pattern = subscription.get(SubscriptionField::Pattern)?;
        if pattern.is_none() {
            return self.names(id, &names);
        }
        let owner = Owner::Member(id).to_string();
        let wanted = Wanted {
            names: listed_names(&Owner::Member(id), &names)?,
            patterns: patterns::texts(&pattern, &owner)?,
            dialect: patterns::dialect(&subscription.get(SubscriptionField::Dialect)?)?,
        };
        let number = self.patterns.intern(py, self.group, self.topics, wanted, &owner);
        self.interner.forget_addresses(); // other threads may have run
        number
    }

    /// Add a member that has only topics, a rack, owned partitions, and the generation of an earlier member; return false for any
    /// other member.
    ///
    /// Most members of a large group share such objects. The objects are recognised by their addresses.
    fn plain_subscription(
        &mut self,
        class: SubscriptionClass<'_>,
        id: &str,
        subscription: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        use SubscriptionField::{Generation, GroupInstanceId, OwnedPartitions, Pattern, Rack, Topics, UserData};
        let Some(addresses) = class.slots.addresses(subscription) else { return Ok(false) };
        let address = |field: SubscriptionField| addresses[field as usize];
        if [Pattern, GroupInstanceId, UserData].into_iter().any(|field| address(field) != self.none) {
            return Ok(false);
        }
        let generation = self.interner.known_generation(address(Generation));
        if generation.is_none() && address(Generation) != self.none {
            return Ok(false);
        }
        let owned = class.slots.get(OwnedPartitions as usize, subscription)?;
        if !owned.is_exact_instance_of::<PyTuple>() {
            return Ok(false);
        }
        let rack = class.slots.get(Rack as usize, subscription)?;
        let rack = Some(&rack).filter(|rack| !rack.is_none()).map(|rack| Entry::of(rack).text());
        if rack == Some(None) {
            return Ok(false);
        }
        let number = if let Some(number) = self.interner.known_container(address(Topics)) {
            number
        } else {
            let names = class.slots.get(Topics as usize, subscription)?;
            if !names.is_exact_instance_of::<PyTuple>() {
                return Ok(false);
            }
            self.names(id, &names)?
        };
        self.group.push(id, number, None, rack.flatten());
        self.owned_partitions(class, &owned)?;
        self.group.set_member_data(None, generation);
        Ok(true)
    }

    /// Add the owned partitions of the member added last.
    fn owned_partitions(&mut self, class: SubscriptionClass<'_>, owned: &Bound<'_, PyAny>) -> PyResult<()> {
        let read = lend(owned, |partitions| {
            let read = self.interner.read_owned(self.group, class.partition, partitions);
            (read, partitions.len())
        });
        let (read, length) = read.unwrap_or((0, usize::MAX));
        if read < length {
            push_owned_partitions(self.group, owned, read)?;
            self.interner.forget_addresses(); // `__index__` may be user code
        }
        Ok(())
    }

    fn subscription(
        &mut self,
        class: SubscriptionClass<'_>,
        id: &str,
        subscription: &SubscriptionObject<'_, '_>,
    ) -> PyResult<()> {
        let instance_id = subscription.get(SubscriptionField::GroupInstanceId)?;
        let instance_id = optional(&instance_id, id, "group_instance_id")?;
        let rack = subscription.get(SubscriptionField::Rack)?;
        let rack = optional(&rack, id, "rack")?;
        let number = self.topics_and_patterns(id, subscription)?;
        self.group.push(id, number, instance_id, rack);
        let user_data = subscription.get(SubscriptionField::UserData)?;
        let owned = subscription.get(SubscriptionField::OwnedPartitions)?;
        let generation = subscription.get(SubscriptionField::Generation)?;
        let is_plain = user_data.is_none() || user_data.is_exact_instance_of::<PyBytes>();
        if is_plain && owned.is_exact_instance_of::<PyTuple>() {
            if user_data.is_none() && generation.is_none() && owned.len()? == 0 {
                return Ok(());
            }
        } else {
            self.interner.forget_addresses(); // user code may have run
        }
        // A number beyond int32 and a negative number are not generations.
        let number = generation.extract::<Option<i32>>().unwrap_or_default().filter(|number| *number >= 0);
        if let Some(number) = number {
            self.interner.note_generation(generation.as_ptr() as usize, number);
        }
        self.owned_partitions(class, &owned)?;
        let user_data = user_data.extract::<Option<Cow<'_, [u8]>>>()?;
        self.group.set_member_data(user_data.as_deref(), number);
        Ok(())
    }
}

/// Owner of topics, as errors name it.
pub(crate) enum Owner<'a> {
    /// The member of that id.
    Member(&'a str),
    /// The subscription of that number.
    Subscription(usize),
}

impl fmt::Display for Owner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(id) => write!(f, "member '{id}'"),
            Self::Subscription(number) => write!(f, "subscription {number}"),
        }
    }
}

/// Return the subscription to the names in a container or iterable; errors name their `owner`.
pub(crate) fn intern_names(
    group: &mut Group,
    interner: &mut SubscriptionInterner,
    owner: &Owner<'_>,
    names: &Bound<'_, PyAny>,
) -> PyResult<u32> {
    if !is_container(names) {
        return intern_iterable(group, interner, owner, names);
    }
    let address = names.as_ptr() as usize;
    // The mapping or subscription holds one reference, and this reader one or two. If there are more references, other
    // members probably share the container.
    let is_shared = references(names) > 3;
    if is_shared && let Some(number) = interner.known_container(address) {
        return Ok(number);
    }
    let is_set = names.is_exact_instance_of::<PySet>() || names.is_exact_instance_of::<PyFrozenSet>();
    let number = match lend(names, |entries| interner.intern(group, entries, is_set)) {
        Some(Ok(number)) => number,
        Some(Err(place)) => {
            // The entry at this place was not a name. If it is one now, other code has changed the container.
            let entry = names.try_iter()?.nth(place).transpose()?;
            entry.map_or(Ok(()), |entry| with_name(&entry, || format!("{owner}: a topic"), |_| ()))?;
            return intern_iterable(group, interner, owner, names);
        }
        None => return intern_iterable(group, interner, owner, names),
    };
    if is_shared {
        interner.note_container(address, number);
    }
    Ok(number)
}

/// Return the subscription to the names of an iterable. Its code may change anything that was read before.
fn intern_iterable(
    group: &mut Group,
    interner: &mut SubscriptionInterner,
    owner: &Owner<'_>,
    names: &Bound<'_, PyAny>,
) -> PyResult<u32> {
    let found = listed_names(owner, names)?;
    interner.forget_addresses();
    Ok(interner.intern_texts(group, found.iter().map(String::as_str)))
}

/// Return the names of an iterable; those of a set in Java's order.
fn listed_names(owner: &Owner<'_>, names: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    let type_error = || wrong_type(&format!("{owner}: topics"), "an iterable of topic names", names);
    let mut found: Vec<String> = Vec::new();
    for name in iterate(names, type_error)? {
        let name = with_name(&name?, || format!("{owner}: a topic"), str::to_owned)?;
        memory::push(&mut found, name, "a subscription", "topics")?;
    }
    if names.is_instance_of::<PySet>() || names.is_instance_of::<PyFrozenSet>() {
        found.sort_unstable_by(|left, right| java_order(left, right));
    }
    Ok(found)
}

/// Return the text of a field that may be None.
pub(crate) fn optional<'s>(value: &'s Bound<'_, PyAny>, member: &str, field: &str) -> PyResult<Option<&'s str>> {
    if value.is_none() {
        return Ok(None);
    }
    with_name(value, || format!("member '{member}': {field}"), |_| ())?;
    Ok(Some(value.cast::<PyString>()?.to_str()?))
}

/// Add the partitions that a member owns, in the order given, except the first `done`.
pub(crate) fn push_owned_partitions(group: &mut Group, owned: &Bound<'_, PyAny>, done: usize) -> PyResult<()> {
    for partition in owned.try_iter()?.skip(done) {
        let (topic, id): (Bound<'_, PyString>, Bound<'_, PyAny>) = partition?.extract()?;
        let topic = group.owned_topic_number(&topic.to_cow()?);
        group.push_owned_id(topic, id.extract().unwrap_or(-1)); // no partition has an id beyond int32
    }
    Ok(())
}

fn is_container(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyTuple>()
        || value.is_exact_instance_of::<PyList>()
        || value.is_exact_instance_of::<PySet>()
        || value.is_exact_instance_of::<PyFrozenSet>()
}
