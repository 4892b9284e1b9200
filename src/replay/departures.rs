//! Why a member is missing from a group: the likely causes, and the evidence that decides between them.
//!
//! The log has no request and no heartbeat. A member that leaves, one whose session expires, and one that exceeds its poll interval
//! disappear in the same way. What differs is when: a session expires one session timeout after the last heartbeat, and a client leaves
//! one poll interval after its last poll. Commits show until when a member was active, but only if it committed regularly: most clients
//! commit nothing when they read nothing.

use super::durations::{between, duration};
use super::known_member::KnownMember;
use super::silences::Silence;
use super::stuck::CommitTimes;

/// Causes of a missing member whose session expired; the log does not show whether its connection had ended.
pub(super) const EXPIRED: [&str; 2] = ["consumer_dead", "application_crashed"];
pub(super) const CLOSED: &str = "consumer_closed";
pub(super) const POLL: &str = "poll_interval_exceeded";
pub(super) const MOVED: &str = "coordinator_moved";

/// A session that expires without any heartbeat ends this close to one session timeout after the record of the generation.
const EXACT: i64 = 150;
/// Time that a client or a broker may take to notice that a timeout has passed.
pub(super) const DELAY: i64 = 5_000;

/// A missing member, and what the log shows about its last activity. Times are in milliseconds since 1970.
#[derive(Clone, Copy)]
pub(super) struct Absence<'a> {
    pub(super) member: &'a KnownMember,
    /// Time at which its last generation began: the end of the join phase, which the member was part of. None in a group with an epoch.
    pub(super) began: Option<i64>,
    /// Time of the record of that generation.
    pub(super) recorded: Option<i64>,
    /// Time at which the next generation began, or at which the member's record was deleted.
    pub(super) until: i64,
    pub(super) commits: Option<&'a CommitTimes>,
    /// The last silence of the log that ended before `until`.
    pub(super) silence: Option<&'a Silence>,
    /// The last move of the coordinator before `until`.
    pub(super) moved: Option<&'a Silence>,
    /// Session timeout of the broker, for a member whose record has none.
    pub(super) default_session: Option<i64>,
    /// Longest time that the join phase before `until` can have lasted.
    pub(super) longest_join: i64,
}

/// What shows how a member left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Nothing: the causes are in the order of their frequency.
    Nothing,
    /// The member left, or its client did.
    Leave,
    /// Its session expired, which ends a join phase that had begun before.
    Expiry,
    /// Its session expired after a silence of the log.
    Silence,
}

/// Causes of an absence, most likely first, and the sentence that decided; the sentence is empty if nothing decided.
#[derive(Debug)]
pub(super) struct Departure {
    pub(super) names: Vec<&'static str>,
    pub(super) text: String,
    pub(super) shown: Shown,
}

impl Departure {
    /// Return the sentence about a member.
    pub(super) fn sentence(&self, member: &str) -> String {
        let how = match self.shown {
            Shown::Nothing => "left or its session expired",
            Shown::Leave => "left",
            Shown::Expiry | Shown::Silence => "is missing: its session expired",
        };
        let text = &self.text;
        format!("Member {member} {how}. {text}").trim_end().to_owned()
    }
}

/// Return a sentence about a move of the coordinator before a time.
pub(super) fn moved_sentence(moved: &Silence, until: i64) -> String {
    format!("Its coordinator changed {} before: {}.", between(moved.until, until), moved.moved)
}

