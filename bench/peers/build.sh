#!/bin/sh
# Build an environment for each peer: bench/peers/build.sh FOLDER [PEER ...]
#
# PEERs are opennmt, eole and joeynmt, the default; marian: the package pymarian, 600 MB, which
# contains Marian for CPU and GPU; and libretranslate, a server. Versions are pinned in
# requirements-PEER.txt. torch is installed first for the default peers, in the same version for all;
# PIP_TORCH can name its index, such as
# PIP_TORCH='--index-url https://download.pytorch.org/whl/cpu'. The rest is installed without
# dependencies, because the peers require other versions of torch. bench/peer_systems.py has the
# other settings that they need. PYTHON names the interpreter, 3.11 (the only one tried with all three).
set -eu

if [ $# -lt 1 ]; then
    echo "usage: $0 FOLDER [opennmt] [eole] [joeynmt] [marian] [libretranslate]" >&2
    exit 2
fi
folder=$1
shift
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- opennmt eole joeynmt

for peer in "$@"; do
    if [ ! -f "$here/requirements-$peer.txt" ]; then
        echo "$0: there is no peer '$peer'; known are opennmt, eole, joeynmt, marian," \
            "libretranslate" >&2
        exit 2
    fi
done
for peer in "$@"; do
    pins=$here/requirements-$peer.txt
    "${PYTHON:-python3.11}" -m venv "$folder/$peer"
    case $peer in
    marian | libretranslate) ;;
    *)
        # shellcheck disable=SC2086  # several words
        "$folder/$peer/bin/python" -m pip install --quiet ${PIP_TORCH:-} torch==2.13.0
        ;;
    esac
    "$folder/$peer/bin/python" -m pip install --quiet --no-deps --requirement "$pins"
    echo "$folder/$peer: $(grep -iE '^(opennmt-py|eole|joeynmt|pymarian|libretranslate)==' "$pins")" >&2
done
