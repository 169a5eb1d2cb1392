#!/bin/sh
# Usage: demo_mpi.sh FOLDER. Training on several ranks, with a proof that one process checks, in FOLDER.
# HINGE is the program (build/hinge), ROWS how many rows to make (50000), RANKS how many ranks (2).
set -eu
export LC_ALL=C

program=${HINGE:-build/hinge}
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")
mkdir -p "$1"
cd "$1"

# More ranks than cores, and root, as in a container: Open MPI wants to be told that both are meant.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

hinge() {
  echo "\$ hinge $*"
  "$program" "$@"
}

hinge generate ccat.svm --like ccat --rows "${ROWS:-50000}"
echo "\$ mpirun -n ${RANKS:-2} hinge train ccat.svm ccat.model"
mpirun -n "${RANKS:-2}" "$program" train ccat.svm ccat.model
hinge verify ccat.model ccat.svm