impl Absence<'_> {
    /// Return the causes that the log allows.
    pub(super) fn departure(&self) -> Departure {
        let Some(session) = self.session() else { return self.undecided() };
        self.after_silence(session)
            .or_else(|| self.after_move(session))
            .or_else(|| self.too_early_to_expire())
            .or_else(|| self.regular(session))
            .or_else(|| self.without_heartbeat(session))
            .unwrap_or_else(|| self.undecided())
    }

    fn is_static(&self) -> bool {
        self.member.instance_id.is_some()
    }

    fn session(&self) -> Option<i64> {
        self.member.session_timeout.map(i64::from).or(self.default_session).filter(|session| *session > 0)
    }

    /// Return the time at which the generation began. The clocks of brokers differ: a later time than `until` is ignored. A static
    /// member stays in the group even if it misses a join phase, so the join phase does not show that it was active.
    fn active_began(&self) -> Option<i64> {
        self.began.filter(|began| !self.is_static() && *began <= self.until)
    }

    fn last_commit(&self) -> Option<i64> {
        self.commits?.last.filter(|last| *last <= self.until)
    }

    fn since(&self, time: i64) -> i64 {
        self.until.saturating_sub(time)
    }

    /// Return the poll interval of a member that can have exceeded it: the rebalance timeout of a consumer. A client of a static member does
    /// not leave in this case.
    fn poll_interval(&self) -> Option<i64> {
        let interval = i64::from(self.member.rebalance_timeout?);
        let active = self.active_began().into_iter().chain(self.last_commit()).max()?;
        (interval > 0 && !self.is_static() && self.since(active) >= interval).then_some(interval)
    }

    /// Return the causes in the order of `first`, then the others that are possible.
    fn causes(&self, first: &[&'static str]) -> Vec<&'static str> {
        let mut names = first.to_vec();
        let removed = self.is_static().then_some("member_removed");
        let others = if self.is_static() {
            [&EXPIRED[..], removed.as_slice(), &[CLOSED]].concat()
        } else {
            [&[CLOSED], &EXPIRED[..]].concat()
        };
        for name in others.into_iter().chain(self.poll_interval().map(|_| POLL)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn undecided(&self) -> Departure {
        Departure { names: self.causes(&[]), text: String::new(), shown: Shown::Nothing }
    }

    /// Decide for an expired session if the log was silent until shortly before, and the member has not committed since.
    fn after_silence(&self, session: i64) -> Option<Departure> {
        let silence = self.silence?;
        let latest = silence.until.saturating_add(session).saturating_add(self.longest_join).saturating_add(DELAY);
        let is_older = |time: i64| time <= silence.since;
        let active = self.active_began().into_iter().chain(self.last_commit()).max();
        if self.until > latest || !active.is_none_or(is_older) {
            return None;
        }
        let which = if silence.is_whole_log { "the log" } else { "its partition of __consumer_offsets" };
        let mut text = format!(
            "Its coordinator was not available, or moved: {which} had no records for {}, until {} before.",
            between(silence.since, silence.until),
            between(silence.until, self.until)
        );
        if let Some(moved) = self.moved.filter(|moved| moved.until >= silence.since) {
            text.extend([" ", &moved_sentence(moved, self.until)]);
        }
        let first = [&[MOVED], &EXPIRED[..]].concat();
        Some(Departure { names: self.causes(&first), text, shown: Shown::Silence })
    }

    /// Decide for an expired session if it ended one session timeout after the coordinator moved, and the member has not committed since.
    ///
    /// A broker that becomes the coordinator gives each member a new session.
    fn after_move(&self, session: i64) -> Option<Departure> {
        let moved = self.moved?;
        let earliest = moved.until.saturating_add(session).saturating_sub(EXACT);
        let latest = moved.until.saturating_add(session).saturating_add(self.longest_join).saturating_add(DELAY);
        let active = self.active_began().into_iter().chain(self.last_commit()).max();
        if !(earliest..=latest).contains(&self.until) || active.is_some_and(|active| active > moved.until) {
            return None;
        }
        let first = [&[MOVED], &EXPIRED[..]].concat();
        let text = moved_sentence(moved, self.until);
        Some(Departure { names: self.causes(&first), text, shown: Shown::Silence })
    }

    /// Decide for a leave if the session cannot have expired yet.
    ///
    /// A session cannot expire earlier than one session timeout after the join phase. A heartbeat precedes a commit by no more than half
    /// a session timeout.
    fn too_early_to_expire(&self) -> Option<Departure> {
        let session = i64::from(self.member.session_timeout?);
        let (began, last) = (self.active_began(), self.last_commit());
        let is_active = began.is_some_and(|began| self.since(began) < session)
            || last.is_some_and(|last| self.since(last) < session.div_euclid(2));
        if !is_active {
            return None;
        }
        let active = began.into_iter().chain(last).max().unwrap_or(self.until);
        let text = format!(
            "It was active {} before, so its session of {} cannot have expired.",
            between(active, self.until),
            duration(session)
        );
        let names = if self.is_static() { vec!["member_removed", CLOSED] } else { vec![CLOSED] };
        let names = names.into_iter().chain(self.poll_interval().map(|_| POLL)).collect();
        Some(Departure { names, text, shown: Shown::Leave })
    }

    /// Decide by the silence of a member that committed regularly.
    fn regular(&self, session: i64) -> Option<Departure> {
        let commits = self.commits?;
        let (last, longest) = (self.last_commit()?, commits.longest_regular()?);
        let (silence, usual) = (self.since(last), commits.cadence.usual());
        if silence <= longest {
            return None;
        }
        // Without a join phase, the next generation begins at once. With one, the other members notice it with their next heartbeat.
        let join = if self.longest_join > 0 { (session / 3).saturating_add(self.longest_join / 10) } else { 0 };
        let delay = usual.saturating_mul(2).saturating_add(join).saturating_add(DELAY);
        let silent = format!("It committed every {}, then nothing for {}", duration(usual), duration(silence));
        if let Some(interval) = self.poll_interval()
            && (interval > session || silence < session)
            && silence <= interval.saturating_add(delay)
        {
            let earlier = if interval > session {
                format!("; its session of {} would have expired earlier", duration(session))
            } else {
                String::new()
            };
            let text = format!(
                "{silent}: its rebalance timeout, which is max.poll.interval.ms, is {}{earlier}.",
                duration(interval)
            );
            return Some(Departure { names: self.causes(&[POLL, CLOSED]), text, shown: Shown::Leave });
        }
        // A member that commits although it has read nothing has stopped at its last commit. One that only commits what it has read may
        // have been idle, unless its session expires right after.
        let is_right_after = silence <= session.saturating_add(delay);
        if silence >= session && (is_right_after || commits.is_idle_committer) {
            let text = format!("{silent}; its session timeout is {}.", duration(session));
            return Some(Departure { names: self.causes(&EXPIRED), text, shown: Shown::Expiry });
        }
        None
    }

    /// Decide for an expired session if it ended exactly one session timeout after the record of the generation.
    fn without_heartbeat(&self, session: i64) -> Option<Departure> {
        let recorded = self.recorded.filter(|_| !self.is_static())?;
        // The other members notice the join phase that follows with their next heartbeat.
        let join = if self.longest_join > 0 { session / 3 } else { 0 };
        let expected = session.saturating_sub(EXACT)..=session.saturating_add(EXACT).saturating_add(join);
        if self.last_commit().is_some_and(|last| last > recorded) || !expected.contains(&self.since(recorded)) {
            return None;
        }
        let text =
            format!("The generation was as old as its session timeout, {}: it sent no heartbeat.", duration(session));
        Some(Departure { names: self.causes(&EXPIRED), text, shown: Shown::Expiry })
    }
}
