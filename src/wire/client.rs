//! Which client library wrote the bytes of a classic member, and whether a broker can take the member over into a group of KIP-848.
//!
//! A broker records neither the library nor its version. Default client ids name the library, and some also its version. The
//! libraries also write subscriptions in different ways: the Java client writes absent user data and an absent rack as null,
//! librdkafka writes both as empty.

use super::{DecodedAssignment, DecodedSubscription, decode_assignment, decode_subscription};

/// Client library of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Library {
    /// Kafka's own Java client, also in Kafka Streams.
    Java,
    /// librdkafka and the clients on top of it, such as confluent-kafka.
    Librdkafka,
    /// kafka-python.
    KafkaPython,
    /// aiokafka.
    Aiokafka,
    /// Sarama (Go).
    Sarama,
    /// franz-go.
    FranzGo,
    /// `KafkaJS`.
    KafkaJs,
    /// kafka-go by Segment.
    KafkaGo,
}

/// Whether a library has the protocol of KIP-848.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Since this version: major, minor.
    Since(u32, u32),
    /// No version has it.
    Never,
    /// Not known.
    Unknown,
}

impl Library {
    const ALL: [Self; 8] = [
        Self::Java,
        Self::Librdkafka,
        Self::KafkaPython,
        Self::Aiokafka,
        Self::Sarama,
        Self::FranzGo,
        Self::KafkaJs,
        Self::KafkaGo,
    ];

    /// Return the name in tables and in Python.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Java => "java",
            Self::Librdkafka => "librdkafka",
            Self::KafkaPython => "kafka-python",
            Self::Aiokafka => "aiokafka",
            Self::Sarama => "sarama",
            Self::FranzGo => "franz-go",
            Self::KafkaJs => "kafkajs",
            Self::KafkaGo => "kafka-go",
        }
    }

    /// Return the library with the given name, if it is known.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|library| library.name() == name)
    }

    /// Return whether the library has the protocol of KIP-848: in general use, not as a preview.
    #[must_use]
    pub const fn support(self) -> Support {
        match self {
            Self::Java => Support::Since(4, 0),
            Self::Librdkafka => Support::Since(2, 12),
            Self::FranzGo => Support::Unknown,
            Self::KafkaPython | Self::Aiokafka | Self::Sarama | Self::KafkaJs | Self::KafkaGo => Support::Never,
        }
    }
}

/// Library of a member and its version, as far as they are visible.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    /// The library; None if it is not visible.
    pub library: Option<Library>,
    /// The version, such as `3.0.12`; a range such as `2.4-3.3`, or `3.4+`, if only the form of the subscription shows it.
    pub version: Option<String>,
}

/// Version of an unknown library whose subscription has version 0, which no library with KIP-848 writes.
pub const VERSION_0: &str = "writes subscription version 0";

/// Number of bytes of a generation.
const GENERATION: usize = 4;

impl Client {
    /// Return the client that has a client id; unknown unless it is the default id of a library.
    #[must_use]
    pub fn of_id(client_id: &str, group_id: &str) -> Self {
        let versioned = |prefix: &str| {
            client_id.strip_prefix(prefix).filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
        };
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (library, version) = if let Some(version) = versioned("kafka-python-") {
            (Library::KafkaPython, Some(version))
        } else if let Some(version) = versioned("aiokafka-") {
            (Library::Aiokafka, Some(version))
        } else if let Some(number) = client_id.strip_prefix("consumer-").filter(|rest| is_number(rest)) {
            // Since 2.4 the default id has the group id, see below; a group can have a number as its id.
            (Library::Java, (number != group_id).then_some("0.9-2.3"))
        } else if is_java_default(client_id, group_id) || client_id.contains("-StreamThread-") {
            (Library::Java, None)
        } else if client_id.contains("github.com/segmentio/kafka-go") {
            (Library::KafkaGo, None)
        } else {
            let library = match client_id {
                "rdkafka" => Library::Librdkafka,
                "sarama" => Library::Sarama,
                "kgo" => Library::FranzGo,
                "kafkajs" => Library::KafkaJs,
                _ => return Self::default(),
            };
            (library, None)
        };
        Self { library: Some(library), version: version.map(str::to_owned) }
    }

    /// Return the client that has a member id, which begins with the client id.
    #[must_use]
    pub fn of_member_id(member_id: &str, group_id: &str) -> Self {
        const UUID: usize = 37; // with its hyphen
        let end = member_id.len().checked_sub(UUID).filter(|end| member_id.as_bytes()[*end] == b'-');
        end.map_or_else(Self::default, |end| Self::of_id(&member_id[..end], group_id))
    }

    /// Return the client of a classic member.
    ///
    /// A default client id decides. Otherwise the form of the subscription does; franz-go writes the same form as the Java client.
    #[must_use]
    pub fn of_member(client_id: &str, group_id: &str, assignor: &str, subscription: &[u8]) -> Self {
        let by_id = Self::of_id(client_id, group_id);
        let Ok(read) = decode_subscription(subscription, true) else { return by_id };
        let by_form = Self::of_form(&read, assignor);
        match by_id.library {
            None => by_form,
            Some(library) if by_id.version.is_none() && by_form.library == Some(library) => by_form,
            Some(_) => by_id,
        }
    }

