#!/bin/sh
# Usage: run.sh BUILD_DIR. Installs the build into an empty prefix and uses it from there, once through
# find_package and once through pkg-config.
set -eu

build=$1
here=$(cd "$(dirname "$0")" && pwd)
cmake=${CMAKE:-cmake}
cxx=${CXX:-c++}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

"$cmake" --install "$build" --prefix "$prefix" >"$work/install.log"
"$prefix/bin/hinge" --help >"$work/help.log"

"$cmake" -S "$here" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_BUILD_TYPE=Release >"$work/configure.log"
"$cmake" --build "$work/cmake" >"$work/build.log"
"$work/cmake/consumer"

pc=$(find "$prefix" -name hinge.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # the flags are meant to be split
"$cxx" -std=c++20 -O1 "$here/main.cc" -o "$work/plain" $(pkg-config --cflags --libs hinge)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir hinge) "$work/plain"
