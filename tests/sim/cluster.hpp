// All hosts of a pretended job, what goes wrong with them, and what must hold whatever does.
//
// After each event that can break it:
//   S1  no two generations have living workers at one instant, and nothing starts on a host before
//       all is gone there that had been started
//   S2  all who start a generation agree on it, and each has its own place in it
//   S3  a host starts generations of growing numbers only
//   S4  a generation has as many nodes as allowed
//   S5  no worker lives where no agent does
//   S6, S7, S16 and L2 of causes.hpp
//   S8  no machine answers an event with more actions than its bounds allow
//   S9  of each epoch there is one leader, and no two lead at once
//   S10 of each number one generation is decided, and nothing starts undecided
//   S11 who is elected knows all that was decided
//   S12 a process that was started again does not vote before it is in a generation
//   S13 of leases.hpp
//   S14 who votes for another than its leader has no workers that run
//   S15 nothing is decided, and no place claimed, before those have accepted who have to, by
//       acceptances.hpp; nobody claims where one of the first voters sees another folder
// When nothing goes wrong any more, with those hosts that are left:
//   L1  soon a generation lives on every host that is not set aside, or on as many as allowed
//   L4  within twice dead-after and 3 s one has lived since what was lost is known to be
//   L2  it goes on for good
//   L3  when the job ends, however it does, every agent soon ends with its status
//   L6  where nobody can be elected any more, the job begins anew if all nodes are there and know
//       that
//   L7  nobody stands for election more often than the story says
//   L8  the job stands still for no longer at once than the story says
//   L9  who was asked to leave has left, and soon if it has no part in the job
//   L5  nobody ends for want of nodes or voters unless they were wanting for as long as is waited;
//       where enough are gone, the others end as well, or go on
// The first ones are not asked for where a majority of the voters of the newest generation is gone,
// which is left to chance in one story of 25 and prevented in the others, and where too few have
// not ended.
#pragma once

#include "tests/sim/acceptances.hpp"
#include "tests/sim/causes.hpp"
#include "tests/sim/cells.hpp"
#include "tests/sim/claim_folder.hpp"
#include "tests/sim/host.hpp"
#include "tests/sim/leases.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/outages.hpp"
#include "tests/sim/prng.hpp"
#include "tests/sim/schedule.hpp"
#include "tests/sim/story.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::sim {

class Cluster {
 public:
  enum class Prints : std::uint8_t { nothing, events };

  explicit Cluster(Story story, Prints prints = Prints::nothing);

  /// Plays the whole story. Returns what was broken, or nothing.
  [[nodiscard]] std::string run();

  [[nodiscard]] std::int64_t events_count() const { return schedule_.events_count(); }
  [[nodiscard]] std::int64_t generations_count() const {
    return static_cast<std::int64_t>(parts_.size());
  }
  [[nodiscard]] std::int64_t messages_count() const { return network_.messages_count(); }
  /// Of all that any machine was told, where and when.
  [[nodiscard]] std::uint64_t trace_hash() const { return hash_; }
  /// When nothing went wrong any more.
  [[nodiscard]] bool majority_lost() const { return is_lost_; }
  /// Too few were left by then, since the others had ended.
  [[nodiscard]] bool ended_early() const { return is_early_; }

