#!/bin/sh
# Usage: demo.sh FOLDER. From nothing to a proven model, in FOLDER.
# HINGE is the program (build/hinge), ROWS how many rows to make (100000).
set -eu
export LC_ALL=C

program=${HINGE:-build/hinge}
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
rows=${ROWS:-100000}
mkdir -p "$1"
cd "$1"

hinge() {
  echo "\$ hinge $*"
  "$program" "$@"
}

hinge generate ccat.svm --like ccat --rows "$rows"
hinge split ccat.svm train.svm test.svm
hinge train train.svm ccat.model >train.log 2>&1 || { cat train.log >&2; exit 1; }
cat train.log
hinge verify ccat.model train.svm
hinge evaluate test.svm ccat.model

# The numbers again in one line: from what train said, and from evaluate's JSON.
trained=$(sed -n 's/^gap \([^ ]*\) .* after \([^ ]* s\).*/gap \1 in \2/p' train.log)
accuracy=$("$program" evaluate test.svm ccat.model --json |
  sed -n 's/.*"accuracy": *\([0-9.eE+-]*\).*/\1/p')
if [ -z "$trained" ] || [ -z "$accuracy" ]; then
  echo "demo: could not read the results" >&2
  exit 1
fi
echo
printf '%s, accuracy %.4f on rows it has not seen\n' "$trained" "$accuracy"
