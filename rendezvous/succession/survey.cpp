#include "rendezvous/succession/survey.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

Survey::Survey(std::vector<Voter> voters, AgentId self, Instant ends_at)
    : voters_(std::move(voters)), answers_{{self, true}}, ends_at_(ends_at) {}

std::vector<Voter> Survey::unanswered() const {
  std::vector<Voter> left;
  for (const Voter& voter : voters_) {
    if (!answers_.contains(voter.agent)) left.push_back(voter);
  }
  return left;
}

const Voter* Survey::blind() const {
  const auto found = std::ranges::find_if(voters_, [&](const Voter& voter) {
    const auto answer = answers_.find(voter.agent);
    return answer != answers_.end() && !answer->second;
  });
  return found == voters_.end() ? nullptr : &*found;
}

bool Survey::is_over(Instant now) const {
  return blind() != nullptr || now >= ends_at_ || unanswered().empty();
}

std::string Survey::why_not() const {
  if (const Voter* voter = blind()) return voter->host + " does not see";
  const std::vector<Voter> left = unanswered();
  return left.empty() ? std::string() : left.front().host + " has not answered whether it sees";
}

}  // namespace ddprun
