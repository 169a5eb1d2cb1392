#!/bin/sh
# Usage: install_deps.sh GROUP...   groups: build test clang coverage bench mpi python
# Installs the Debian or Ubuntu packages of these groups that are missing; says nothing if none is.
# Elsewhere (no dpkg) it leaves the matter to CMake, which names what it does not find.
# The group test also needs Python modules; pip installs them, or the tests that need them are skipped.
# The group bench keeps its own below build/bench: in venv, and LIBLINEAR's sources in sources. So does the group python,
# in build/python/venv, with what builds and tests the Python package.
set -eu

wanted=
modules=
bench=
python=
for group in "$@"; do
  case $group in
    # ccache: what was compiled once, in this clone or another, is not compiled again.
    build) wanted="$wanted g++ ccache cmake ninja-build libbz2-dev libcli11-dev libfast-float-dev
                   libfmt-dev liblzma-dev libxxhash-dev libzstd-dev nlohmann-json3-dev
                   zlib1g-dev" ;;
    # A fixed clang-format, so that formatting means the same everywhere.
    test) wanted="$wanted clang-format-14 libgtest-dev liblinear-tools libsvm-tools pkg-config
                  python3 python3-pip xz-utils zstd"
          modules="$modules numpy safetensors xxhash" ;;
    clang) wanted="$wanted clang libclang-rt-dev" ;;
    # Optional: without it training runs in one process, and its tests are skipped.
    mpi) wanted="$wanted libopenmpi-dev openmpi-bin iproute2" ;;
    coverage) wanted="$wanted gcovr" ;;
    bench) wanted="$wanted g++ libblas-dev libdlib-dev liblinear-dev liblinear-tools libocas-tools
                   python3 python3-venv"
           bench=build/bench ;;
    # uv fills a virtual environment in seconds; without it pip does, in a minute.
    python) wanted="$wanted g++ python3 python3-dev python3-pip python3-venv"
            modules="$modules uv"
            python=build/python/venv ;;
    *) echo "install_deps.sh: unknown group '$group' (build, test, clang, coverage, bench, mpi, python)" >&2; exit 64 ;;
  esac
done

missing=
if command -v dpkg-query >/dev/null 2>&1; then
  # shellcheck disable=SC2086  # a list of words
  installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' $wanted 2>/dev/null) || true
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
fi

apt() {
  # shellcheck disable=SC2086
  output=$($as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" 2>&1) || {
    printf '%s\n' "$output" >&2
    echo "failed: apt-get $*" >&2
    exit 69
  }
}
if [ -n "$missing" ]; then
  if [ "$(id -u)" -eq 0 ]; then
    as_root=
  elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
  else
    echo "missing packages; as root run: apt-get update && apt-get install -y$missing" >&2
    exit 69
  fi
  echo "installing:$missing"
  apt update
  # shellcheck disable=SC2086
  apt install -y --no-install-recommends $missing
fi

absent=
for module in $modules; do
  python3 -c "import $module" >/dev/null 2>&1 || absent="$absent $module"
done
if [ -n "$absent" ]; then
  echo "installing with pip:$absent"
  pip="python3 -m pip install --quiet --retries 0"
  # Older pips do not know the option that newer ones ask for.
  # shellcheck disable=SC2086
  $pip --break-system-packages $absent >/dev/null 2>&1 || $pip $absent >/dev/null 2>&1 ||
    echo "pip could not install$absent: what needs them is skipped, or takes longer" >&2
fi

# Each by itself: what cannot be had is left out of the comparison, which says so.
if [ -n "$bench" ]; then
  [ -x "$bench/venv/bin/pip" ] || python3 -m venv "$bench/venv"
  for module in numpy scikit-learn snapml vowpalwabbit; do
    [ -z "$("$bench/venv/bin/pip" list --format freeze 2>/dev/null | grep "^$module==")" ] || continue
    echo "installing with pip, in $bench/venv: $module"
    "$bench/venv/bin/pip" install --quiet --retries 0 $module >/dev/null 2>&1 || echo "pip could not install $module" >&2
  done
  if ! ls "$bench"/sources/liblinear_official-*.tar.gz >/dev/null 2>&1; then
    echo "fetching with pip: the sources of liblinear-official"
    "$bench/venv/bin/pip" download --quiet --retries 0 --no-deps --no-binary :all: -d "$bench/sources" liblinear-official \
      >/dev/null 2>&1 || echo "pip could not fetch liblinear-official: the library of the distribution takes its place" >&2
  fi
fi

# What the package needs must be there; the tests of what goes with other packages are skipped where these are not.
if [ -n "$python" ]; then
  if python3 -m uv --version >/dev/null 2>&1; then
    make_venv="python3 -m uv venv --quiet --seed --python $(command -v python3)"
    pip="python3 -m uv pip install --quiet --python $python/bin/python"
  else
    make_venv="python3 -m venv"
    pip="$python/bin/pip install --quiet --retries 0"
  fi
  [ -x "$python/bin/pip" ] || $make_venv "$python"
  there=$(ls "$python"/lib/python3*/site-packages | sed -n 's/-[^-]*\.dist-info$//p' | sed 's/_/-/g')
  lacks() { ! printf '%s\n' "$there" | grep -qx "$1"; }
  needed=
  for module in nanobind numpy pytest pytest-xdist scikit-build-core scikit-learn scipy; do
    if lacks $module; then needed="$needed $module"; fi
  done
  if [ -n "$needed" ]; then
    echo "installing with pip, in $python:$needed"
    # shellcheck disable=SC2086
    $pip $needed
  fi
  for module in matplotlib pandas polars xxhash; do
    if lacks $module; then
      echo "installing with pip, in $python: $module"
      $pip $module >/dev/null 2>&1 ||
        echo "pip could not install $module: the tests that need it are skipped" >&2
    fi
  done
fi
