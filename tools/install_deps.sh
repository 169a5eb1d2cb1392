#!/bin/sh
# Usage: install_deps.sh GROUP...   groups: build test clang fuzz coverage
# Installs the Debian or Ubuntu packages of these groups that are missing; says nothing if none is.
# Elsewhere (no dpkg) it leaves the matter to CMake, which names what it does not find.
set -eu

wanted=
for group in "$@"; do
  case $group in
    build) wanted="$wanted g++ cmake ninja-build libbz2-dev libcli11-dev libfast-float-dev
                   libfmt-dev liblzma-dev libxxhash-dev libzstd-dev nlohmann-json3-dev
                   zlib1g-dev" ;;
    # A fixed clang-format, so that formatting means the same everywhere.
    test) wanted="$wanted clang-format-14 libgtest-dev liblinear-tools pkg-config python3 xz-utils" ;;
    clang) wanted="$wanted clang" ;;
    fuzz) wanted="$wanted clang libclang-rt-dev" ;;
    coverage) wanted="$wanted gcovr" ;;
    *) echo "install_deps.sh: unknown group '$group' (build, test, clang, fuzz, coverage)" >&2; exit 64 ;;
  esac
done

command -v dpkg-query >/dev/null 2>&1 || exit 0

# shellcheck disable=SC2086  # a list of words
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null) || true
missing=
for package in $wanted; do
  case "
$installed
" in
    *"
$package installed
"*) ;;
    *) missing="$missing $package" ;;
  esac
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=
elif command -v sudo >/dev/null 2>&1; then
  as_root=sudo
else
  echo "missing packages; as root run: apt-get update && apt-get install -y$missing" >&2
  exit 69
fi

echo "installing:$missing"
apt() {
  # shellcheck disable=SC2086
  output=$($as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" 2>&1) || {
    printf '%s\n' "$output" >&2
    echo "failed: apt-get $*" >&2
    exit 69
  }
}
apt update
# shellcheck disable=SC2086
apt install -y --no-install-recommends $missing