    fn of_form(read: &DecodedSubscription<'_>, assignor: &str) -> Self {
        let version = read.body_version();
        let java = match version {
            0 => return Self { library: None, version: Some(VERSION_0.to_owned()) },
            1 | 2 => "2.4-3.3",
            _ => "3.4+",
        };
        // The Java client's cooperative-sticky sends a generation as user data, librdkafka's also the owned partitions.
        let is_cooperative = assignor == "cooperative-sticky";
        let rack = read.rack_id();
        let is_java = match (read.user_data, rack.as_deref()) {
            (None, _) => true,
            (Some(data), None) if version >= 3 => !data.is_empty(),
            (Some(data), _) => is_cooperative && data.len() == GENERATION,
        };
        let is_librdkafka = version >= 3
            && match (read.user_data, rack.as_deref()) {
                (_, Some("")) => true,
                (Some(data), Some(_)) => data.is_empty() || (is_cooperative && data.len() > GENERATION),
                _ => false,
            };
        match (is_java, is_librdkafka) {
            (true, false) => Self { library: Some(Library::Java), version: Some(java.to_owned()) },
            (false, true) => Self { library: Some(Library::Librdkafka), version: None },
            _ => Self::default(),
        }
    }

    /// Return true if the version is visible and older than the first one with KIP-848.
    #[must_use]
    pub fn is_too_old(&self) -> bool {
        let Some(version) = &self.version else { return false };
        let (major, minor) = match self.library.map(Library::support) {
            Some(Support::Since(major, minor)) => (major, minor),
            Some(_) => return false,
            None => return version == VERSION_0,
        };
        // Of a range, its newest version; `3.4+` has no newest one.
        let newest = version.rsplit('-').next().unwrap_or(version);
        if newest.ends_with('+') {
            return false;
        }
        let mut numbers = newest.split('.').map(|number| number.parse::<u32>().ok());
        let found = (numbers.next().flatten(), numbers.next().flatten().unwrap_or(0));
        found.0.is_some_and(|found_major| (found_major, found.1) < (major, minor))
    }
}

/// Return true for the Java client's default id: `consumer-GROUP-N`, or `consumer-GROUP-INSTANCE` of a static member.
fn is_java_default(client_id: &str, group_id: &str) -> bool {
    let rest = client_id.strip_prefix("consumer-").and_then(|rest| rest.strip_prefix(group_id));
    rest.and_then(|rest| rest.strip_prefix('-')).is_some_and(|rest| !rest.is_empty())
}

/// Reason why a broker rejects the first heartbeat of a new member, which would turn a classic group into one of KIP-848.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unconvertible {
    /// The assignment of a member has user data, which would be lost.
    UserData,
    /// Kafka's reader cannot decode the subscription of a member.
    Subscription,
    /// Kafka's reader cannot decode the assignment of a member.
    Assignment,
}

impl Unconvertible {
    /// All reasons.
    pub const ALL: [Self; 3] = [Self::UserData, Self::Subscription, Self::Assignment];

    /// Return the reason with the given name, if it exists.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name() == name)
    }

    /// Return the name in tables and in Python.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserData => "user_data",
            Self::Subscription => "subscription",
            Self::Assignment => "assignment",
        }
    }

    /// Return what prevents the conversion of a member, as `ConsumerGroup.fromClassicGroup` reads it: first the assignment, which is
    /// empty before the first sync, then the subscription.
    #[must_use]
    pub fn of(subscription: &[u8], assignment: &[u8]) -> Option<Self> {
        if !assignment.is_empty() {
            match decode_assignment(assignment) {
                Err(_) => return Some(Self::Assignment),
                Ok(DecodedAssignment { user_data: Some(data), .. }) if !data.is_empty() => {
                    return Some(Self::UserData);
                }
                Ok(_) => {}
            }
        }
        decode_subscription(subscription, false).is_err().then_some(Self::Subscription)
    }
}

#[cfg(test)]
mod tests {
    use super::{Client, Library, Unconvertible};

    fn client(id: &str) -> (Option<Library>, Option<String>) {
        let found = Client::of_id(id, "billing");
        (found.library, found.version)
    }

    #[test]
    fn default_client_ids_name_the_library() {
        assert_eq!(client("consumer-billing-3"), (Some(Library::Java), None));
        assert_eq!(client("consumer-billing-instance-a"), (Some(Library::Java), None));
        assert_eq!(client("consumer-7"), (Some(Library::Java), Some("0.9-2.3".into())));
        assert_eq!(client("kafka-python-2.2.15"), (Some(Library::KafkaPython), Some("2.2.15".into())));
        assert_eq!(client("aiokafka-0.12.0"), (Some(Library::Aiokafka), Some("0.12.0".into())));
        assert_eq!(client("rdkafka"), (Some(Library::Librdkafka), None));
        for own in ["rdkafka-0", "consumer-other-1", "consumer-billing-", "kafka-python-app", "billing", ""] {
            assert_eq!(client(own), (None, None), "{own}");
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let of = |library, version: &str| Client { library, version: Some(version.to_owned()) }.is_too_old();
        assert!(of(Some(Library::Librdkafka), "2.9.0"));
        assert!(!of(Some(Library::Librdkafka), "2.12"));
        assert!(of(Some(Library::Java), "2.4-3.3"));
        assert!(!of(Some(Library::Java), "3.4+"));
        assert!(!of(Some(Library::Java), "4.0.0"));
        assert!(!of(Some(Library::KafkaPython), "3.0.12"));
        assert!(!of(None, "whatever"));
    }

    #[test]
    fn an_empty_assignment_can_be_converted() {
        let subscription = b"\0\0\0\0\0\0\xff\xff\xff\xff";
        assert_eq!(Unconvertible::of(subscription, b""), None);
        assert_eq!(Unconvertible::of(b"", b""), Some(Unconvertible::Subscription));
        assert_eq!(Unconvertible::of(subscription, b"\0\0\0\0\0\0\0\0\0\x01x"), Some(Unconvertible::UserData));
        assert_eq!(Unconvertible::of(subscription, b"\0\0\0\0\0\0\0\0\0\0"), None);
        assert_eq!(Unconvertible::of(subscription, b"\0"), Some(Unconvertible::Assignment));
    }
}
