"""The rules that mutations.py takes away, and their order."""

# Who leads, and who may start workers: what all machines together keep to. Each is taken away.
RULES = {
    "R1": "An agent's lease runs from the sending of an answered heartbeat; at its end agent and "
          "guard kill the workers, and nothing is started without one.",
    "R2": "An answer says for how long its head still leads; no lease lasts longer.",
    "R3": "A head leads for a lease after the sending of what a majority of its voters, or each "
          "who may claim, has answered.",
    "R4": "Of an even number of voters the half with the record's head is a majority.",
    "R5": "A node is lost by its silence for dead-after or by its agent's will, and by nothing "
          "else; a new head starts nothing before the old one's leases are over.",
    "R6": "Who was held up adds that to everybody's patience.",
    "R7": "Nobody votes before a lease has passed since it heard a head and its workers are dead; "
          "a vote promises the same to the candidate.",
    "R8": "One vote an epoch, none for an older record, none by who was started again; a candidate "
          "votes only for one that goes before it.",
    "R9": "Candidates stand one after the other, say so when they give up, and lead from the "
          "sending of the oldest request whose vote counts.",
    "R10": "A head that hears of a higher epoch asks its voters for one, and goes on meanwhile.",
    "R11": "Until it is told that a record is decided, an agent stands with the voters of that "
           "one and of the one before.",
    "R12": "Only who is named in the newest claim claims after it.",
    "R13": "A place is claimed last, after all whom it names have accepted; who finds it taken "
           "goes by what is there.",
    "R14": "The next place is the newest claimed one and one.",
    "R15": "Nothing is claimed where the founder's proof is not seen; who reaches no folder lets "
           "others try.",
    "R16": "Who leads says so again and again, looks for others' claims, yields to who goes "
           "before it, and to others where nobody answers; it leaves out who does not accept.",
    "R17": "A member has stopped when it joins for the next generation; what was said to one head "
           "is not repeated to the next.",
    "R18": "Who founds a job gives way to one that lives, which calls there; it needs enough nodes "
           "to know of any.",
    "R19": "A job's snapshots are of a later generation than all that were there.",
    "R20": "A start sets the snapshot's link to what it has loaded.",
}
# Others are invariants, with their numbers there.
FILES = {
    "A": "agent.hpp",
    "C": "coordinator.hpp",
    "L": "tests/sim/cluster.hpp",
    "N": "node.hpp",
    "O": "roster.hpp",
    "S": "tests/sim/cluster.hpp",
    "U": "uplink.hpp",
    "V": "succession.hpp",
}


def place_of(rule):
    """By letter and number, those of RULES first."""
    return rule not in RULES, rule[0], int(rule[1:])
