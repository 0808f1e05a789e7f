# Settings of the recipe. Change them here, or on the command line: make wmt14 SIZE=mini WORK=/big/wmt14
#
# ---- Size: what is trained, and on how much
#
#   paper    the papers' models, shortlists and updates, on the corpora of WMT'14: weeks of GPUs
#   mini     every step and system in less than an hour on two cores, for a mirror of small corpora
#   smoke    some systems, but every kind of step, in minutes; makes its own corpora and needs no network
SIZE         ?= paper

# ---- Places

# All that is made. DATA has archives and texts (data.md), of this size alone.
WORK         ?= $(here)/work/$(SIZE)
DATA         ?= $(WORK)/data
# Instead of statmt.org: a server or folder with the same files (mini/build.py makes small ones).
WMT_MIRROR   ?=
# official: the corpora of statmt.org; lium: the authors' selection, which is used unasked where its
# bitexts.tgz lies in $(DATA)/archives.
# SOURCE     ?= official

# ---- Machine

# Models trained or used at the same time are make's: -j2. Each uses so many cores:
THREADS      ?= 1
# GPUs to share out, one for each of these: GPUS="0 1 2 3" with -j4. Empty: one GPU for all, or none.
GPUS         ?=
# Processes of prepare and select.
WORKERS      ?= 2
PYTHON       ?= python3
NMTKIT       ?= nmtkit

# ---- Data

# Words of the target side that selection keeps; the papers': 348 million.
SELECT_WORDS ?= $(SELECT_WORDS_$(SIZE))
SELECT_WORDS_paper := 348000000
SELECT_WORDS_mini  := 1500000
SELECT_WORDS_smoke := 30000
# Sentences that the test set must have: newstest2014 has 3,003. Empty: any number.
TEST_LINES   ?= $(if $(filter smoke,$(SIZE)),,3003)

# Words of each shortlist, </s> and <unk> counted.
SHORTLIST_rnn = $(or $(SHORTLIST_$(SIZE)),--size 30000)
SHORTLIST_lstm = $(or $(SHORTLIST_$(SIZE)),--src-size 160000 --tgt-size 80000)
SHORTLIST_cslm = $(or $(SHORTLIST_$(SIZE)),--size 15000)
SHORTLIST_phrases = $(SHORTLIST_cslm)
SHORTLIST_mini = --size 10000
SHORTLIST_smoke = --size 1000

# ---- Systems: any of these

#   rnnenc-30 rnnenc-50 rnnsearch-30 rnnsearch-50 rnnsearch-50-long    Bahdanau, Cho and Bengio
#   unk-replacement     unknown words of rnnsearch-50-long replaced (Jean et al.)
#   grconv              Cho et al. 2014b
#   segmentation        Pouget-Abadie et al., with controls
#   lstm lstm-forward ensemble-2 ensemble-5    Sutskever, Vinyals and Le
# and with a Moses (below) all that moses.mk adds: moses, rescoring and so on.
SYSTEMS      ?= $(SYSTEMS_$(SIZE))
SYSTEMS_paper := rnnenc-30 rnnenc-50 rnnsearch-30 rnnsearch-50 rnnsearch-50-long unk-replacement \
                 grconv segmentation lstm-forward lstm ensemble-2 ensemble-5
SYSTEMS_mini  := $(SYSTEMS_paper)
SYSTEMS_smoke := rnnenc-30 rnnsearch-50 rnnsearch-50-long unk-replacement grconv segmentation \
                 lstm ensemble-2

# Single models among these that report.html shows; each translates the test set once more.
REPORTED     ?= rnnenc-30 rnnenc-50 rnnsearch-50 rnnsearch-50-long grconv lstm
# Each model is trained once for each seed; the ensembles have seeds 1 to 5 in any case.
SEEDS        ?= 1
BEAM         ?= $(if $(filter paper,$(SIZE)),12,5)
# Sentences of the test set that are translated by segments, of which there are many in each.
SEGMENTED    ?= $(SEGMENTED_$(SIZE))
SEGMENTED_paper := 3003
SEGMENTED_mini  := 100
SEGMENTED_smoke := 3
# Training pairs of which rnnsearch-50-long makes the table of word translations.
LEXICON_PAIRS   ?= $(LEXICON_PAIRS_$(SIZE))
LEXICON_PAIRS_paper := 1000000
LEXICON_PAIRS_mini  := 4000
LEXICON_PAIRS_smoke := 200

# Sizes of the small models, and the updates of each kind.
n_mini       := 128
n_smoke      := 16
UPDATES_mini  := rnnenc=600 rnnsearch=450 long=900 grconv=350 seq2seq=350 cslm=500 phrase=500
UPDATES_smoke := rnnenc=40 rnnsearch=40 long=60 grconv=20 seq2seq=30 cslm=20 phrase=20
# Models that have learned little do not end their sentences; options of every `nmtkit translate`.
SEARCH       ?= $(if $(filter paper,$(SIZE)),,--max-length-ratio $(if $(filter mini,$(SIZE)),1.5,1))
# Added to every training: EXTRA="--set training.precision=bfloat16"
EXTRA        ?=

# ---- Moses, for the phrase-based systems; without one of the two they are left out

# A folder of mosesdecoder, compiled, and one with the programs fast_align and atools (its build folder).
MOSES        ?=
FAST_ALIGN   ?=
# Or what a Moses made: phrase-table.gz, {dev,test}.1000best.gz, moses.tuned.ini, {dev,test}.tok.{en,fr}
# in this folder or where moses.mk looks; these are the names of the sets.
MOSES_OUTPUT ?=
MOSES_DEV    ?= dev
MOSES_TEST   ?= test
# Of `nmtkit tune`: Och's MERT as in the papers; MIRA is quicker.
TUNE         ?= $(if $(filter paper,$(SIZE)),--method mert,--method mira)
