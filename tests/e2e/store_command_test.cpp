// `ddprun store`: which clients it takes, what it says, and how it ends. tests/peers.sh has more
// versions of PyTorch.
#include "tests/e2e/kit.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace e2e {
namespace {

/// Real PyTorch needs more time than other programs.
class StoreCase : public Case {
 public:
  StoreCase() : Case(std::chrono::seconds(120)) {}

  /// One that listens. Its port is in the file "port".
  Job& start_store(const Words& options = {}) {
    Job& store = start(Words{"store", "--port-file", "port"} + options);
    store.wait_for_file("port");
    return store;
  }

  /// What it has said.
  static std::string end_store(Job& store) {
    store.send(SIGTERM);
    CHECK(store.wait() == 0);
    CHECK(store.out.empty());
    return store.err;
  }

  [[nodiscard]] std::string port() const { return lines_of(read("port")).at(0); }

  /// What a process of user `uid`, or of this one, is told when it asks how many keys there are.
  std::string key_count(const std::string& uid = "") {
    const std::string client = "exec 3<>/dev/tcp/127.0.0.1/" + port() +
                               "; printf '\\006' >&3; head -c 8 <&3 | od -An -tu8";
    if (uid.empty()) return run(Setup{.arguments = {"-c", client}, .program = "/bin/bash"}).out;
    const Words other{"--reuid=" + uid, "--clear-groups", "/bin/bash", "-c", client};
    return run(Setup{.arguments = other, .program = "/usr/bin/setpriv"}).out;
  }
};

std::string store_python() {
  const char* chosen = std::getenv("TEST_PYTHON");
  return chosen == nullptr ? "/usr/bin/python3" : chosen;
}

bool is_root() {
  if (::geteuid() == 0) return true;
  MESSAGE("skipped: only root can become another user");
  return false;
}

struct RefusedStore {
  Words arguments;
  std::string message;  ///< Without "ddprun: " and the line's end.
  int status = 2;
};

}  // namespace

TEST_CASE_FIXTURE(StoreCase, "e2e store command: a PyTorch job without a launcher meets there") {
  Job& store = start_store();
  std::vector<Job*> ranks;
  for (const char* rank : {"0", "1"}) {
    ranks.push_back(&start(Setup{.arguments = {E2E_SOURCE_DIR "/ddp_gloo.py", "train"},
                                 .environment = {{"MASTER_ADDR", "127.0.0.1"},
                                                 {"MASTER_PORT", port()},
                                                 {"RANK", rank},
                                                 {"TORCHELASTIC_RESTART_COUNT", "0"},
                                                 {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                 {"WORLD_SIZE", "2"}},
                                 .program = store_python()}));
  }
  for (Job* rank : ranks) {
    CHECK_MESSAGE(rank->wait() == 0, rank->out, rank->err);
    if (rank->out.starts_with("skipped: ")) {
      MESSAGE(store_python(), " ", rank->out);
    } else {
      CHECK(count_of("passed\n", rank->out) == 1);
    }
  }
  end_store(store);
}

TEST_CASE_FIXTURE(StoreCase, "e2e store command: SIGINT, SIGTERM and SIGHUP end it with 0") {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    Job& store = start_store();
    store.wait_for_err("store: listening at 127.0.0.1:" + port() + "\n");
    store.send(signal);
    CHECK(store.wait() == 0);
    CHECK(store.out.empty());
    CHECK_FALSE(has("port"));
  }
}

TEST_CASE_FIXTURE(StoreCase, "e2e store command: a SIGHUP that nohup ignores does not end it") {
  Job& store =
      start(Setup{.arguments = {"store", "--port-file", "port"}, .ignored_signals = {SIGHUP}});
  store.wait_for_file("port");
  store.send(SIGHUP);
  store.send(SIGUSR1);
  store.wait_for_err(" taken; 0 requests\n");
  CHECK_FALSE(store.ended());
  end_store(store);
}

TEST_CASE_FIXTURE(StoreCase, "e2e store command: who reads no messages holds up nothing") {
  const std::string script =
      "mkfifo full; exec 3<>full; head -c 65536 /dev/zero >&3; "
      "exec " E2E_DDPRUN " store --port-file port 2>full";
  Job& store = start(Setup{.arguments = {"-c", script}, .program = "/bin/bash"});
  store.wait_for_file("port");
  store.send(SIGUSR1);
  CHECK(words_of(key_count()) == Words{"0"});
  store.send(SIGTERM);
  CHECK(store.wait() == 0);
}

