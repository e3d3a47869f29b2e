// Which process leads the job: the coordinator's, and after its loss the one that the voters elect.
//
// Every process of a job has one of these. The newest record of a generation names the voters. The
// leader tells them every heartbeat that it leads; if that stops for long enough, they elect
// another, which inherits the record: it ends that generation and forms the next. A record counts
// only once it is decided: a majority of its own voters and of those of the last decided one have
// accepted it. So the next leader knows of each generation that may ever have been started.
//
// If all voters of the first record see one folder, they claim instead (claims.hpp), for the
// whole job: a record is decided once all its voters have accepted it and it is linked as the
// folder's next place. Then any voter of the newest claim that hears no leader gathers the nodes
// that are left, and claims the next place; no majority is needed.
//
// States
//   following  hears a leader, or looks for one
//   standing   asks the voters to be elected
//   leading    is the coordinator's process; may ask for a higher epoch meanwhile. If voters
//              claim it may be here without a lead, and then only gathers
//   finished   the job is over here; no vote is given, and none asked for
// Invariants
//   V1  Of each epoch there is one leader at most.
//   V2  Two processes never lead at once: a leader steps down at its lead's end (lead.hpp), and a
//       voter votes only when `lease` has passed since it heard a leader.
//   V3  A leader knows every record that was decided before its election.
//   V4  Of each number, one record at most is decided.
//   V5  A process that is not named among a record's electors does not vote: one that was started
//       again has forgotten its promises.
//   V6  A founder without a generation yields to any process that knows of one, unless that job is
//       over: none can be elected in it without a leader that listened where the founder listens.
//       A founder elsewhere than at the endpoint yields to any process that answers there. It
//       has kept a mark before anything starts (founding.hpp).
//   V7  Only a voter of the newest claim claims the place after it, and only if the founder's proof
//       is in the folder; or a founder, which has no claim before it. No process follows a leader
//       of a claim that it knows not to be the newest.
//   V8  A job's records are all voted on, or all claimed.
//   V9  A process that has heard of the leader of a later job takes part in no earlier one, unless
//       the earlier one has claimed the place that was to be the later one's first.
// Bounds
//   One election at a time; seven voters of a record, and seven of the one before it. One claim and
//   one look into the folder under way.
#pragma once

#include "rendezvous/generations/founding.hpp"
#include "rendezvous/generations/voters.hpp"
#include "rendezvous/lease.hpp"
#include "rendezvous/succession/ballots.hpp"
#include "rendezvous/succession/claims.hpp"
#include "rendezvous/succession/election.hpp"
#include "rendezvous/succession/folder_use.hpp"
#include "rendezvous/succession/lead.hpp"
#include "rendezvous/succession/pledge.hpp"
#include "rendezvous/succession/reign.hpp"
#include "rendezvous/succession/settlement.hpp"
#include "rendezvous/succession/succession_events.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ddprun {

struct SuccessionOptions {
  Voter self;
  LeaseTimes times;
  int nodes_min = 1;  ///< A generation needs this many.
  /// Where new processes look for the job; if this process listens there, its own address.
  std::string endpoint;
  bool founds = false;          ///< It founds a job if it finds none.
  Millis call_interval{1'000};  ///< From one call of the endpoint to the next.
  std::string folder;           ///< For claims, as people know it; empty: there is none.
  bool keeps_marks = false;
  Epoch mark;  ///< That was left here, of a job that has not ended; 0: none was.
  friend bool operator==(const SuccessionOptions&, const SuccessionOptions&) = default;
};

class Succession {
 public:
  explicit Succession(SuccessionOptions options) : options_(std::move(options)) {}

  /// The first actions: call once, before any event.
  void start(Instant now, std::vector<SuccessionAction>& out);

  /// Applies one event and appends what must be done, in order and before the next event of this
  /// process. Never blocks, reads a clock, logs or throws; total.
  void on_event(Instant now, const SuccessionEvent& event, std::vector<SuccessionAction>& out);

  /// When to call again with SuccessionTimeout.
  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// The leader, or why there is none, for users: "n0 leads; 3 voters".
  [[nodiscard]] std::string reason() const;

  enum class State : std::uint8_t { following, standing, leading, finished };
  [[nodiscard]] State state() const { return state_; }

  /// Nothing while it does not lead.
  [[nodiscard]] std::optional<Instant> lead_end() const;
  [[nodiscard]] const std::optional<Knowledge>& knowledge() const { return known_; }

  friend bool operator==(const Succession&, const Succession&) = default;

