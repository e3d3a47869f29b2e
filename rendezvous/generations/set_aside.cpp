#include "rendezvous/generations/set_aside.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddprun {
namespace {

bool is_enough(const Blame& blame) {
  return blame.outlived_kill || blame.failures_count >= SetAside::failures_max;
}

}  // namespace

SetAside::SetAside(const Generation& last) {
  for (const Blame& blame : last.blames) blames_[blame.node] = blame;
}

Blame* SetAside::blame_of(NodeId node) {
  if (blames_.size() >= remembered_max && !blames_.contains(node)) return nullptr;
  Blame& blame = blames_[node];
  blame.node = node;
  return &blame;
}

void SetAside::failed_first(NodeId node) {
  if (Blame* blame = blame_of(node)) ++blame->failures_count;
}

void SetAside::outlived_kill(NodeId node) {
  if (Blame* blame = blame_of(node)) blame->outlived_kill = true;
  said_.insert(node);
}

void SetAside::progressed(const Generation& members) {
  for (const Member& member : members.members) {
    blames_.erase(member.offer.node);
    said_.erase(member.offer.node);
  }
}

bool SetAside::contains(NodeId node) const {
  const auto blame = blames_.find(node);
  return blame != blames_.end() && is_enough(blame->second);
}

std::size_t SetAside::count() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(blames_, [](const auto& entry) { return is_enough(entry.second); }));
}

std::string SetAside::say(const std::map<NodeId, Offer>& spares) {
  std::string text;
  for (const auto& [node, offer] : spares) {
    if (!contains(node) || !said_.insert(node).second) continue;
    const Blame& blame = blames_.at(node);
    text += fmt::format(
        "{}{} is set aside: {}",
        text.empty() ? "" : "; ",
        offer.host,
        blame.outlived_kill
            ? std::string("processes there survived SIGKILL")
            : fmt::format("workers there were {} times the first to fail", blame.failures_count));
  }
  return text;
}

std::vector<Blame> SetAside::record() const {
  std::vector<Blame> all;
  for (const auto& [node, blame] : blames_) all.push_back(blame);
  return all;
}

}  // namespace ddprun
