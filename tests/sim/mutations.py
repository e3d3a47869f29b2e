"""Shows that each rule matters: takes one away, and looks for where that is seen.

Usage: mutations.py [PART OF A NAME...]. Copies the sources into a temporary folder, changes one
place in the copy, compiles the simulator and plays seeds until one breaks a promise or hangs. What
no seed shows must be shown by a unit test of the changed file. Ends with 1 if a mutation was not
caught. Nothing of this is in the product.
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
    "rendezvous/coordinator_generations.cpp",
    "rendezvous/election.cpp",
    "rendezvous/gathering.cpp",
    "rendezvous/generation.cpp",
    "rendezvous/lead.cpp",
    "rendezvous/pledge.cpp",
    "rendezvous/restart_policy.cpp",
    "rendezvous/roster.cpp",
    "rendezvous/set_aside.cpp",
    "rendezvous/succession.cpp",
    "rendezvous/succession_candidate.cpp",
    "rendezvous/succession_leader.cpp",
    "rendezvous/succession_voter.cpp",
    "rendezvous/voters.cpp",
    "rendezvous/worker_end.cpp",
    "tests/sim/cells.cpp",
    "tests/sim/cluster.cpp",
    "tests/sim/host.cpp",
    "tests/sim/host_lines.cpp",
    "tests/sim/main.cpp",
    "tests/sim/network.cpp",
]
COMPILER = [os.environ.get("CXX", "c++"), "-std=c++20", "-O1", "-w"]
PLAYS = [
    ["--seeds", "1-300", "--hosts", "4", "--faults", "40"],
    ["--seeds", "1-300", "--hosts", "5", "--faults", "10"],
    ["--seeds", "1-300", "--hosts", "3", "--faults", "20"],
    ["--seeds", "1301-1700", "--hosts", "3", "--faults", "20"],
    ["--seeds", "1-1500", "--hosts", "4", "--faults", "40", "--one-head"],
]
PLAY_SECONDS_MAX = 200  # without a mutation it is a tenth of that


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
             "if (!lease_end_ && !starts_nothing) return;", ""),
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
             "  out.emplace_back(SendDown{session, Forgotten{{agent, life}, options_.leader}});\n"
             "  return nullptr;",
             "  return nullptr;",
             (("rendezvous/roster.cpp",
               "    out.emplace_back(SendDown{session, Forgotten{from, options_.leader}});\n",
               ""),)),
    Mutation("the next generation starts before all have stopped",
             "rendezvous/coordinator_generations.cpp",
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
    Mutation("stuck workers are not told of again in a new life", "launcher/agent.cpp",
             "if (state_ == State::stuck) tell_of_stuck(out);", ""),
    Mutation("stuck workers are waited for", "rendezvous/coordinator.cpp",
             "  stopped_.insert(node);\n  interrupt(stuck.text, out);",
             "  interrupt(stuck.text, out);"),
    Mutation("who is set aside is taken like others", "rendezvous/gathering.cpp",
             "aside.contains(node) == are_aside", "!are_aside"),
    Mutation("agent and guard let workers outlive the lease", "launcher/agent.cpp",
             "void Agent::on(Instant now, const LeaseEnded&, Actions& out) {\n"
             "  if (state_ == State::running || state_ == State::stopping) kill_all(now, out);",
             "void Agent::on(Instant, const LeaseEnded&, Actions&) {",
             (("tests/sim/host.cpp", "guarded_until_ == end && alive_ > 0", "false"),)),
    Mutation("the agent joins before its workers are dead", "launcher/agent.cpp",
             "  state_ = State::killing;\n  held_.reset();",
             "  join(out);\n  state_ = State::killing;\n  held_.reset();"),
    Mutation("silence opens no second connection", "launcher/uplink.cpp",
             "  suspect_at_ = now + lease / 6;\n  if (!connect_at_) connect(now, out);\n",
             "  suspect_at_ = now + lease / 6;\n"),
    Mutation("R2 the lease outlives the lead", "launcher/uplink.cpp",
             "std::min(options_.times.lease(), ack.lead)", "options_.times.lease()"),
    Mutation("R3 the lead never ends", "rendezvous/lead.cpp",
             "if (*since < forever) earliest = std::min(earliest, *since + times_.lease());", ""),
    Mutation("R3 the lead runs from the arrival of the answer", "rendezvous/succession_leader.cpp",
             "lead_.heard(following.voter, following.sent);",
             "lead_.heard(following.voter, now);"),
    Mutation("R4 either half is a majority", "rendezvous/voters.cpp",
             "return contains(head) && agents.contains(head);", "return true;"),
    Mutation("R4 no half is a majority", "rendezvous/voters.cpp",
             "return contains(head) && agents.contains(head);", "return false;"),
    Mutation("R5 the old head's node is lost at once", "rendezvous/succession_candidate.cpp",
             "= election.last_vote() - options_.times.lease();", "= Instant{-1'000'000};"),
    Mutation("R5 all inherited nodes are lost at once", "rendezvous/roster.cpp",
             "offer.agent == record.voters.head ? old_head_heard : now,",
             "Instant{-1'000'000},"),
    Mutation("R6 a roster that was held up counts that as silence", "rendezvous/roster.cpp",
             "if (late > interval / 2) peer.patience_from", "if (false) peer.patience_from"),
    Mutation("R6 a voter that was held up stands at once", "rendezvous/succession.cpp",
             "if (now - *due > interval / 2) stand_after_", "if (false) stand_after_"),
    Mutation("R7 who has just heard a leader votes", "rendezvous/succession_voter.cpp",
             "return !workers_live_ && now >= heard_ + options_.times.lease();",
             "return true;"),
    Mutation("R7 who has workers votes", "rendezvous/succession_voter.cpp",
             "return !workers_live_ && now", "return now"),
    Mutation("R7 a vote is no promise", "rendezvous/pledge.cpp",
             "return now < until_ && to_ != other;", "return false;"),
    Mutation("R7 after a vote the old leader is heard", "rendezvous/pledge.cpp",
             "return leader.epoch >= floor_;", "return true;"),
    Mutation("R7 who steps down has promised nothing", "rendezvous/succession_leader.cpp",
             "  heard_ = patience_ = now;\n  pledge_.abstain(now + options_.times.lease());", ""),
    Mutation("R8 two votes in an epoch", "rendezvous/pledge.cpp",
             "(request.epoch > epoch_ || again)", "(request.epoch >= epoch_ || again)"),
    Mutation("R8 votes for an older record", "rendezvous/succession_voter.cpp",
             "if (known_ && request.record < known_->id()) return false;  // V3", ""),
    Mutation("R8 a process that was started again votes", "rendezvous/succession_voter.cpp",
             "if (!asked) return false;", ""),
    Mutation("R8 a candidate gives way to nobody", "rendezvous/succession_voter.cpp",
             "if (state_ == State::standing) return gives_way_to(request);",
             "if (state_ == State::standing) return false;"),
    Mutation("R9 who is not elected frees nobody", "rendezvous/succession_candidate.cpp",
             "    out.emplace_back(SendBallot{voter.address, Release{self.agent, epoch}});\n", ""),
    Mutation("R9 all stand at once", "rendezvous/succession_candidate.cpp",
             "lease / 4 * known_->record.voters.place_of(self);", "lease / 4 * 0;"),
    Mutation("R9 the lead runs from the election", "rendezvous/succession_candidate.cpp",
             "for (const auto& [voter, sent] : election.votes()) lead_.heard(voter, sent);",
             "for (const auto& [voter, sent] : election.votes()) lead_.heard(voter, now);"),
    Mutation("R10 no leader asks for a higher epoch", "rendezvous/succession.cpp",
             "!election_ && highest_ > leader_->epoch", "false"),
    Mutation("R10 a leader that is not elected again steps down",
             "rendezvous/succession_candidate.cpp",
             "if (state_ == State::leading) return;  // they go on following",
             "if (state_ == State::leading) return step_down(now, out);"),
    Mutation("R11 an undecided record needs its own voters only",
             "rendezvous/succession_candidate.cpp",
             "return {known_->before, known_->record.voters};", "return {known_->record.voters};"),
    Mutation("R11 an undecided record needs the voters before only",
             "rendezvous/succession_candidate.cpp",
             "return {known_->before, known_->record.voters};", "return {known_->before};"),
    Mutation("decided without the last voters", "rendezvous/succession_leader.cpp",
             "if (!known_->before.is_majority(agents) || !known_",
             "if (!known_"),
    Mutation("decided without its own voters", "rendezvous/succession_leader.cpp",
             "|| !known_->record.voters.is_majority(agents)) return;", ") return;"),
    Mutation("R16 the leader is announced once", "rendezvous/succession_leader.cpp",
             "announce_at_ = now + options_.times.heartbeat();",
             "announce_at_ = now + Millis{1'000'000};"),
    Mutation("R17 who joins a new head has not stopped", "rendezvous/coordinator.cpp",
             "const bool stopped = inherited_ || join", "const bool stopped = join"),
    Mutation("R17 what was said to one head is repeated to the next", "launcher/uplink.cpp",
             "if (begins_anew) forget_all(now, out);  // U4", ""),
    Mutation("O5 a life that another coordinator has leased goes on", "rendezvous/roster.cpp",
             "is_from_before || ", ""),
    Mutation("the place of an inherited member is refused for good", "rendezvous/roster.cpp",
             "holder->life == 0 ? Refused::for_ever : ", ""),
    Mutation("R18 who founds gives way to nobody", "rendezvous/succession_leader.cpp",
             "return state_ == State::leading && leader_->epoch == Epoch{};", "return false;"),
    Mutation("R18 nobody calls the endpoint", "rendezvous/succession_leader.cpp",
             "if (told || founding() || now < call_at_) return;", "return;"),
    Mutation("R18 a first generation needs no more nodes than others", "rendezvous/gathering.hpp",
             "std::max(options_.nodes_min, options_.nodes_first)", "options_.nodes_min"),
    Mutation("R18 a first generation does not wait for the last one's end",
             "rendezvous/gathering.cpp",
             "std::max(options_.last_call, options_.quiet)", "options_.last_call",
             (("rendezvous/gathering.cpp",
               "has(std::max(options_.nodes_max, options_.nodes_all))",
               "has(options_.nodes_min)"),)),
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
        where = " ".join(arguments[2:])
        try:
            result = subprocess.run([program, "--first", *arguments], capture_output=True,
                                    text=True, timeout=PLAY_SECONDS_MAX, check=False)
        except subprocess.TimeoutExpired:
            return where + " hangs"
        if result.returncode != 0:
            return where + " " + (result.stdout.splitlines() or ["crashed"])[0]
    return None


def test(changed, linked, root):
    """The first unit test of a changed file that fails; nothing if none does."""
    machines = [each for source, each in linked.items() if not source.startswith("tests/")]
    for source in changed:
        name = pathlib.Path(source).stem + "_test.cpp"
        case = root / "tests/unit" / name
        if not case.exists():
            continue
        program = root / "unit"
        helpers = [root / "tests/main.cpp", root / "tests/unit/trace.cpp"]
        subprocess.run(COMPILER + ["-O0", "-I", str(root), str(case), *map(str, helpers),
                                   *map(str, machines), "-lfmt", "-o", str(program)], check=True)
        result = subprocess.run([program, "-nc"], capture_output=True, text=True,
                                timeout=PLAY_SECONDS_MAX, check=False)
        if result.returncode != 0:
            failed = [line for line in result.stdout.splitlines() if line.startswith("TEST CASE:")]
            return name + ": " + (failed or ["crashed"])[0].removeprefix("TEST CASE:").strip()
    return None


def catch(mutation, objects):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in ("launcher", "rendezvous", "tests/sim", "tests/unit"):
            shutil.copytree(ROOT / part, folder / part)
        shutil.copy(ROOT / "tests/main.cpp", folder / "tests/main.cpp")
        changes = [(mutation.file, mutation.old, mutation.new), *mutation.more]
        for file, old, new in changes:
            text = (folder / file).read_text(encoding="utf-8")
            if text.count(old) != 1:
                return f"its text is {text.count(old)} times in {file}", False
            (folder / file).write_text(text.replace(old, new), encoding="utf-8")
        changed = [file for file, _, _ in changes]
        linked = {
            source: compile_one(source, folder, folder)
            if depends_on(source, changed) else objects[source]
            for source in SOURCES
        }
        program = folder / "sim"
        objects_all = map(str, linked.values())
        subprocess.run(COMPILER + [*objects_all, "-lfmt", "-o", str(program)], check=True)
        caught = play(program) or test(changed, linked, folder)
        return caught or "NOT CAUGHT", caught is not None


def main(names):
    chosen = [each for each in MUTATIONS if not names or any(name in each.name for name in names)]
    jobs = int(os.environ.get("JOBS", os.cpu_count() or 1))
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
