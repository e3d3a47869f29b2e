#include "worker/ranks/last_words.hpp"

#include "ddprun/error.hpp"
#include "worker/ranks/group_end.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

constexpr const char* words_key = "last_words";
constexpr std::size_t words_bytes_max = 1000;
constexpr auto words_wait = std::chrono::seconds(2);  // for a store that may have ended, or hang

/// What `work` returns, or nothing if it throws or takes too long; its thread then stays.
std::string in_time(const std::function<std::string()>& work) {
  const auto promise = std::make_shared<std::promise<std::string>>();
  std::future<std::string> result = promise->get_future();
  std::thread([promise, work] {
    try {
      promise->set_value(work());
    } catch (const std::exception&) {  // the store has ended, perhaps with the rank that had it
      promise->set_value({});
    }
  }).detach();
  return result.wait_for(words_wait) == std::future_status::ready ? result.get() : std::string();
}

}  // namespace

void leave_last_words(const std::string& line) {
  const auto place = AbandonedGroups::newest();
  if (!place) return;
  const std::string words =
      text("rank ", place->rank, " has failed, \"", line.substr(0, words_bytes_max), "\"");
  static_cast<void>(in_time([store = place->store, words] {
    store->set(words_key, std::vector<std::uint8_t>(words.begin(), words.end()));
    static_cast<void>(store->check({words_key}));  // is answered once the store has the words
    return std::string();
  }));
}

bool is_lost_connection(const std::string& what) {
  const auto says = [&](const char* words) { return what.find(words) != std::string::npos; };
  const bool is_late = says("imed out") || says("timeout");
  return (says("gloo/transport/") && !is_late) || says("ncclRemoteError");
}

std::string with_last_words(const std::string& what) {
  std::string words;
  if (const auto place = AbandonedGroups::newest()) {
    words = in_time([store = place->store] {
      if (!store->check({words_key})) return std::string();
      const std::vector<std::uint8_t> bytes = store->get(words_key);
      return std::string(bytes.begin(), bytes.end());
    });
  }
  if (words.empty()) {
    words = "another rank has ended or cannot be reached; the launcher's lines say more";
  }
  return text(words, "; so this rank lost its connection: ", what);
}

}  // namespace ddprun::worker