 private:
  using Actions = std::vector<SuccessionAction>;
  struct JobBefore {
    Founding job;
    Epoch epoch;      // of its last leader: messages of it or an earlier one are late
    RecordId record;  // it votes for no candidate with this record or an earlier one
    friend bool operator==(const JobBefore&, const JobBefore&) = default;
  };
  struct Founder {
    Settlement settlement;
    Epoch superseded;                // of the job that it replaces
    bool mark_found = false;         // of another job, as it has said
    std::optional<Instant> mark_by;  // then its own mark is waited for no longer
    friend bool operator==(const Founder&, const Founder&) = default;
  };
  struct Replacement {
    AgentId agent = 0;
    Instant forget_at;  // the job of the lost leader, if that has not gone on by then
    friend bool operator==(const Replacement&, const Replacement&) = default;
  };

  [[nodiscard]] Instant lead_end_to_heed() const;
  [[nodiscard]] Epoch next_epoch() const;
  void on(Instant now, const BallotArrived& arrived, Actions& out);
  void on(Instant now, const Called& called, Actions& out);
  void on(Instant now, const HeardOf& heard, Actions& out);
  void on(Instant now, const LeaderAnswered&, Actions& out);
  void on(Instant now, const RecordDecided& decided, Actions& out);
  void on(Instant now, const WorkersStarted&, Actions& out);
  void on(Instant now, const MarkKept&, Actions& out);
  void on(Instant now, const WorkersGone&, Actions& out);
  void on(Instant now, const Propose& propose, Actions& out);
  void on(Instant now, const HandOver& asked, Actions& out);
  void on(Instant now, const JobOver&, Actions& out);
  void on(Instant now, const SuccessionTimeout&, Actions& out);

  // As a voter: succession_voter.cpp
  [[nodiscard]] bool is_voter() const;
  [[nodiscard]] RecordId decided_record() const;
  [[nodiscard]] std::vector<Voters> electors() const;
  [[nodiscard]] bool is_asked(const VoteRequest& request) const;
  [[nodiscard]] bool frees(const VoteRequest& request) const;
  [[nodiscard]] bool has_missed_record(const VoteRequest& request) const;
  [[nodiscard]] bool may_vote(Instant now, const VoteRequest& request) const;
  [[nodiscard]] bool may_win(const VoteRequest& request) const;
  [[nodiscard]] bool gives_way_to(const VoteRequest& request) const;
  [[nodiscard]] bool goes_before(const VoteRequest& request) const;
  void hear(Instant now, const VoteRequest& request, Actions& out);
  void hear(Instant now, const Release& release, Actions& out);
  [[nodiscard]] bool is_needed(AgentId voter) const;
  [[nodiscard]] bool is_orphaned_by(const HeardOf& heard) const;
  void tell_needed(Actions& out);
  void hear(Instant now, const SurveyRequest& request, Actions& out);
  void hear(Instant now, const ProofSought& sought, Actions& out);

  // As a follower: succession_follower.cpp
  void hear(Instant now, const Refusal& refusal, Actions& out);
  void hear(Instant now, const SteppedDown& stepped_down, Actions& out);
  void be_free(Instant now, Actions& out);
  void hear(Instant now, const Leading& leading, Actions& out);
  void answer_founder(const Leader& founder, Actions& out);
  [[nodiscard]] bool is_news(const Knowledge& whole) const;
  void learn(const Leading& leading);
  [[nodiscard]] bool may_follow(const Leader& leader) const;
  [[nodiscard]] bool may_follow(Instant now, const Leading& leading) const;
  [[nodiscard]] Founding job() const;
  [[nodiscard]] bool is_of_earlier_job(const Founding& other) const;
  void answer_earlier_job(Instant now, const Leader& leader, Actions& out);
  void leave_job(Instant now, Actions& out);
  void forget_job();
  [[nodiscard]] bool may_go_on_without(AgentId leader) const;
  [[nodiscard]] bool still_waits(Instant now, AgentId replacement, Actions& out);
  void forget_leader(Actions& out);
  void remember_as_over();
  [[nodiscard]] bool is_late(const Leader& leader) const;
  void follow(const Leader& leader, Actions& out);
  void unfollow(Actions& out);
  void refuse(const std::string& address,
              Actions& out,
              std::optional<Leader> in_favour_of = std::nullopt);

  // As the founder: succession_founder.cpp
  [[nodiscard]] bool founding() const;
  [[nodiscard]] bool calls_endpoint() const;
  void give_way(Actions& out);
  void find_mark(Epoch mark, const std::string& where, Actions& out);
  void found(Instant now, Actions& out);
  void keep_mark(Actions& out);
  void hear(Instant now, const FolderOpened& opened, Actions& out);
  void settle(Instant now, Actions& out);
  void ask_survey(Actions& out) const;
  void bar_earlier_job(Actions& out) const;
  void hear(Instant now, const SurveyAnswer& answer, Actions& out);

