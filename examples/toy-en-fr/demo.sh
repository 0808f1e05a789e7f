#!/usr/bin/env bash
# Build a small English-French translator from nothing: data, training, translations, alignments.
# Usage: demo.sh [FOLDER], by default demo-work. Variables: NMTKIT, the command; PYTHON, the
# interpreter; SEED of the sentences; RECIPE, the settings. A second run repeats everything in the
# same folder.
set -euo pipefail

NMTKIT=${NMTKIT:-nmtkit}
PYTHON=${PYTHON:-python3}
WORK=${1:-demo-work}
SEED=${SEED:-1}
RECIPE=${RECIPE:-toy}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
RAW=$WORK/raw PREPARED=$WORK/prepared MODEL=$WORK/model PICTURES=$WORK/pictures
REPORT=$WORK/report.html

say() { printf '\n== %s\n' "$*"; }

if [ -e "$MODEL" ] && [ ! -e "$RAW/test.align" ]; then
    echo "demo.sh: $MODEL is not of the demo and would be removed; name another folder" >&2
    exit 1
fi
mkdir -p "$WORK"
rm -rf "$MODEL" "$PICTURES" # outputs of an earlier demo, so that training starts again

say "Writing 30,000 sentence pairs with a grammar that knows their alignments"
"$PYTHON" "$HERE/generate.py" --output "$RAW" --train 30000 --dev 1000 --test 1000 \
    --seed "$SEED" --force
paste -d '\n' <(head -3 "$RAW/test.en") <(head -3 "$RAW/test.fr")

say "Preparing: tokenising, cleaning, and building the vocabularies"
"$NMTKIT" prepare -s en -t fr --subword none --no-nfc --no-protected --no-joiners --train "$RAW/train.en" "$RAW/train.fr" \
    --dev "$RAW/dev.en" "$RAW/dev.fr" --test test "$RAW/test.en" "$RAW/test.fr" \
    --output "$PREPARED" --force
"$NMTKIT" shortlist "$PREPARED" --size 3000 --force

say "Training a small RNNsearch (a few minutes)"
"$NMTKIT" train "$PREPARED" --output "$MODEL" --recipe "$RECIPE"

say "Translating 1,000 unseen sentences"
"$NMTKIT" translate -m "$MODEL" < "$RAW/test.en" > "$WORK/test.hyp.fr"
"$NMTKIT" evaluate "$WORK/test.hyp.fr" "$RAW/test.fr" -t fr

say "Comparing its alignments with the true ones"
"$NMTKIT" align -m "$MODEL" "$RAW/test.en" "$RAW/test.fr" --gold "$RAW/test.align"

say "Three sentences: the attention weights of each French word"
# Sentences short enough for the terminal, and their translations.
awk 'NF >= 6 && NF <= 10 && !/\?/ {print NR; if (++count == 3) exit}' "$RAW/test.en" \
    > "$WORK/three.lines"
for side in "$RAW/test.en:en" "$WORK/test.hyp.fr:fr"; do
    awk 'NR == FNR {selected[$1]; next} FNR in selected' "$WORK/three.lines" "${side%:*}" \
        > "$WORK/three.${side##*:}"
done
"$NMTKIT" align -m "$MODEL" "$WORK/three.en" "$WORK/three.fr" --show --plot "$PICTURES"
echo "The same as figures: $PICTURES/*.png"

say "Now try it yourself"
echo "echo 'The old man sees her.' | $NMTKIT translate -m $MODEL"

say "Writing a report: learning curves, scores, translations and alignments"
"$NMTKIT" report "$MODEL" --source "$RAW/test.en" --reference "$RAW/test.fr" --output "$REPORT" --force
echo "Open it in a browser: $REPORT"