  // For hosts.
  [[nodiscard]] Schedule& schedule() { return schedule_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] Prng& chance() { return chance_; }
  [[nodiscard]] Host& host(int index) { return *hosts_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] SessionId next_session() { return ++sessions_count_; }
  /// A machine on a host is told something.
  template <typename Machine, typename Event>
  void tell(int host, const Machine& machine, const Event& event) {
    mix(schedule_.now().ms);
    mix(host);
    mix(cells_.count(machine, event));
  }
  void answered(std::size_t actions);
  void did(int host, Moment what);
  [[nodiscard]] const Story& story() const { return story_; }
  [[nodiscard]] bool is_calm() const { return is_calm_; }
  /// Of the newest job.
  [[nodiscard]] AgentId founder() const { return founder_; }
  void started(int host, const Part& part);
  /// People are told something there.
  void noted(int host, const std::string& text) const;
  void worker_failed(int host, const Part& part, Causes::Why why);
  void snapshot_seen() { causes_.snapshot_seen(); }
  void asked_to_save() { causes_.asked_to_save(); }
  void began(int index);
  void ended(int host, const Outcome& outcome);
  [[nodiscard]] const Cells& cells() const { return cells_; }
  /// A process says in its guard's place that nothing is left there, and workers are.
  void says_none_left(int host);
  void starts_beside(int host, const Part& old, const Part& part);
  void check_lease(int index);
  void check_succession(int index, const std::vector<SuccessionAction>& actions);

 private:
  [[nodiscard]] HostOptions host_options(int index);
  void begin(const Fault& drawn);
  void happen(const Fault& drawn);
  void note_moments(int index, const std::vector<SuccessionAction>& actions);
  [[nodiscard]] Fault made_bearable(Fault fault) const;
  [[nodiscard]] bool cuts(const Fault& fault, int from, int to) const;
  void cut(const Fault& fault);
  void slow_down(const Fault& fault);
  void reset(const Fault& fault);
  void power_on_after(Millis time, int index);
  void get_stuck(const Fault& fault);
  [[nodiscard]] int who_leads() const;
  void leave_claim(int place);
  [[nodiscard]] bool majority_lives(int without) const;
  [[nodiscard]] bool has_forgotten(const Host& at) const;
  [[nodiscard]] const Knowledge* proposed_by_leader(const std::set<AgentId>& living) const;
  [[nodiscard]] const Knowledge* newest_claim() const;
  [[nodiscard]] bool a_claimant_lives(const std::set<AgentId>& living) const;
  [[nodiscard]] bool a_claimant_knows() const;
  [[nodiscard]] bool may_found_beside(const Host& founder) const;
  [[nodiscard]] bool is_stuck_elsewhere() const;
  [[nodiscard]] Millis recovery() const;
  void note_outage(const Fault& fault);
  void note_knowledge(const Host& at);
  [[nodiscard]] bool could_go_on(int host, Instant from, Instant until) const;
  [[nodiscard]] bool is_decision_known(const std::set<AgentId>& well) const;
  [[nodiscard]] bool could_decide(const std::set<AgentId>& well) const;
  [[nodiscard]] bool is_decided_by(const Voters& voters, const std::set<AgentId>& well) const;
  void ended_early(int index, const Outcome& outcome);
  [[nodiscard]] std::vector<Instant> fresh_starts(Instant since) const;
  [[nodiscard]] bool enough_are_left() const;
  /// Before it leads nobody says where it is but the endpoint.
  [[nodiscard]] bool is_founder_found() const {
    return story_.founder == 0 || gathering().nodes_min == 1;
  }
  [[nodiscard]] const Host& founding_host() const {
    return *hosts_[static_cast<std::size_t>(story_.founder)];
  }
  [[nodiscard]] bool is_marked() const;
  [[nodiscard]] int needed_first() const;
  [[nodiscard]] bool still_founds() const;
  [[nodiscard]] Millis last_call_after(Instant from) const;
  [[nodiscard]] bool all_can_tell() const;
  [[nodiscard]] bool can_begin_anew() const;
  void expect_end_or_life();
  [[nodiscard]] bool lives_before(Instant calm, Instant one);
  [[nodiscard]] bool may_lose_folder() const;
  [[nodiscard]] Millis until_next_claimant() const;
  [[nodiscard]] bool waits_before_restart() const;
  void play_until(Instant end);
  void play_faults(Instant calm);
  [[nodiscard]] const GatheringOptions& gathering() const { return options_.coordinator.gathering; }
  void end_job();
  void succeed();
  void ask_for_stop();
  void fail_until_spent();
  void fail_once();
  void lose_head();
  void hurt_others(int lost);
  void complain_of_store();
  void expect_end(Instant until, const std::set<int>& statuses);
  [[nodiscard]] std::vector<Host*> living_hosts() const;
  [[nodiscard]] bool head_was_lost_since(GenerationNumber number) const;
  [[nodiscard]] bool is_left_alone(const Host& at) const;
  [[nodiscard]] bool all_ended() const;
  void mix(std::int64_t value);
  void check_place(const Part& part);
  void break_rule(const std::string& rule);
  void say(const std::string& text) const;
  void say_ballot(int index, const SendBallot& send) const;
  void say_claim(int index, const Knowledge& known) const;
  void check_vote(int index, const std::string& candidate);
  void check_decision(int index, const Knowledge& known);
  void name_voters(const VoteRequest& request);
  void found_job(const Host& founder, bool claims);
  void check_leads();
  void check_taken_lead(const Host& at, const TakeLead& lead);
  void check_lives();
  [[nodiscard]] bool can_find_job(const Host& at) const;
  [[nodiscard]] bool is_of_later_job(const Host& at) const;
  [[nodiscard]] int hosts_left() const;
  [[nodiscard]] bool settled() const;
  void check_leavers();
  void check_idle_leavers();
  [[nodiscard]] bool one_lives() const;
  void watch_gap();
  [[nodiscard]] std::string state() const;

