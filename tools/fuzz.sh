#!/bin/sh
# Usage: fuzz.sh BUILD SECONDS [TARGET...]. Runs each fuzz target of BUILD, one after another, for so
# many seconds, beginning with a copy of its corpus. One line a target; fails if one found something.
set -eu

build=$1
seconds=$2
shift 2
if [ $# -eq 0 ]; then
  for source in fuzz/*_fuzz.cc; do
    set -- "$@" "$(basename "$source" _fuzz.cc)"
  done
fi

# The number after the word $2 in line $1 of libFuzzer's log.
count() { printf '%s\n' "$1" | sed -n "s|.* $2: *\([0-9]*\).*|\1|p"; }

# Where memory came from is told when a finding is run again by hand; noting it takes half the time.
export ASAN_OPTIONS="${ASAN_OPTIONS:-malloc_context_size=0}"

status=0
for target in "$@"; do
  work=$build/work/$target
  rm -rf "$work"
  mkdir -p "$work/corpus" "$work/findings"
  if [ -d "fuzz/corpus/$target" ]; then cp -R "fuzz/corpus/$target/." "$work/corpus/"; fi
  ended=0
  "$build/fuzz/fuzz-$target" "-max_total_time=$seconds" -timeout=10 -rss_limit_mb=4096 \
    "-artifact_prefix=$work/findings/" "$work/corpus" >"$work/log" 2>&1 || ended=$?
  first=$(grep -a '^#.*INITED' "$work/log" | head -n 1)
  last=$(grep -a '^#[0-9]*.* cov: ' "$work/log" | tail -n 1)
  runs=$(printf '%s\n' "$last" | sed -n 's/^#\([0-9]*\).*/\1/p')
  before=$(count "$first" ft)
  after=$(count "$last" ft)
  findings=$(find "$work/findings" -type f)
  if [ "$ended" -eq 0 ] && [ -z "$findings" ]; then
    said='no findings'
  else
    said="FOUND: ${findings:-nothing written down}; see $work/log"
    status=1
  fi
  printf '%-14s %9s runs, %6s/s, coverage %6s (+%s); %s\n' "$target" "${runs:-0}" \
    "$(count "$last" exec/s)" "${after:-0}" "$((${after:-0} - ${before:-0}))" "$said"
done
exit "$status"
