// The fields of each message: lists that the writer and the reader of
// message_codec.cpp both use, so that the two cannot disagree. A new message needs a kind
// (message_kinds.hpp), and its list here.
#pragma once

#include "rendezvous/membership/messages.hpp"
#include "rendezvous/wire/message_kinds.hpp"
#include "rendezvous/wire/message_limits.hpp"

#include <algorithm>
#include <concepts>
#include <string>
#include <type_traits>
#include <vector>

namespace ddprun {

/// A `Type` or a `const Type`: the writer's and the reader's view of it.
template <typename T, typename Type>
concept Is = std::same_as<std::remove_const_t<T>, Type>;

void fields(auto& archive, Is<NodeId> auto& node) {
  archive.integer(node.value, 0, id_max);
}
void fields(auto& archive, Is<Rank> auto& rank) {
  archive.integer(rank.value, 0, id_max);
}
void fields(auto& archive, Is<LocalRank> auto& rank) {
  archive.integer(rank.value, 0, id_max);
}
/// A step of a training.
void fields(auto& archive, Is<std::int64_t> auto& step) {
  archive.integer(step, 0);
}
void fields(auto& archive, Is<Millis> auto& duration) {
  archive.integer(duration.count, 0, duration_ms_max);
}
void fields(auto& archive, Is<GenerationNumber> auto& generation) {
  archive.integer(generation.value, 0, number_max);
}
void fields(auto& archive, Is<Epoch> auto& epoch) {
  archive.integer(epoch.value, 0, number_max);
}
void fields(auto& archive, Is<Instant> auto& clock) {
  archive.integer(clock.ms, 0, clock_ms_max);
}
void fields(auto& archive, Is<Incarnation> auto& incarnation) {
  archive.integer(incarnation.agent);
  archive.integer(incarnation.life);
}
void fields(auto& archive, Is<WorkerEnd> auto& end) {
  archive.choice(end.kind, WorkerEnd::Kind::hung);
  const bool is_time = end.kind == WorkerEnd::Kind::hung;
  archive.integer(end.code, 0, is_time ? std::numeric_limits<int>::max() : end_code_max);
}
void fields(auto& archive, Is<WorkerFailure> auto& failure) {
  archive.string(failure.host, name_bytes_max);
  fields(archive, failure.rank);
  fields(archive, failure.local_rank);
  archive.integer(failure.pid, 0);
  fields(archive, failure.end);
}
void fields(auto& archive, Is<IpAddress> auto& address) {
  archive.bytes(address.bytes);
}
void fields(auto& archive, Is<IpEndpoint> auto& endpoint) {
  fields(archive, endpoint.address);
  archive.integer(endpoint.port);
}
void fields(auto& archive, Is<IpConnection> auto& connection) {
  fields(archive, connection.local);
  fields(archive, connection.peer);
}
void fields(auto& archive, Is<Offer> auto& offer) {
  fields(archive, offer.node);
  archive.string(offer.host, name_bytes_max);
  archive.string(offer.address, name_bytes_max);
  archive.integer(offer.store_port);
  archive.integer(offer.worker_count, 0, node_workers_max);
  archive.string(offer.store_error, text_bytes_max);
  archive.list(offer.addresses, Offer::addresses_max);
}
void fields(auto& archive, Is<StorePeer> auto& peer) {
  archive.integer(peer.agent_port);
  archive.list(peer.addresses, Offer::addresses_max);
}
void fields(auto& archive, Is<Part> auto& part) {
  fields(archive, part.number);
  archive.integer(part.group_rank, 0, id_max);
  archive.integer(part.group_world_size, 0, id_max);
  fields(archive, part.first_rank);
  archive.integer(part.worker_count, 0, node_workers_max);
  archive.integer(part.world_size, 0, id_max);
  archive.string(part.master_address, name_bytes_max);
  archive.integer(part.master_port);
  archive.integer(part.restart_count, 0);
  archive.string(part.cause, text_bytes_max);
  archive.list(part.store_peers, members_max);
}
void fields(auto& archive, Is<Outcome> auto& outcome) {
  archive.integer(outcome.exit_status, 0, exit_status_max);
  archive.string(outcome.text, text_bytes_max);
  archive.optional(outcome.failure);
  archive.flag(outcome.everywhere);
}
void fields(auto& archive, Is<Founding> auto& founding) {
  fields(archive, founding.epoch);
  archive.integer(founding.founder);
}

void fields(auto& archive, Is<Voter> auto& voter) {
  archive.integer(voter.agent);
  fields(archive, voter.node);
  archive.string(voter.host, name_bytes_max);
  archive.string(voter.address, name_bytes_max);
}
void fields(auto& archive, Is<Voters> auto& voters) {
  archive.list(voters.all, Voters::count_max);
  archive.integer(voters.head);
  archive.flag(voters.claim);
}
void fields(auto& archive, Is<Leader> auto& leader) {
  archive.integer(leader.agent);
  archive.string(leader.host, name_bytes_max);
  archive.string(leader.address, name_bytes_max);
  fields(archive, leader.epoch);
  fields(archive, leader.reign);
  fields(archive, leader.founding);
}
void fields(auto& archive, Is<RecordId> auto& record) {
  fields(archive, record.accepted);
  fields(archive, record.number);
}
void fields(auto& archive, Is<Member> auto& member) {
  fields(archive, member.offer.node);
  archive.string(member.offer.host, member_name_bytes_max);
  archive.integer(member.offer.agent);
  archive.integer(member.offer.worker_count, 0, node_workers_max);
  fields(archive, member.first_rank);
}
void fields(auto& archive, Is<SnapshotPosition> auto& position) {
  archive.integer(position.generation, 0, number_max);
  archive.integer(position.step, 0, number_max);
  archive.integer(position.changed_ns, 0, number_max);
}
void fields(auto& archive, Is<Blame> auto& blame) {
  fields(archive, blame.node);
  archive.integer(blame.failures_count, 0, id_max);
  archive.flag(blame.outlived_kill);
}
/// Else nobody would find them (Generation::member_on).
inline bool are_in_order(const std::vector<Member>& members) {
  return std::ranges::adjacent_find(
             members,
             [](const Member& one, const Member& next) {
               const int rank = one.first_rank.value + one.offer.worker_count;
               return one.offer.node >= next.offer.node || rank != next.first_rank.value;
             }) == members.end() &&
         (members.empty() || members.front().first_rank == Rank{});
}
void fields(auto& archive, Is<Generation> auto& record) {
  fields(archive, record.number);
  archive.list(record.members, members_max);
  archive.must(are_in_order(record.members),
               "members that are not in the order of nodes and ranks");
  archive.integer(record.restart_count, 0, id_max);
  archive.string(record.cause, text_bytes_max);
  fields(archive, record.founding);
  fields(archive, record.epoch);
  archive.integer(record.failures_count, 0, id_max);
  fields(archive, record.voters);
  archive.integer(record.restarts_in_row, 0, id_max);
  archive.optional(record.snapshot);
  archive.list(record.blames, blames_max);
}
void fields(auto& archive, Is<FolderId> auto& folder) {
  archive.integer(folder.proof);
}
void fields(auto& archive, Is<Place> auto& place) {
  fields(archive, place.folder);
  archive.integer(place.number, 1, number_max);
}
void fields(auto& archive, Is<Knowledge> auto& known) {
  fields(archive, known.record);
  fields(archive, known.accepted);
  fields(archive, known.before);
  archive.flag(known.decided);
  archive.optional(known.place);
}

void fields(auto& archive, Is<Hello> auto& hello) {
  fields(archive, hello.from);
  archive.string(hello.host, name_bytes_max);
  archive.optional(hello.node);
  archive.integer(hello.nodes_min, 0, id_max);
  archive.integer(hello.nodes_max, 0, id_max);
  fields(archive, hello.dead_after);
  archive.integer(hello.coordinator);
  archive.flag(hello.any_place);
  archive.string(hello.contact, name_bytes_max);
  fields(archive, hello.knows);
  archive.flag(hello.orphaned);
  archive.flag(hello.witness);
  fields(archive, hello.mark);
  archive.bytes(hello.secret);
}
void fields(auto& archive, Is<Will> auto& will) {
  archive.integer(will.agent);
  archive.bytes(will.secret);
}
void fields(auto& archive, Is<Heartbeat> auto& heartbeat) {
  archive.integer(heartbeat.number, 0);
  archive.integer(heartbeat.received, 0);
}
void fields(auto& archive, Is<Join> auto& join) {
  fields(archive, join.offer);
  fields(archive, join.done_with);
  archive.optional(join.snapshot);
}
void fields(auto& archive, Is<WorkerFailed> auto& failed) {
  fields(archive, failed.generation);
  fields(archive, failed.failure);
}
void fields(auto& archive, Is<WorkerSucceeded> auto& succeeded) {
  fields(archive, succeeded.generation);
  fields(archive, succeeded.rank);
}
void fields(auto& archive, Is<WorkersStuck> auto& stuck) {
  fields(archive, stuck.node);
  fields(archive, stuck.generation);
  archive.string(stuck.text, text_bytes_max);
}
void fields(auto& archive, Is<StopRequested> auto& request) {
  archive.integer(request.signal, 0, signal_max);
  archive.flag(request.time_is_up);
}
void fields(auto& archive, Is<LeaveRequested> auto& request) {
  fields(archive, request.node);
  archive.integer(request.signal, 0, signal_max);
  archive.flag(request.may_be_for_all);
}
void fields(auto& archive, Is<SaveReported> auto& report) {
  fields(archive, report.node);
  fields(archive, report.generation);
  archive.optional(report.step);
}
void fields(auto& archive, Is<StoreUnreachable> auto& unreachable) {
  fields(archive, unreachable.node);
  fields(archive, unreachable.generation);
  archive.string(unreachable.why, text_bytes_max);
}
void fields(auto& archive, Is<VoteRequest> auto& request) {
  fields(archive, request.candidate);
  fields(archive, request.epoch);
  fields(archive, request.sent);
  fields(archive, request.record);
  archive.list(request.electors, electors_max);
  fields(archive, request.founding);
  archive.integer(request.resigned.leader);
  fields(archive, request.resigned.epoch);
}
void fields(auto& archive, Is<Vote> auto& vote) {
  archive.integer(vote.voter);
  fields(archive, vote.epoch);
  fields(archive, vote.sent);
  fields(archive, vote.decided);
}
void fields(auto& archive, Is<Refusal> auto& refusal) {
  archive.integer(refusal.voter);
  fields(archive, refusal.epoch);
  archive.optional(refusal.leader);
}
void fields(auto& archive, Is<Release> auto& release) {
  archive.integer(release.candidate);
  fields(archive, release.epoch);
}
void fields(auto& archive, Is<Leading> auto& leading) {
  fields(archive, leading.leader);
  fields(archive, leading.sent);
  fields(archive, leading.record);
  archive.flag(leading.decided);
  archive.integer(leading.claimed, 0, number_max);
  archive.optional(leading.whole);
}
void fields(auto& archive, Is<Following> auto& following) {
  archive.integer(following.voter);
  fields(archive, following.epoch);
  fields(archive, following.sent);
  fields(archive, following.record);
}
void fields(auto& archive, Is<SteppedDown> auto& stepped_down) {
  archive.integer(stepped_down.leader);
  fields(archive, stepped_down.epoch);
  fields(archive, stepped_down.binds);
  archive.integer(stepped_down.successor);
  archive.list(stepped_down.legacy.gone, SteppedDown::gone_max);
  archive.integer(stepped_down.legacy.ready, 0, SteppedDown::ready_max);
}
void fields(auto& archive, Is<SurveyRequest> auto& request) {
  archive.string(request.address, name_bytes_max);
  fields(archive, request.folder);
}
void fields(auto& archive, Is<SurveyAnswer> auto& answer) {
  archive.integer(answer.voter);
  fields(archive, answer.folder);
  archive.flag(answer.sees);
}
void fields(auto& archive, Is<Welcome> auto& welcome) {
  fields(archive, welcome.leader);
  fields(archive, welcome.node);
  fields(archive, welcome.voters);
  fields(archive, welcome.record);
}
void fields(auto& archive, Is<Redirect> auto& redirect) {
  archive.optional(redirect.leader);
}
void fields(auto& archive, Is<VotersChanged> auto& changed) {
  fields(archive, changed.voters);
  fields(archive, changed.record);
  fields(archive, changed.leader);
}
void fields(auto& archive, Is<Ack> auto& ack) {
  archive.integer(ack.answers, 0);
  archive.integer(ack.received, 0);
  fields(archive, ack.lead);
}
void fields(auto& archive, Is<RelayedBeat> auto& relayed) {
  fields(archive, relayed.from);
  fields(archive, relayed.heartbeat);
}
void fields(auto& archive, Is<BeatForRelay> auto& beat) {
  archive.integer(beat.leader);
  fields(archive, beat.reign);
  fields(archive, beat.relayed);
}
void fields(auto& archive, Is<BeatBatch> auto& batch) {
  archive.list(batch.beats, relayed_max);
}
/// One of a list of reasons.
void fields(auto& archive, Is<std::string> auto& reason) {
  archive.string(reason, name_bytes_max);
}
void fields(auto& archive, Is<OwnersAsked> auto& asked) {
  archive.integer(asked.number, 0);
  archive.list(asked.connections, OwnersAsked::connections_max);
}
void fields(auto& archive, Is<OwnersTold> auto& told) {
  archive.integer(told.number, 0);
  archive.list(told.objections, OwnersAsked::connections_max);
}
void fields(auto& archive, Is<UseRelay> auto& use) {
  archive.string(use.address, name_bytes_max);
}
void fields(auto& archive, Is<RelayedAck> auto& relayed) {
  fields(archive, relayed.to);
  fields(archive, relayed.ack);
}
void fields(auto& archive, Is<AckBatch> auto& batch) {
  archive.list(batch.acks, relayed_max);
}
void fields(auto& archive, Is<AckFromRelay> auto& from_relay) {
  fields(archive, from_relay.ack);
}
void fields(auto& archive, Is<Forgotten> auto& forgotten) {
  fields(archive, forgotten.who);
  fields(archive, forgotten.by);
}
void fields(auto& archive, Is<Refused> auto& refused) {
  archive.string(refused.why, text_bytes_max);
  archive.optional(refused.holder_silent);
  fields(archive, refused.by);
}
void fields(auto& archive, Is<StartGeneration> auto& start) {
  fields(archive, start.node);
  fields(archive, start.part);
}
void fields(auto& archive, Is<StopGeneration> auto& stop) {
  fields(archive, stop.node);
  fields(archive, stop.generation);
  archive.integer(stop.signal, 0, signal_max);
  fields(archive, stop.grace);
  archive.string(stop.why, text_bytes_max);
}
void fields(auto& archive, Is<SaveGeneration> auto& save) {
  fields(archive, save.node);
  fields(archive, save.generation);
}
void fields(auto& archive, Is<FinishJob> auto& finish) {
  fields(archive, finish.node);
  fields(archive, finish.outcome);
  archive.flag(finish.leaves);
}
void fields(auto& archive, Is<Numbered<News>> auto& news) {
  archive.integer(news.number, 1);
  archive.variant(news.message);
}
void fields(auto& archive, Is<Numbered<Instruction>> auto& instruction) {
  archive.integer(instruction.number, 1);
  archive.variant(instruction.message);
}
void fields(auto& archive, Is<Ballot> auto& ballot) {
  archive.variant(ballot);
}

}  // namespace ddprun
