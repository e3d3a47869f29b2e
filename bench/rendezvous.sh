# Shell functions for bench/run.sh: jobs of many nodes, all of them on this machine, by 127.0.0.1.
# How fast a coordinator starts a job of a thousand agents and what they cost it, how long a job of
# 16 nodes takes, and how long a job of four pauses when a worker fails, when a node or the
# head is lost, and when one joins.
# shellcheck shell=bash source=bench/common.sh
source bench/common.sh

agent_count=1000  # simulated agents, beside some real ones
real_count=4      # with their coordinator a majority of seven voters: simulated agents do not vote
steady_s=20
patience_s=60     # for what takes a few seconds
port=             # of the newest job
stamps=           # of its workers
nodes=()          # process ids of its nodes, by their rank

bench_rendezvous() {
    local round
    trap 'kill -TERM "${nodes[@]}" 2>/dev/null' EXIT  # those that a failed round leaves
    for ((round = 1; round <= $(rounds 5); ++round)); do agents_once "$round"; done
    for ((round = 1; round <= $(rounds 15); ++round)); do start_round "$round"; done
    for ((round = 1; round <= $(rounds 15); ++round)); do restart_nodes_round "$round"; done
    for ((round = 1; round <= $(rounds 9); ++round)); do
        lose_node loss "$round" 4s 2
        lose_node loss "$round" 1.5s 2
        lose_node head "$round" 4s 0
        lose_node head "$round" 1.5s 0
        join_node "$round"
    done
    trap - EXIT
}

# new_job: sets port, stamps and nodes.
new_job() {
    port=$(python3 -c 'import socket
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    print(free.getsockname()[1])')
    stamps=$work/stamps
    nodes=()
    rm -f "$stamps" "$work"/node.*
    touch "$stamps"
}

# node RANK COMMAND...: in the background. Without `exec`, the process id would be a shell's.
node() {
    local rank=$1
    shift
    "$@" >"$work/node.$rank" 2>&1 </dev/null &
    nodes[rank]=$!
}

# ddprun_node RANK OPTIONS... PROGRAM...
ddprun_node() {
    local rank=$1
    shift
    node "$rank" "$ddprun" --rdzv-id bench --rdzv-endpoint "127.0.0.1:$port" \
        --node-rank "$rank" "$@"
}

# wait_nodes STATUS: for all of them, which must end with it.
wait_nodes() {
    local rank status
    for rank in "${!nodes[@]}"; do
        status=0
        wait "${nodes[rank]}" || status=$?
        unset "nodes[$rank]"
        [[ $status -eq $1 ]] || fail "node $rank ended with $status, not $1"
    done
}

# fail TEXT...: with what the nodes have said.
fail() {
    tail -n 20 "$work"/node.* | cut -c 1-200 >&2
    echo "bench: $*" >&2
    exit 1
}

# wait_for COUNT PATTERN FILE: until so many lines of it match.
wait_for() {
    local count=$1 pattern=$2 file=$3 deadline=$((SECONDS + patience_s))
    until [[ $(grep -c "$pattern" "$file" 2>/dev/null) -ge $count ]]; do
        ((SECONDS < deadline)) || fail "after $patience_s s: not $count lines '$pattern' in $file"
        sleep 0.01
    done
}

# took FIGURE ROUND COLUMN N EVENT: a row, from that line of the stamps to the last of N workers of
# the next generation.
took() {
    local time_s
    time_s=$(awk -v n="$4" -v event="$5" '
        $1 == event { from_ns = $NF }
        $1 == "start" && $2 == 1 { count++; if ($4 > last_ns) last_ns = $4 }
        END { if (count != n || !from_ns) exit 1; printf "%.9f", (last_ns - from_ns) * 1e-9 }' \
        "$stamps") || fail "round $2 of $1: $(cat "$stamps")"
    row "$1" "$2" "$3" "$time_s"
}

# A random moment, independent of heartbeats.
any_moment() { sleep "0.$(printf '%03d' $((RANDOM % 500)))"; }

# The inner one of the two processes that ddprun of process id $1 consists of: the agent.
inner_process() { cut -d ' ' -f 1 "/proc/$1/task/$1/children"; }

resident_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }

# Seconds of processor time that process $1 has had. Its name has no blanks.
cpu_s() { awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) / hz }' "/proc/$1/stat"; }