TEST_CASE_FIXTURE(StoreCase, "e2e store command: SIGUSR1 and the end print what it has done") {
  Job& store = start_store();
  CHECK(words_of(key_count()) == Words{"0"});
  store.send(SIGUSR1);
  const std::string so_far =
      " of 2.1, 0 of 2.2 and later; 0 refused; 0 keys, 0.0 of 1024 MiB taken; "
      "1 request: 1 count keys\n";
  store.wait_for_err(so_far);
  CHECK_FALSE(store.ended());
  CHECK(words_of(key_count()) == Words{"0"});
  CHECK(end_store(store).ends_with(
      " 2 so far: 2 of PyTorch up to 2.0, 0 of 2.1, 0 of 2.2 and later; 0 refused; 0 "
      "keys, 0.0 of 1024 MiB taken; 2 requests: 2 count keys\n"));
}

TEST_CASE_FIXTURE(StoreCase, "e2e store command: only this user's processes may connect") {
  Job& store = start_store();
  CHECK(words_of(key_count()) == Words{"0"});
  if (!is_root()) return (void)end_store(store);
  CHECK(key_count("54321").empty());
  const std::string said = end_store(store);
  const std::string refusal =
      "store: refused 127.0.0.1, whose process belongs to uid 54321; to admit all users of this "
      "machine, add --allow 127.0.0.1\n";
  CHECK_MESSAGE(count_of(refusal, said) == 1, said);
  CHECK_MESSAGE(count_of("; 1 refused; ", said) == 1, said);
}

TEST_CASE_FIXTURE(StoreCase,
                  "e2e store command: --allow admits a network's processes of any user") {
  Job& store = start_store({"--allow", "10.0.0.0/8,127.0.0.0/8", "--bind", "lo"});
  CHECK(words_of(key_count()) == Words{"0"});
  if (is_root()) CHECK(words_of(key_count("54321")) == Words{"0"});
  end_store(store);
}

TEST_CASE_FIXTURE(StoreCase, "e2e store command: the kernel asks whether a client is there") {
  Job& store = start_store();
  const std::string store_end = fmt::format(":{:04X} [0-9A-F]*:[0-9A-F]* 01 ", std::stoi(port()));
  const std::string keep_alive_runs = "[^ ]* 02:";  // in proc(5): the timer that is active
  const Job& client = run(
      Setup{.arguments = {"-c",
                          "exec 3<>/dev/tcp/127.0.0.1/" + port() + "; until grep -q '" + store_end +
                              keep_alive_runs + "' /proc/net/tcp; do sleep 0.01; done"},
            .program = "/bin/bash"});
  CHECK(client.status() == 0);
  end_store(store);
}

/// Asks 64 times at once how many keys there are; how many segments of data the answers needed.
constexpr const char* ask_at_once = R"(
import socket, struct, sys
store = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
store.sendall(b"\6" * 64)
left = 64 * 8
while left > 0:
    left -= len(store.recv(left))
tcpi_data_segs_in = 152  # its place in struct tcp_info of linux/tcp.h
info = store.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, tcpi_data_segs_in + 4)
print(struct.unpack_from("I", info, tcpi_data_segs_in)[0])
)";

TEST_CASE_FIXTURE(StoreCase, "e2e store command: answers to requests that came at once do, too") {
  Job& store = start_store();
  const Job& client =
      run(Setup{.arguments = {"-c", ask_at_once, port()}, .program = "/usr/bin/python3"});
  CHECK(client.status() == 0);
  CHECK(std::atoi(client.out.c_str()) >= 1);
  CHECK(std::atoi(client.out.c_str()) <= 4);  // a write for each would make 64
  end_store(store);
}

/// In bash's printf: code 8 with the key "k", or with "k" and the value "v".
constexpr const char* delete_k = "\\010\\001\\0\\0\\0\\0\\0\\0\\0k";
constexpr const char* append_kv = "\\010\\001\\0\\0\\0\\0\\0\\0\\0k\\001\\0\\0\\0\\0\\0\\0\\0v";

