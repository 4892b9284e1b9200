//! What the log shows about members besides two group records: when they committed, how long they waited, and silences.

use super::departures::{Absence, DELAY, Departure};
use super::difference::{Difference, GroupRecord};
use super::durations::duration;
use super::known_member::KnownMember;
use super::silences::Silence;
use super::state::{Context, GroupState};
use super::stuck::CommitTimes;

/// What the log says besides the two records: commits and topics of the group, and silences.
#[derive(Clone, Copy)]
pub(super) struct Evidence<'a> {
    pub(super) context: &'a Context,
    pub(super) state: &'a GroupState,
    /// The last silence before the new record.
    silence: Option<&'a Silence>,
    /// The last move of the coordinator before the new record.
    pub(super) moved: Option<&'a Silence>,
}

impl<'a> Evidence<'a> {
    /// Collect the evidence for what happened until a time.
    pub(super) fn until(context: &'a Context, state: &'a GroupState, time: i64) -> Self {
        let partition = state.log_partition;
        let silence = context.silences.last_before(partition, time);
        Self { context, state, silence, moved: context.silences.last_move_before(partition, time) }
    }

    fn commits(&self, member: &KnownMember) -> Option<&'a CommitTimes> {
        self.state.commit_times.get(&member.id).or_else(|| self.state.former_commits.get(&member.id))
    }

    /// Return why a member of a classic group is missing from a generation.
    pub(super) fn departure(
        &self,
        member: &KnownMember,
        before: Option<&GroupRecord>,
        after: &GroupRecord,
    ) -> Departure {
        let joining = after.members.values().filter_map(|member| member.rebalance_timeout).max();
        let absence = Absence {
            member,
            began: before.map(|before| before.began),
            recorded: before.map(|before| before.at),
            until: after.began,
            commits: self.commits(member),
            silence: self.silence,
            moved: self.moved,
            default_session: None,
            longest_join: joining.map_or(0, i64::from),
        };
        let mut found = absence.departure();
        if let Some(before) = before
            && let Some(timeout) = self.missed_sync(member, before, after)
        {
            found.names.push("sync_timed_out");
            if !found.text.is_empty() {
                found.text.push(' ');
            }
            let ending = ": it committed nothing in the generation, and others did.";
            found.text.extend(["It may not have sent SyncGroup within ", &duration(timeout), ending]);
        }
        found
    }

    /// Return the rebalance timeout if a member may not have requested its assignment within it.
    ///
    /// The times alone show nothing, so there must be other evidence: other members committed in the generation, and this one did not. The
    /// leader has sent `SyncGroup`, because its assignment is in the record.
    fn missed_sync(&self, member: &KnownMember, before: &GroupRecord, after: &GroupRecord) -> Option<i64> {
        let timeout = longest_timeout(before);
        let waited = after.began.saturating_sub(before.began);
        let latest = timeout.saturating_mul(2).saturating_add(member.session_timeout.map_or(0, i64::from));
        let has_committed =
            |member: &KnownMember| self.commits(member).and_then(|found| found.last) >= Some(before.began);
        let is_shown = timeout > 0
            && (timeout..=latest).contains(&waited)
            && before.leader.as_deref() != Some(&*member.id)
            && !has_committed(member)
            && before.members.values().any(|other| has_committed(other));
        is_shown.then_some(timeout)
    }

    /// Return why a member of a group with an epoch is missing since a time.
    pub(super) fn epoch_departure(&self, member: &KnownMember, at: i64) -> Departure {
        Absence {
            member,
            began: None,
            recorded: None,
            until: at,
            commits: self.commits(member),
            silence: self.silence,
            moved: self.moved,
            default_session: Some(self.context.settings.session_timeout),
            longest_join: 0,
        }
        .departure()
    }
}

/// Return how long the remaining members committed nothing, if this is the rebalance timeout: the coordinator then waited for a member
/// that did not join again. Members commit nothing while they wait for a join phase to end.
pub(super) fn timed_out_join(
    before: &GroupRecord,
    after: &GroupRecord,
    changes: &Difference,
    evidence: &Evidence<'_>,
) -> Option<i64> {
    let timeout = Some(longest_timeout(before)).filter(|timeout| *timeout > 0)?;
    if changes.left.iter().all(|old| old.instance_id.is_some()) {
        return None;
    }
    let waited = after.began.saturating_sub(before.began);
    let (mut shortest, mut is_regular, mut delay) = (None::<i64>, false, 0);
    for (old, _) in &changes.remaining {
        let Some(commits) = evidence.commits(old) else { continue };
        let Some(last) = commits.last.filter(|last| *last <= after.began) else { continue };
        let silence = after.began.saturating_sub(last);
        // A member notices the join phase with its next heartbeat, and may commit until then.
        let heartbeat = i64::from(old.session_timeout.unwrap_or(0)) / 3;
        if silence.min(waited) < timeout.saturating_sub(heartbeat).saturating_sub(1_000) {
            return None;
        }
        is_regular |= commits.longest_regular().is_some_and(|longest| silence > longest);
        shortest = Some(shortest.map_or(silence, |shortest| shortest.min(silence)));
        delay = delay.max(commits.cadence.usual().saturating_mul(2).saturating_add(heartbeat));
    }
    let latest = timeout.saturating_add(delay).saturating_add(DELAY);
    shortest.filter(|shortest| is_regular && *shortest <= latest)
}

/// Return the longest rebalance timeout of the members; 0 if the log has none.
pub(super) fn longest_timeout(record: &GroupRecord) -> i64 {
    record.members.values().map(|member| member.rebalance_timeout.unwrap_or(0)).max().unwrap_or(0).into()
}
