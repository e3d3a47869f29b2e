// The byte that identifies the kind of message. Each is unique in its variant.
#pragma once

#include "rendezvous/membership/messages.hpp"

#include <cstdint>

namespace ddprun {

template <typename Message>
inline constexpr std::uint8_t kind_of = 0;
template <>
inline constexpr std::uint8_t kind_of<Hello> = 0x01;
template <>
inline constexpr std::uint8_t kind_of<Heartbeat> = 0x02;
template <>
inline constexpr std::uint8_t kind_of<Numbered<News>> = 0x03;
template <>
inline constexpr std::uint8_t kind_of<Ballot> = 0x04;
template <>
inline constexpr std::uint8_t kind_of<BeatForRelay> = 0x05;
template <>
inline constexpr std::uint8_t kind_of<BeatBatch> = 0x06;
template <>
inline constexpr std::uint8_t kind_of<Will> = 0x07;
template <>
inline constexpr std::uint8_t kind_of<OwnersAsked> = 0x08;
template <>
inline constexpr std::uint8_t kind_of<Join> = 0x11;
template <>
inline constexpr std::uint8_t kind_of<WorkerFailed> = 0x12;
template <>
inline constexpr std::uint8_t kind_of<WorkerSucceeded> = 0x13;
template <>
inline constexpr std::uint8_t kind_of<StopRequested> = 0x14;
template <>
inline constexpr std::uint8_t kind_of<WorkersStuck> = 0x15;
template <>
inline constexpr std::uint8_t kind_of<StoreUnreachable> = 0x16;
template <>
inline constexpr std::uint8_t kind_of<LeaveRequested> = 0x17;
template <>
inline constexpr std::uint8_t kind_of<SaveReported> = 0x18;
template <>
inline constexpr std::uint8_t kind_of<VoteRequest> = 0x21;
template <>
inline constexpr std::uint8_t kind_of<Vote> = 0x22;
template <>
inline constexpr std::uint8_t kind_of<Refusal> = 0x23;
template <>
inline constexpr std::uint8_t kind_of<Release> = 0x24;
template <>
inline constexpr std::uint8_t kind_of<Leading> = 0x25;
template <>
inline constexpr std::uint8_t kind_of<Following> = 0x26;
template <>
inline constexpr std::uint8_t kind_of<SurveyRequest> = 0x27;
template <>
inline constexpr std::uint8_t kind_of<SurveyAnswer> = 0x28;
template <>
inline constexpr std::uint8_t kind_of<SteppedDown> = 0x29;
template <>
inline constexpr std::uint8_t kind_of<Ack> = 0x81;
template <>
inline constexpr std::uint8_t kind_of<Forgotten> = 0x82;
template <>
inline constexpr std::uint8_t kind_of<Numbered<Instruction>> = 0x83;
template <>
inline constexpr std::uint8_t kind_of<Refused> = 0x84;
template <>
inline constexpr std::uint8_t kind_of<Welcome> = 0x85;
template <>
inline constexpr std::uint8_t kind_of<Redirect> = 0x86;
template <>
inline constexpr std::uint8_t kind_of<VotersChanged> = 0x87;
template <>
inline constexpr std::uint8_t kind_of<UseRelay> = 0x88;
template <>
inline constexpr std::uint8_t kind_of<AckBatch> = 0x89;
template <>
inline constexpr std::uint8_t kind_of<AckFromRelay> = 0x8a;
template <>
inline constexpr std::uint8_t kind_of<OwnersTold> = 0x8b;
template <>
inline constexpr std::uint8_t kind_of<StartGeneration> = 0x91;
template <>
inline constexpr std::uint8_t kind_of<StopGeneration> = 0x92;
template <>
inline constexpr std::uint8_t kind_of<FinishJob> = 0x93;
template <>
inline constexpr std::uint8_t kind_of<SaveGeneration> = 0x94;

}  // namespace ddprun