  // As a candidate: succession_candidate.cpp
  [[nodiscard]] std::optional<Instant> stand_at() const;
  void heed_laggard(Instant now);
  void stand(Instant now, Actions& out);
  void raise_epoch(Instant now, Actions& out);
  void ask(Instant now, Actions& out);
  void hear(Instant now, const Vote& vote, Actions& out);
  void conclude_election(Instant now, Actions& out);
  void be_elected(Instant now, Actions& out);
  void take_lead(Instant now, Epoch epoch, Instant old_head_heard, Actions& out);
  void release_again(AgentId voter, Actions& out) const;
  void give_up(Instant now, Actions& out);

  // As the leader: succession_leader.cpp
  [[nodiscard]] std::vector<Voter> others() const;
  void answer(AgentId voter, const Ballot& ballot, Actions& out) const;
  void announce(Instant now, Actions& out);
  void call(Instant now, const std::string& address, Actions& out);
  void tell(Instant now, const Voter& voter, Actions& out);
  [[nodiscard]] bool has_accepted(const Voter& voter) const;
  void name_silent(Actions& out);
  void hear(Instant now, const Following& following, Actions& out);
  void deny_lead(Instant now, const Following& following, Actions& out) const;
  enum class Deciding : std::uint8_t { by_votes, by_claims };
  [[nodiscard]] std::vector<Voter> voters_of(const Generation& record, Deciding how) const;
  void propose(Instant now, Generation record, Actions& out);
  void decide_if_accepted(Instant now, Actions& out);
  void decided(Instant now, Actions& out);
  void tell_voters(Actions& out) const;
  void lead_changed(Actions& out);
  [[nodiscard]] const Voter* successor(Instant now, const std::set<NodeId>& leavers) const;
  enum class Among : std::uint8_t { all, those_that_accepted };
  [[nodiscard]] const Voter* successor(Instant heard_after,
                                       Among among,
                                       const std::set<NodeId>& leavers) const;
  void step_down(Instant now, Actions& out);

  // Where voters claim: succession_claims.cpp
  [[nodiscard]] bool claims() const;
  [[nodiscard]] std::int64_t claimed() const;
  void on(Instant now, const FolderAnswer& answer, Actions& out);
  void read_claims(Instant now, Actions& out);
  void hear(Instant now, const ClaimsRead& read, Actions& out);
  void adopt(Instant now, const Knowledge& newest, Actions& out);
  void gather(Instant now, Actions& out);
  void keep_gathering(Instant now, Actions& out);
  [[nodiscard]] bool gathers_in_vain(Instant now) const;
  [[nodiscard]] Millis time_to_claim() const;
  [[nodiscard]] bool others_may_try(Vain after) const;
  void let_others_try(Instant now, Vain after, Millis pause, Actions& out);
  void claim_without_silent(Instant now, Actions& out);
  void heed_new_voters(Instant now, Actions& out);
  void claim(Actions& out);
  void hear(Instant now, const PlaceClaimed& claimed, Actions& out);
  void claim_again(Instant now, Actions& out);
  [[nodiscard]] bool yields_to(Instant now, const Leading& leading);
  [[nodiscard]] bool is_heard_again(Instant now, AgentId rival);

  SuccessionOptions options_;
  State state_ = State::following;
  std::optional<Leader> leader_;    // the newest one; itself while it leads
  std::optional<Knowledge> known_;  // the newest record that it has accepted
  Pledge pledge_;
  std::set<AgentId> needed_;  // voters, as last reported to the uplink
  Instant heard_;             // when a leader that it follows was heard last
  Instant heard_before_;      // when one was before that
  Instant patience_;          // the last sign of any leader
  Instant laggard_at_;        // since then the first candidate stood that has missed a record
  Instant stand_after_;       // a random pause after an attempt
  bool workers_live_ = false;
  std::optional<Election> election_;
  std::optional<Epoch> given_up_;          // the newest, in which it only stood
  std::optional<SteppedDown> names_self_;  // of the leader that has resigned for this process
  std::optional<SteppedDown> resigned_;    // then it never leads again
  bool job_over_ = false;
  std::optional<Instant> stepped_down_at_;
  std::optional<Reign> reign_;
  Epoch highest_;            // of all that it has heard of
  JobBefore forgotten_;      // the job that it has forgotten since that is over
  Replacement replacement_;  // the newest that was heard of where a lost leader listened
  Founding left_;            // the newest job that it has left for a later one
  Founding marked_;          // the job that its mark names
  std::string survey_from_;  // the founder's address, for the answer to its survey
  Founder founder_;
  // Where voters claim:
  FolderUse folder_;
  Instant reread_at_;  // while it does not lead: when it looks again, unless others have a turn
};

}  // namespace ddprun
