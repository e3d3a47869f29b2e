"""Shows that each rule matters: takes one away, and looks for a seed in which that is seen.

Usage: mutations.py [NAME...]. Copies the sources into a temporary folder, changes one place in the
copy, compiles the simulator and plays seeds until one breaks a promise. Ends with 1 if a mutation
was not caught. Nothing of this is in the product.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [
    "launcher/agent.cpp",
    "launcher/uplink.cpp",
    "rendezvous/coordinator.cpp",
    "rendezvous/gathering.cpp",
    "rendezvous/generation.cpp",
    "rendezvous/roster.cpp",
    "rendezvous/worker_end.cpp",
    "tests/sim/cluster.cpp",
    "tests/sim/host.cpp",
    "tests/sim/main.cpp",
    "tests/sim/network.cpp",
]
PLAY_SECONDS_MAX = 120  # without a mutation it is a tenth of that
COMPILER = [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-w"]
PLAYS = [
    ["--seeds", "1-1500", "--hosts", "5", "--faults", "10"],
    ["--seeds", "1-1500", "--hosts", "4", "--faults", "40"],
]


@dataclasses.dataclass
class Mutation:
    name: str
    file: str
    old: str
    new: str
    more: tuple = ()  # further changes of its kind: (file, old, new)


MUTATIONS = [
    Mutation("the lease runs from the answer's arrival", "launcher/uplink.cpp",
             "beats_.front().at + std::min", "now + std::min"),
    Mutation("the lease never ends, and no guard sees to it", "launcher/uplink.cpp",
             "    lease_end_ = end;\n", "    lease_end_ = Instant{1'000'000'000};\n"),
    Mutation("no guard kills for a paused agent", "tests/sim/host.cpp",
             "guarded_until_ == end && alive_ > 0", "false"),
    Mutation("instructions are taken without a lease", "launcher/uplink.cpp",
             "if (!lease_end_) return;", ""),
    Mutation("an instruction that comes twice is passed on twice", "rendezvous/outbox.hpp",
             "if (number != newest_ + 1) return false;", ""),
    Mutation("news are not repeated on a new connection", "launcher/uplink.cpp",
             "for (const Numbered<News>& news : outbox_.unconfirmed()) {",
             "for (const Numbered<News>& news : Outbox<News>{}.unconfirmed()) {"),
    Mutation("instructions are not repeated", "rendezvous/roster.cpp",
             "for (const auto& numbered : peer.outbox.unconfirmed()) {",
             "for (const auto& numbered : Outbox<Instruction>{}.unconfirmed()) {"),
    Mutation("a node is lost with its connection", "rendezvous/roster.cpp",
             "void Roster::on(Instant, const SessionClosed& closed, Actions&) {",
             "void Roster::on(Instant, const SessionClosed& closed, Actions& out) {\n"
             "  if (const auto who = speakers_.find(closed.session); who != speakers_.end()) {\n"
             "    Peer& lost = peers_[who->second.agent];\n"
             "    if (lost.session == closed.session && !lost.lost) {\n"
             "      lost.lost = true;\n"
             "      out.emplace_back(Report{NodeLost{lost.node, \"\"}});\n"
             "    }\n"
             "  }"),
    Mutation("a node is lost before its lease is over", "rendezvous/roster.cpp",
             "now - peer.patience_from < options_.times.dead_after)",
             "now - peer.patience_from < options_.times.lease() / 2)"),
    Mutation("a lost life goes on being heard", "rendezvous/roster.cpp",
             "peer->second.life == life && !peer->second.lost", "peer->second.life == life"),
    Mutation("a silent node is waited for without end", "rendezvous/roster.cpp",
             "if (peer.lost || now - peer.patience_from < options_.times.dead_after) continue;",
             "continue;"),
    Mutation("a new life does not forget the old one's numbers", "rendezvous/roster.cpp",
             "    peer->inbox = {};\n", ""),
    Mutation("who was declared lost is not told", "rendezvous/roster.cpp",
             "  out.emplace_back(SendDown{session, Forgotten{{agent, life}}});\n  return nullptr;",
             "  return nullptr;",
             (("rendezvous/roster.cpp",
               "    out.emplace_back(SendDown{session, Forgotten{from}});\n", ""),)),
    Mutation("the next generation starts before all have stopped", "rendezvous/coordinator.cpp",
             "if (stopped_.size() < current_.members.size()) return;", ""),
    Mutation("a member that stops and is lost counts as living", "rendezvous/coordinator.cpp",
             "!stopped_.contains(node);",
             "!stopped_.contains(node) || (started && current_.member_on(node) != nullptr && "
             "!gathering_.contains(node) && !member_lost_);"),
    Mutation("a lost node stays among those that are ready", "rendezvous/coordinator.cpp",
             "  gathering_.remove(lost.node);\n", ""),
    Mutation("a member that was cut off is overlooked", "rendezvous/coordinator.cpp",
             "if (stopped_unasked) {", "if (false) {"),
    Mutation("who joins while it runs is overlooked", "rendezvous/coordinator.cpp",
             "return consider_joiners(now, out);", "return;"),
    Mutation("the agent does not join anew in a new life", "launcher/agent.cpp",
             "if (state_ == State::joined) join(out);", ""),
    Mutation("agent and guard let workers outlive the lease", "launcher/agent.cpp",
             "void Agent::on(Instant now, const LeaseEnded&, Actions& out) {\n"
             "  if (state_ == State::running || state_ == State::stopping) kill_all(now, out);",
             "void Agent::on(Instant, const LeaseEnded&, Actions&) {",
             (("tests/sim/host.cpp", "guarded_until_ == end && alive_ > 0", "false"),)),
    Mutation("the agent joins before its workers are dead", "launcher/agent.cpp",
             "  state_ = State::killing;\n  held_.reset();",
             "  join(out);\n  state_ = State::killing;\n  held_.reset();"),
    Mutation("silence opens no second connection", "launcher/uplink.cpp",
             "    if (!connect_at_) connect(now, out);\n", ""),
]


def compile_one(source, root, folder):
    target = folder / (source.replace("/", "_") + ".o")
    subprocess.run(COMPILER + ["-I", str(root), "-c", str(root / source), "-o", str(target)],
                   check=True)
    return target


def depends_on(source, changed):
    """Whether `source` must be compiled again: a header changes all."""
    return source in changed or any(file.endswith(".hpp") for file in changed)


def play(program):
    """The first seed that breaks a promise, and what it broke; nothing if none does."""
    for arguments in PLAYS:
        try:
            result = subprocess.run([program, "--first", *arguments], capture_output=True,
                                    text=True, timeout=PLAY_SECONDS_MAX, check=False)
        except subprocess.TimeoutExpired:
            return " ".join(arguments[2:]) + " goes on for ever in one instant"
        if result.returncode != 0:
            return " ".join(arguments[2:]) + " " + (result.stdout.splitlines() or ["crashed"])[0]
    return None


def catch(mutation, objects):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("launcher", "rendezvous", "tests/sim"):
            shutil.copytree(ROOT / part, folder / part)
        changes = [(mutation.file, mutation.old, mutation.new), *mutation.more]
        for file, old, new in changes:
            text = (folder / file).read_text(encoding="utf-8")
            if text.count(old) != 1:
                return f"its text is {text.count(old)} times in {file}", False
            (folder / file).write_text(text.replace(old, new), encoding="utf-8")
        changed = [file for file, _, _ in changes]
        linked = [
            compile_one(source, folder, folder) if depends_on(source, changed) else objects[source]
            for source in SOURCES
        ]
        program = folder / "sim"
        subprocess.run(COMPILER + [*map(str, linked), "-lfmt", "-o", str(program)], check=True)
        caught = play(program)
        return caught or "NOT CAUGHT", caught is not None


def main(names):
    chosen = [each for each in MUTATIONS if not names or each.name in names]
    jobs = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        folder = pathlib.Path(name)
        objects = dict(zip(SOURCES, pool.map(lambda each: compile_one(each, ROOT, folder),
                                             SOURCES)))
        results = pool.map(lambda each: catch(each, objects), chosen)
        missed = 0
        for mutation, (text, caught) in zip(chosen, results):
            print(f"{mutation.name:<58} {text}", flush=True)
            missed += 0 if caught else 1
    print(f"{len(chosen) - missed} of {len(chosen)} mutations caught")
    return 1 if missed else 0


sys.exit(main(sys.argv[1:]))
