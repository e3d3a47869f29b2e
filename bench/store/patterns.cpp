#include "bench/store/patterns.hpp"

#include "bench/store/clients.hpp"
#include "bench/store/requests.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace ddprun::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double measure_s = 1.5;
constexpr double warm_up_s = 0.2;
constexpr std::size_t value_bytes = 64;
constexpr std::size_t batch = 64;
constexpr std::size_t pipelining_clients = 8;
constexpr int rendezvous_rounds = 5;
constexpr double large_values_bytes = 512e6;  // together

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

std::string key_of(std::size_t client) {
  return "/bench/" + std::to_string(client);
}

std::string value_reply(std::string_view value) {
  std::string reply;
  encode_string(value, reply);
  return reply;
}

double quantile(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<std::size_t>(at)];
}

/// One request of a client that is sent again and again.
struct Exchange {
  std::string request;
  std::string answer;  // empty: `answer_bytes` of any kind
  std::size_t answer_bytes = 0;
};

struct Loop {
  double seconds = 0;
  double cpu_s = 0;
  std::vector<double> latencies_s;
};

/// Each client has one exchange after the other, for so long.
void play(Clients& clients, const std::vector<Exchange>& exchanges, double for_s, Loop& loop) {
  std::vector<Clock::time_point> asked(clients.count());
  const auto ask = [&](std::size_t client) {
    const Exchange& exchange = exchanges[client];
    asked[client] = Clock::now();
    clients.ask(client, exchange.request, exchange.answer, exchange.answer_bytes);
  };
  const Clock::time_point begin = Clock::now();
  for (std::size_t client = 0; client < clients.count(); ++client) ask(client);
  clients.run([&](std::size_t client) {
    loop.latencies_s.push_back(seconds_since(asked[client]));
    if (seconds_since(begin) < for_s) ask(client);
  });
  loop.seconds = seconds_since(begin);
}

Loop loop_of(const Target& target, const std::vector<Exchange>& exchanges) {
  Clients clients(target.port, exchanges.size());
  Loop warm_up;
  play(clients, exchanges, warm_up_s, warm_up);
  Loop loop;
  const double cpu_before_s = target.process.cpu_s();
  play(clients, exchanges, measure_s, loop);
  loop.cpu_s = target.process.cpu_s() - cpu_before_s;
  return loop;
}

Figures pipelined(const Target& target, const std::vector<Exchange>& exchanges) {
  const Loop loop = loop_of(target, exchanges);
  const double operations = static_cast<double>(loop.latencies_s.size() * batch);
  return {{"rate", operations / loop.seconds}, {"cpu", loop.cpu_s / operations}};
}

}  // namespace

Figures closed_loop(const Target& target, std::size_t count) {
  const std::string value(value_bytes, 'v');
  std::vector<Exchange> exchanges(count);
  for (std::size_t i = 0; i < count; ++i) {
    append_set(key_of(i), value, exchanges[i].request);
    append_get(key_of(i), exchanges[i].request);
    exchanges[i].answer = value_reply(value);
  }
  Loop loop = loop_of(target, exchanges);
  const double operations = static_cast<double>(loop.latencies_s.size() * 2);
  return {{"rate", operations / loop.seconds},
          {"p50", quantile(loop.latencies_s, 0.5)},
          {"p99", quantile(loop.latencies_s, 0.99)},
          {"cpu", loop.cpu_s / operations}};
}

Figures pipelined_set(const Target& target) {
  const std::string value(value_bytes, 'v');
  std::vector<Exchange> exchanges(pipelining_clients);
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    for (std::size_t j = 0; j < batch; ++j) append_set(key_of(i), value, exchanges[i].request);
    append_get(key_of(i), exchanges[i].request);
    exchanges[i].answer = value_reply(value);
  }
  return pipelined(target, exchanges);
}

Figures pipelined_add(const Target& target) {
  std::vector<Exchange> exchanges(pipelining_clients);
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    const std::string key = "/bench/sum/" + std::to_string(i);
    for (std::size_t j = 0; j < batch; ++j) append_add(key, 1, exchanges[i].request);
    exchanges[i].answer_bytes = batch * sizeof(std::int64_t);
  }
  return pipelined(target, exchanges);
}

Figures rendezvous(const Target& target, std::size_t count) {
  static constexpr std::string_view go("\0", 1);
  Clients clients(target.port, count);
  std::vector<double> rounds_s;
  const double cpu_before_s = target.process.cpu_s();
  for (int round = 0; round < rendezvous_rounds; ++round) {
    std::vector<std::string> keys;
    const std::string prefix = "/bench/rendezvous/" + std::to_string(count) + "/";
    for (std::size_t i = 0; i < count; ++i) {
      keys.push_back(prefix + std::to_string(round) + "/" + std::to_string(i));
    }
    std::vector<std::string> requests(count);
    for (std::size_t i = 0; i < count; ++i) {
      append_set(keys[i], "here", requests[i]);
      append_wait(keys, requests[i]);
    }
    const Clock::time_point begin = Clock::now();
    for (std::size_t i = 0; i < count; ++i) clients.ask(i, requests[i], go);
    clients.run([](std::size_t) {});
    rounds_s.push_back(seconds_since(begin));
  }
  const double cpu_s = target.process.cpu_s() - cpu_before_s;
  return {{"round", quantile(rounds_s, 0.5)}, {"cpu", cpu_s / rendezvous_rounds}};
}

Figures storm(const Target& target, std::size_t count) {
  const Clock::time_point begin = Clock::now();
  const Clients clients(target.port, count);
  return {{"time", seconds_since(begin)}};
}

Figures large_value(const Target& target, std::size_t bytes) {
  const std::string value(bytes, 'v');
  Exchange exchange;
  append_set("/bench/large", value, exchange.request);
  append_get("/bench/large", exchange.request);
  exchange.answer = value_reply(value);
  Clients clients(target.port, 1);
  double moved_bytes = 0;
  const Clock::time_point begin = Clock::now();
  while (moved_bytes < large_values_bytes) {
    clients.ask(0, exchange.request, exchange.answer);
    clients.run([](std::size_t) {});
    moved_bytes += 2 * static_cast<double>(bytes);
  }
  return {{"rate", moved_bytes / seconds_since(begin)}};
}

Figures idle_memory(const Target& target, std::size_t count) {
  const Clients first(target.port, 1);  // what the first one costs besides
  const double before_bytes = target.process.resident_bytes();
  const Clients clients(target.port, count);
  const double more_bytes = target.process.resident_bytes() - before_bytes;
  return {{"memory", more_bytes / static_cast<double>(count)}};
}

}  // namespace ddprun::bench
