# Shell functions for packaging/build.sh: a tree of files, and the packages that hold it. All times
# in them are $SOURCE_DATE_EPOCH.
# shellcheck shell=bash
# shellcheck disable=SC2154  # build.sh sets cache, dist, glibc, summary and version
set -e

# The licence texts of all that is in the program: in .cache, or in this source tree.
declare -A licences=(
    [ddprun]=$PWD/LICENSE
    [boost]=unpacked/boost/LICENSE_1_0.txt
    [fmt]=unpacked/fmtlib/LICENSE.rst
    [libsodium]=unpacked/libsodium/LICENSE
    [nlohmann-json]=unpacked/nlohmann-json3/LICENSE.MIT
    [yaml-cpp]=unpacked/yaml-cpp/LICENSE
    [libcxx]=compiler/ziglang/lib/libcxx/LICENSE.TXT
    [libcxxabi]=compiler/ziglang/lib/libcxxabi/LICENSE.TXT
    [libunwind]=compiler/ziglang/lib/libunwind/LICENSE.TXT
    [zig]=compiler/ziglang/LICENSE
    [glibc-start-files]=compiler/ziglang/lib/libc/glibc/LICENSES
)

# stage PROGRAM TREE: bin, share/man and share/doc as they are installed below a prefix.
stage() {
    local page name
    rm -rf "$2"
    install -D -m 755 "$1" "$2/bin/ddprun"
    for page in man/*.[1-9]; do
        install -D -m 644 "$page" "$2/share/man/man${page##*.}/$(basename "$page")"
    done
    install -D -m 644 -t "$2/share/doc/ddprun/configs" configs/*
    install -D -m 755 -t "$2/share/doc/ddprun/examples/slurm" examples/slurm/*.sh
    for name in "${!licences[@]}"; do
        (cd "$cache" && install -D -m 644 "${licences[$name]}" "$2/share/doc/ddprun/licences/$name")
    done
    find "$2" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

# make_tarball TREE FOLDER: TREE is the one folder in it.
make_tarball() {
    tar --create --directory="$(dirname "$1")" --sort=name --format=ustar --owner=0 --group=0 \
        --numeric-owner --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" "$(basename "$1")" |
        gzip --no-name -9 >"$2/$(basename "$1").tar.gz"
}

# kibibytes TREE: of its files, each rounded up; folders are left out, whose sizes the disk decides.
kibibytes() {
    find "$1" -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }'
}

# make_deb TREE MACHINE FOLDER
make_deb() {
    local root=$cache/$2/deb architecture
    case $2 in
        x86_64) architecture=amd64 ;;
        aarch64) architecture=arm64 ;;
    esac
    rm -rf "$root"
    mkdir -p "$root/DEBIAN"
    cp -a "$1" "$root/usr"
    gzip --no-name -9 "$root"/usr/share/man/man*/*
    cat >"$root/DEBIAN/control" <<END
Package: ddprun
Version: $version
Architecture: $architecture
Maintainer: The ddprun authors
Installed-Size: $(kibibytes "$root/usr")
Depends: libc6 (>= $glibc)
Section: science
Priority: optional
Description: $summary
END
    dpkg-deb --root-owner-group -Zxz --build "$root" "$3/ddprun_${version}_$architecture.deb"
}

# make_rpm TREE MACHINE FOLDER: it asks for the libraries and symbols that rpmbuild finds.
make_rpm() {
    local top=$cache/$2/rpm
    rm -rf "$top"
    mkdir -p "$top"
    cat >"$top/ddprun.spec" <<END
Name: ddprun
Version: $version
Release: 1
Summary: $summary
License: BSD-3-Clause
%description
$summary
%install
mkdir -p %{buildroot}
cp -a $1 %{buildroot}/usr
%files
/usr/bin/ddprun
%doc /usr/share/doc/ddprun
/usr/share/man/man*/*
END
    # No post-processing: the program is stripped, and it may be for another machine.
    rpmbuild -bb --quiet --target "$2-linux" --define "_topdir $top" --define "_rpmdir $top" \
        --define "_tmppath $top" --define "_rpmfilename made.rpm" \
        --define "_buildhost localhost" --define "use_source_date_epoch_as_buildtime 1" \
        --define "clamp_mtime_to_source_date_epoch 1" --define "_build_id_links none" \
        --define "debug_package %{nil}" --define "__os_install_post %{nil}" "$top/ddprun.spec"
    mv "$top/made.rpm" "$3/ddprun-$version-1.$2.rpm"
}

# package MACHINE: all packages, of $dist/MACHINE/ddprun.
package() {
    local tree=$cache/$1/ddprun-$version-linux-$1
    stage "$dist/$1/ddprun" "$tree"
    make_tarball "$tree" "$dist"
    make_deb "$tree" "$1" "$dist"
    make_rpm "$tree" "$1" "$dist"
    python3 packaging/wheel.py "$tree" "$version" "manylinux_${glibc/./_}_$1" "$summary" "$dist"
}
