#!/usr/bin/env bash
# Runs README's two commands on a new Debian that has nothing but git, as root and from a clone of
# this commit, and prints how long each took.
#   tests/fresh_root.sh SUITE [COMMAND]     SUITE: bookworm or trixie; COMMAND: instead of both
# Root only; it needs mmdebstrap. That Debian is build/roots/SUITE, which is thrown away afterwards;
# DDPRUN_DEBIAN_MIRROR names another mirror than Debian's.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=${1:?usage: tests/fresh_root.sh SUITE [COMMAND]}
commands=("${2:-}")
[[ -n ${2:-} ]] || commands=(examples/quickstart.sh tests/run.sh)
root=$PWD/build/roots/$suite

[[ $EUID -eq 0 ]] || { echo "fresh_root.sh: only root can make and enter a root" >&2; exit 1; }
command -v mmdebstrap >/dev/null || { echo "fresh_root.sh: there is no mmdebstrap" >&2; exit 1; }

rm -rf --one-file-system "$root"
trap 'rm -rf --one-file-system "$root"' EXIT
mkdir -p "$root"
mmdebstrap --quiet --mode=root --variant=apt --include=git,ca-certificates "$suite" "$root" \
    ${DDPRUN_DEBIAN_MIRROR:+"$DDPRUN_DEBIAN_MIRROR"}
cp /etc/resolv.conf "$root/etc/resolv.conf"
# As Debian's installer does.
printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$(uname -n)" >"$root/etc/hosts"
git clone --quiet . "$root/root/ddprun"

# In namespaces of its own, so that nothing is left mounted or running.
inside() {
    unshare --mount --pid --fork --kill-child --propagation private bash -c "
        set -euo pipefail
        mount --bind '$root' '$root'  # else / is no mount point there, and cannot be made private
        mount -t proc proc '$root/proc'
        mount --rbind /sys '$root/sys'
        mount --rbind /dev '$root/dev'
        exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \\
            chroot '$root' bash -c 'cd /root/ddprun && $1'
    "
}

status=0
for command in "${commands[@]}"; do
    start=$SECONDS result=passed
    inside "$command" || { result=FAILED status=1; }
    echo "$suite: $command: $result, $((SECONDS - start)) s"
done
exit "$status"