# agents_once ROUND: a job of a real coordinator, real nodes with one worker each, and the others,
# which are one process and find the coordinator listening.
agents_once() {
    local round=$1 count=$((agent_count + real_count)) begin_s end_s begun_s ended_s
    local options=(--nnodes "$count") agents=$((real_count + 1)) coordinator real
    new_job
    node 0 "$ddprun" coordinator --rdzv-id bench --rdzv-endpoint "127.0.0.1:$port" "${options[@]}"
    wait_for 1 'coordinating job' "$work/node.0"
    coordinator=$(inner_process "${nodes[0]}")
    for ((real = 1; real <= real_count; ++real)); do
        ddprun_node $real "${options[@]}" --nproc-per-node 1 "$programs/stamp" "$stamps"
    done
    wait_for 1 "waiting: $real_count of $count nodes" "$work/node.0"
    "$programs/agents" bench "$port" "$count" "$agent_count" \
        >"$work/node.agents" 2>"$work/node.errors" &
    nodes[agents]=$!
    wait_for 1 . "$work/node.agents"
    row agents_start "$round" ddprun "$(cat "$work/node.agents")"
    wait_for 1 '^start 0' "$stamps"
    begin_s=$EPOCHREALTIME
    begun_s=$(cpu_s "$coordinator")
    sleep "$steady_s"
    end_s=$EPOCHREALTIME
    ended_s=$(cpu_s "$coordinator")
    row agents_cpu "$round" ddprun "$(awk -v from="$begin_s" -v to="$end_s" -v had="$begun_s" \
        -v has="$ended_s" 'BEGIN { printf "%.4f", (has - had) / (to - from) }')"
    row agents_memory "$round" ddprun "$(resident_kib "$coordinator")"
    row agent_memory "$round" ddprun "$(resident_kib "$(inner_process "${nodes[1]}")")"
    kill -TERM "${nodes[0]}"
    wait "${nodes[agents]}" || fail "agents ended with $?"
    unset "nodes[agents]"
    wait_nodes 143
}

# start_round ROUND: torchrun takes part in one of five, since it takes long.
start_round() {
    local round=$1 column columns=(ddprun)
    [[ ${#torchrun[@]} -eq 0 ]] || ((round % 5 != 1)) || columns+=(torchrun)
    for column in $(in_turn "$round" "${columns[@]}"); do start_once "$round" "$column"; done
}

# start_once ROUND COLUMN: the shell that starts the nodes is part of both.
start_once() {
    local round=$1 column=$2 launcher=("$ddprun")
    # shellcheck disable=SC2016 # that shell expands it
    local start_all='nodes=$1; shift; rank=0; all=
        while [ $rank -lt $nodes ]; do
            "$@" --node_rank=$rank --no_python /bin/true & all="$all $!"; rank=$((rank + 1))
        done
        for node in $all; do wait $node || exit; done'
    new_job
    [[ $column == ddprun ]] || launcher=("${torchrun[@]}" --local_addr=127.0.0.1)
    stopwatch sh -c "$start_all" sh 16 "${launcher[@]}" --nnodes=16 --nproc_per_node=1 \
        --rdzv_id=bench --rdzv_backend=c10d --rdzv_endpoint="127.0.0.1:$port"
    row start_16 "$round" "$column" "$wall_s"
}

# restart_nodes_round ROUND: a worker fails that is not on the head.
restart_nodes_round() {
    local round=$1 column columns=(ddprun) delay_ms=$((200 + RANDOM % 200))
    [[ ${#torchrun[@]} -eq 0 ]] || ((round % 3 != 1)) || columns+=(torchrun)
    for column in $(in_turn "$round" "${columns[@]}"); do
        new_job
        "restart_nodes_of_$column" "$programs/stamp" "$stamps" "$delay_ms" 5
        wait_nodes 0
        took restart_nodes "$round" "$column" 8 exit
    done
}

restart_nodes_of_ddprun() {
    local rank
    for rank in 0 1 2 3; do
        ddprun_node "$rank" --nnodes 4 --nproc-per-node 2 --max-restarts 1 "$@"
    done
}

restart_nodes_of_torchrun() {
    local rank
    for rank in 0 1; do
        node "$rank" "${torchrun[@]}" --monitor_interval=0.1 --nnodes=2 --nproc_per_node=4 \
            --rdzv_id=bench --rdzv_backend=c10d --rdzv_endpoint="127.0.0.1:$port" \
            --local_addr=127.0.0.1 --max_restarts=1 --no_python "$@"
    done
}

# lose_node FIGURE ROUND DEAD_AFTER RANK: one of four, of which three are enough, by SIGKILL of both
# of its processes.
lose_node() {
    local figure=$1 round=$2 dead_after=$3 lost=$4 rank
    new_job
    for rank in 0 1 2 3; do
        ddprun_node "$rank" --nnodes 3:4 --nproc-per-node 2 --dead-after "$dead_after" \
            "$programs/stamp" "$stamps"
    done
    wait_for 8 '^start 0' "$stamps"
    any_moment
    {
        "$programs/mark" "$stamps" lost \
            kill -KILL "${nodes[lost]}" "$(inner_process "${nodes[lost]}")"
        wait "${nodes[lost]}" || true
    } 2>/dev/null  # where bash says that it was killed
    unset "nodes[$lost]"
    wait_nodes 0
    took "${figure}_$dead_after" "$round" ddprun 6 lost
}

# join_node ROUND: a fourth one, with which the job is complete. The three that begin without it
# wait for --dead-after first, which is not measured.
join_node() {
    local round=$1 rank options=(--nnodes 3:4 --nproc-per-node 2 --last-call 0s)
    new_job
    for rank in 0 1 2; do
        ddprun_node "$rank" "${options[@]}" "$programs/stamp" "$stamps"
    done
    wait_for 6 '^start 0' "$stamps"
    any_moment
    node 3 "$programs/mark" "$stamps" join "$ddprun" --rdzv-id bench \
        --rdzv-endpoint "127.0.0.1:$port" --node-rank 3 "${options[@]}" "$programs/stamp" "$stamps"
    wait_nodes 0
    took join "$round" ddprun 8 join
}