TEST_CASE_FIXTURE(StoreCase,
                  "e2e store command: an address is of PyTorch 2.1 while a connection of it is") {
  Job& store = start_store();
  const std::string connect = "<>/dev/tcp/127.0.0.1/" + port() + "; ";
  const auto ask = [](const std::string& fd, const std::string& bytes, int count) {
    return "printf '" + bytes + "' >&" + fd + "; head -c " + std::to_string(count) + " <&" + fd +
           " | od -An -tu1; ";
  };
  const auto answers_to = [&](const std::string& client) {
    return words_of(run(Setup{.arguments = {"-c", client}, .program = "/bin/bash"}).out);
  };
  const Words one{"1", "0", "0", "0", "0", "0", "0", "0"};
  CHECK(answers_to("exec 3" + connect + "exec 4" + connect + ask("3", delete_k, 8) +
                   ask("4", "\\013", 1) + "printf '" + append_kv + "' >&3; " +
                   ask("3", "\\006", 8)) == Words(8, "0") + Words{"1"} + one);
  CHECK(answers_to("exec 3" + connect + ask("3", delete_k, 8)) == one);  // 8 is no append again
  end_store(store);
}

TEST_CASE_FIXTURE(StoreCase, "e2e store command: one that runs out of memory ends with 71") {
#ifdef DDPRUN_SANITIZED
  MESSAGE("skipped: a sanitizer needs more address space than the test allows");
#else
  Job& store = start(
      Setup{.arguments = {"-c", "ulimit -v 300000; exec " E2E_DDPRUN " store --port-file port"},
            .program = "/bin/sh"});
  store.wait_for_file("port");
  const std::string set_48_mib =
      "printf '\\000\\001\\0\\0\\0\\0\\0\\0\\0%s\\0\\0\\0\\003\\0\\0\\0\\0' "
      "$key >&3; head -c 50331648 /dev/zero >&3; ";
  (void)run(Setup{.arguments = {"-c",
                                "exec 3<>/dev/tcp/127.0.0.1/" + port() +
                                    "; for key in 1 2 3 4 5 6 7 8; do " + set_48_mib + "done"},
                  .program = "/bin/bash"});
  CHECK(store.wait() == 71);
  CHECK(store.err.ends_with(
      "store: closed, with all connections, so that the workers fail: std::bad_alloc\n"));
#endif
}

TEST_CASE_FIXTURE(StoreCase, "e2e store command: a second one at a port is told to take another") {
  Job& store = start_store();
  const Job& second = run({"store", "--port", port(), "--port-file", "port"});
  CHECK(has("port"));  // of the first one
  CHECK(second.err == "ddprun: cannot open a store on 127.0.0.1:" + port() +
                          ": Address already in use; name another port, or none: any that is free "
                          "does\n");
  CHECK(second.status() == 71);
  end_store(store);
}

TEST_CASE_FIXTURE(StoreCase, "e2e store command: options that make no sense end it at once") {
  const std::vector<RefusedStore> table{
      {{"--prot", "1"}, "ddprun store: unknown word '--prot'; did you mean '--port'?"},
      {{"train.py"},
       "ddprun store: unknown word 'train.py'; ddprun store --help lists all options"},
      {{"--port"}, "ddprun store: --port has no value; write one after it"},
      {{"--port=70000"}, "--port: '70000' from the command line is no port; write 0 to 65535"},
      {{"--allow", "n1"},
       "--allow: 'n1' from the command line has 'n1', which is no network; write addresses and "
       "networks such as 10.1.0.0/16,fd00::/8"},
      {{"--bind", "eth77"},
       "--bind: 'eth77' from the command line is neither an address nor an interface of this "
       "machine that has one; ip -brief address lists both"},
      {{"--bind", "192.0.2.1"},
       "cannot open a store on 192.0.2.1: Cannot assign requested address; this machine has no "
       "such "
       "address; ip -brief address lists those that it has",
       71},
      {{"--port-file", "."}, "--port-file: '.' is there and is no file; name a new file"},
      {{"--port-file", "none/port"},
       "--port-file: cannot write 'none/port': No such file or directory; name a file in a folder "
       "that this user may write to",
       71}};
  for (const RefusedStore& refused : table) {
    CAPTURE(refused.message);
    const Job& store = run(Words{"store"} + refused.arguments);
    CHECK(store.err == "ddprun: " + refused.message + "\n");
    CHECK(store.out.empty());
    CHECK(store.status() == refused.status);
  }
}

TEST_CASE_FIXTURE(StoreCase, "e2e store command: --help lists its options") {
  const Job& help = run({"store", "--help"});
  CHECK(help.out.starts_with("Usage: ddprun store [options]\n"));
  for (const char* option : {"--bind", "--port", "--port-file", "--allow"}) {
    CHECK(count_of(std::string("  ") + option + " ", help.out) == 1);
  }
  CHECK(help.status() == 0);
}

}  // namespace e2e
