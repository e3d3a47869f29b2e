# Shell functions for packaging/test.sh: jobs that a program must be able to run.
# shellcheck shell=bash
# shellcheck disable=SC2154  # test.sh sets version and work
# shellcheck disable=SC2016  # the workers' shells expand their variables

# check_jobs NAME COMMAND...: COMMAND is ddprun, with what starts it on another system.
check_jobs() {
    local name=$1
    shift
    check "$name: it says its version, commit and compiler" says_its_build "$@"
    check "$name: two workers" two_workers "$@"
    check "$name: a restart" "$@" --max-restarts=1 \
        sh -c 'test "$TORCHELASTIC_RESTART_COUNT" = 1'
    check "$name: two nodes" two_nodes "$@"
    check "$name: the workers' store answers" "$@" --nproc-per-node=2 bash -c "$ping_store"
}

# The commit is one of this clone, or unknown to who has none.
says_its_build() {
    local commit
    "$@" --version >"$work/output" || return 1
    cat "$work/output"
    commit=$(sed -n 's/^commit \([0-9a-f]\{12\}\|unknown\)\(, changed\)\?$/\1/p' "$work/output")
    if [[ -e .git ]]; then
        git rev-parse --quiet --verify "$commit^{commit}" || return 1
    else
        [[ $commit == unknown ]] || return 1
    fi
    grep -xF "ddprun $version" "$work/output" && grep -xE 'compiler Clang [0-9.]+' "$work/output"
}

# What a client of PyTorch 2.2 and later begins with, and a ping with four bytes, which come back.
ping_store='exec 3<>"/dev/tcp/$MASTER_ADDR/$MASTER_PORT" &&
    printf "\0\316\367\205\074\015abcd" >&3 &&
    read -r -N 4 -t 60 -u 3 answer && test "$answer" = abcd'

# says_ranks FILE: those of a job of two workers.
says_ranks() { grep "rank 0 of 2" "$1" && grep "rank 1 of 2" "$1"; }

say_rank=(sh -c 'echo "rank $RANK of $WORLD_SIZE"')

two_workers() {
    "$@" --nproc-per-node=2 "${say_rank[@]}" >"$work/output" &&
        says_ranks "$work/output"
}

free_port() {
    python3 -c 'import socket; print(socket.create_server(("127.0.0.1", 0)).getsockname()[1])'
}

two_nodes() {
    local meet=(--nnodes=2 "--rdzv-endpoint=127.0.0.1:$(free_port)" --nproc-per-node=1) status=0
    "$@" "${meet[@]}" --node-rank=1 "${say_rank[@]}" >"$work/node1" &
    "$@" "${meet[@]}" --node-rank=0 "${say_rank[@]}" >"$work/node0" || status=1
    wait $! && [[ $status -eq 0 ]] || return 1
    cat "$work/node0" "$work/node1" >"$work/output"
    says_ranks "$work/output"
}

# A conda environment has such libraries; these are none, so whatever loads one fails.
beside_conda() {
    local library
    mkdir -p "$work/conda"
    for library in libstdc++.so.6 libgcc_s.so.1 libc++.so.1 libsodium.so.23 libfmt.so.9 \
        libyaml-cpp.so.0.7 libboost_program_options.so.1.81.0; do
        echo "not a library" >"$work/conda/$library"
    done
    LD_LIBRARY_PATH=$work/conda two_workers "$@"
}