  Story story_;
  Prints prints_;
  Prng chance_;
  Schedule schedule_;
  Network network_;
  JobOptions options_;
  LeaseTimes times_;
  Causes causes_;
  std::vector<std::unique_ptr<Host>> hosts_;
  ClaimFolder folder_;
  ClaimFolder other_folder_;
  const ClaimFolder* job_folder_ = &folder_;               // its founder's
  std::map<GenerationNumber, std::map<int, Part>> parts_;  // by GROUP_RANK
  std::map<int, GenerationNumber> newest_on_;
  GenerationNumber spawned_;  // by whoever spawned last
  std::map<GenerationNumber, Generation> decided_;
  std::vector<Generation> buried_;  // decided ones of a job that was lost: some may know them yet
  std::map<Epoch, AgentId> leaders_;
  AgentId founder_ = 0;
  bool claims_ = false;      // its job
  std::set<AgentId> named_;  // by a record, as its voters
  std::set<std::pair<AgentId, Epoch>> candidacies_;
  std::set<int> leading_;  // hosts whose succession does, or did
  std::map<AgentId, int> host_of_;
  std::map<int, Reign> reigns_;               // theirs
  std::map<AgentId, GenerationNumber> knew_;  // of this job, the newest one
  Leases leases_;
  Acceptances acceptances_;
  struct DecidedAt {
    Instant at;
    Voters voters;
  };
  std::vector<DecidedAt> decided_at_;
  std::map<AgentId, std::optional<Knowledge>> known_;  // after its last event
  bool waits_for_moments_ = false;
  std::vector<Fault> waiting_;        // for what somebody does
  std::map<int, RecordId> accepted_;  // by host: the newest that it has said so of
  Outages outages_;
  AgentId marked_founder_ = 0;         // the newest process that founds beside a mark
  AgentId proposed_first_ = 0;         // the newest process that proposed before any was decided
  std::set<int> gone_;                 // hosts that have ended before anybody asked for it
  std::vector<Knowledge> last_known_;  // by them, or by who has forgotten it
  Instant founded_again_;              // the job that is over was lost before
  bool all_could_tell_ = true;         // when the newest founder began: see can_begin_anew()
  Instant lived_at_;                   // when a whole generation did, last
  bool is_calm_ = false;
  bool is_asked_ = false;  // for the end
  bool is_early_ = false;
  bool has_waited_ = false;  // since all is calm, before a restart
  bool is_lost_ = false;
  bool is_over_ = false;  // who is off stays so
  SessionId sessions_count_;
  std::uint64_t hash_ = 0xcbf29ce484222325;
  Cells cells_;
  std::string broken_;
};

}  // namespace ddprun::sim
