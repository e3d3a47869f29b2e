// The succession as a voter: whom it elects, and what it tells of the folder.
#include "rendezvous/succession/succession.hpp"

#include <algorithm>

namespace ddprun {

bool Succession::is_voter() const {
  const AgentId self = options_.self.agent;
  if (!known_) return false;
  return known_->record.voters.contains(self) ||
         (!known_->decided && known_->before.contains(self));
}

/// None, where it knows one that may not be decided.
RecordId Succession::decided_record() const {
  return known_ && known_->decided ? known_->id() : RecordId{};
}

/// The electors of a leader: the voters of the newest record, and while it is not known to
/// be decided, also those of the one before.
std::vector<Voters> Succession::electors() const {
  if (known_->decided) return {known_->record.voters};
  return {known_->before, known_->record.voters};
}

bool Succession::is_asked(const VoteRequest& request) const {
  const bool is_named = std::ranges::any_of(
      request.electors, [&](const Voters& voters) { return voters.contains(options_.self.agent); });
  if (!is_named) return false;                            // V5
  if (is_of_earlier_job(request.founding)) return false;  // V9
  return request.record > forgotten_.record;
}

/// Not so for the leader that it follows, if that was elected without the record: then the record
/// was not decided, and cannot be any more.
bool Succession::has_missed_record(const VoteRequest& request) const {
  if (!is_asked(request) || !known_ || request.record >= known_->id()) return false;
  const bool is_own_leader = leader_ && leader_->agent == request.candidate.agent;
  return !is_own_leader || known_->accepted >= leader_->reign;
}

bool Succession::may_vote(Instant now, const VoteRequest& request) const {
  if (!is_asked(request) || has_missed_record(request)) return false;  // V3
  if (state_ == State::standing) return gives_way_to(request);
  if (!pledge_.allows(now, request)) return false;
  const bool asked_by_leader = leader_ && leader_->agent == request.candidate.agent;
  if (state_ == State::following && asked_by_leader) return true;
  if (state_ == State::leading) return false;
  return !workers_live_ && now >= heard_ + options_.times.lease;  // V2
}

/// False if no process can be elected without the one that listened here before: it is dead.
bool Succession::may_win(const VoteRequest& request) const {
  const auto outlive_it = [&](const Voters& voters) {
    return std::ranges::all_of(voters.all, [&](const Voter& voter) {
      return voter.address != options_.self.address || voters.outlive({voter.agent});
    });
  };
  return std::ranges::all_of(request.electors, outlive_it);
}

/// Its vote for itself does not bind a candidate that gives up.
bool Succession::gives_way_to(const VoteRequest& request) const {
  return request.epoch > pledge_.epoch() && goes_before(request);
}

/// Of two candidates with one record the earlier in order goes on.
bool Succession::goes_before(const VoteRequest& request) const {
  if (!is_asked(request) || has_missed_record(request)) return false;
  const Voters& voters = known_->record.voters;
  if (request.record != known_->id()) return true;  // it has a newer one
  return voters.place_of(request.candidate.agent) < voters.place_of(options_.self.agent);
}

/// The candidate knows sooner than this voter that the voter's leader has resigned.
bool Succession::frees(const VoteRequest& request) const {
  return state_ == State::following && leader_ && is_asked(request) && request.founding == job() &&
         request.resigned == Resignation{leader_->agent, leader_->epoch};
}

void Succession::hear(Instant now, const VoteRequest& request, Actions& out) {
  const Voter& candidate = request.candidate;
  highest_ = std::max(highest_, request.epoch);
  if (founding() && may_win(request)) give_way(out);  // V6
  find_mark(request.epoch, candidate.host, out);
  if (frees(request)) be_free(now, out);
  if (!may_vote(now, request)) {
    if (has_missed_record(request)) heed_laggard(now);
    if (state_ == State::standing && request.epoch == pledge_.epoch() && goes_before(request)) {
      give_up(now, out);
    }
    return refuse(candidate.address, out);
  }
  if (state_ == State::standing) give_up(now, out);
  const bool asked_by_leader = leader_ && leader_->agent == candidate.agent;
  pledge_.vote(now + options_.times.lease, request.epoch, candidate.agent);
  if (!asked_by_leader) unfollow(out);
  const Vote vote{options_.self.agent, request.epoch, request.sent, decided_record()};
  out.emplace_back(SendBallot{candidate.address, vote});
}

void Succession::hear(Instant now, const Release& release, Actions&) {
  pledge_.release(release.epoch, release.candidate);
  if (state_ != State::following || !known_) return;
  const int place = known_->record.voters.place_of(options_.self.agent);
  stand_after_ = std::max(stand_after_, now + options_.times.lease / 12 * place);
}

/// Whether no process can be elected once `voter` is dead: by the voters of a decided record;
/// of one that may not be, by them and those before, or by those before without this process.
bool Succession::is_needed(AgentId voter) const {
  const Voters& voters = known_->record.voters;
  const Voters& before = known_->before;
  if (known_->decided) return !voters.outlive({voter});
  if (!before.outlive({voter})) return true;
  return !voters.outlive({voter}) && !before.outlive({voter, options_.self.agent});
}

/// Of another job, or of none yet, is the process that listens where its leader did.
bool Succession::is_orphaned_by(const HeardOf& heard) const {
  if (state_ == State::leading || state_ == State::finished || !known_) return false;
  const bool is_another_job = heard.leader.founding.is_none() || heard.leader.founding != job();
  return heard.in_place_of != 0 && is_another_job && is_needed(heard.in_place_of);
}

/// Of other voters: this process's agent reports it if another process has the place of one.
void Succession::tell_needed(Actions& out) {
  std::set<AgentId> needed;
  if (known_) {
    for (const Voters& voters : {known_->record.voters, known_->before}) {
      for (const Voter& voter : voters.all) {
        const bool is_self = voter.agent == options_.self.agent;
        if (!is_self && is_needed(voter.agent)) needed.insert(voter.agent);
      }
    }
  }
  if (needed == needed_) return;
  needed_ = std::move(needed);
  out.emplace_back(NeededVoters{needed_});
}

/// One at a time: an earlier asker has given up.
void Succession::hear(Instant, const SurveyRequest& request, Actions& out) {
  if (options_.folder.empty()) {
    out.emplace_back(
        SendBallot{request.address, SurveyAnswer{options_.self.agent, request.folder, false}});
    return;
  }
  survey_from_ = request.address;
  out.emplace_back(FolderTask(LookForProof{request.folder}));
}

void Succession::hear(Instant, const ProofSought& sought, Actions& out) {
  out.emplace_back(
      SendBallot{survey_from_, SurveyAnswer{options_.self.agent, sought.folder, sought.seen}});
}

}  // namespace ddprun
