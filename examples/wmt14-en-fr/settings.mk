# Settings of the example. Change them here, or on the command line: make wmt14 SIZE=mini WORK=/big/wmt14
#
# ---- Size of models and corpora
#
#   paper    the papers' models, shortlists and updates, on the corpora of WMT'14: weeks of GPUs
#   night    models of 256 units, whose figures mean something: six hours on two cores
#   mini     a test of the plumbing: every step and system, an hour on two cores, a mirror of small corpora
#   smoke    some systems, but every kind of step, in minutes; makes its own corpora and needs no network
SIZE         ?= paper

# ---- Paths

# Output folder, not of the environment, where clusters name a user's whole folder so: clean removes it.
# DATA has archives and texts (data.md); use one DATA per SIZE.
WORK          = $(here)/work/$(SIZE)$(addprefix -,$(firstword $(UPDATES)))
DATA         ?= $(WORK)/data
# Instead of statmt.org: a server or folder with the same files (mini/build.py makes small ones).
WMT_MIRROR   ?=
# official: the corpora of statmt.org; lium: the authors' selection, used automatically if its
# bitexts.tgz is in $(DATA)/archives.
# SOURCE     ?= official

# ---- Machine

# make -j2 trains or runs two models at a time. Cores per model:
THREADS      ?= 1
# GPUs to distribute, one per job: GPUS="0 1 2 3" with -j4. Empty: one GPU for all, or none.
GPUS         ?=
# Worker processes of prepare and select.
WORKERS      ?= 2
PYTHON       ?= python3
NMTKIT       ?= nmtkit

# ---- Data

# Target words that selection keeps; in the papers 348 million.
SELECT_WORDS ?= $(SELECT_WORDS_$(SIZE))
SELECT_WORDS_paper := 348000000
SELECT_WORDS_night := 6000000
SELECT_WORDS_mini  := 1500000
SELECT_WORDS_smoke := 30000
# Required size of the test set: newstest2014 has 3,003 sentences. Empty: any.
TEST_LINES   ?= $(if $(filter smoke,$(SIZE)),,3003)

# Pairs held out of the training text as a second test set, the main one: with a small training text of
# another kind newstest2014 says little. Empty: none, as in the papers.
DOMAIN       ?= $(if $(filter night,$(SIZE)),2000)

# Size of each shortlist, including </s> and <unk>.
SHORTLIST_rnn = $(or $(SHORTLIST_$(SIZE)),--size 30000)
SHORTLIST_lstm = $(or $(SHORTLIST_$(SIZE)),--src-size 160000 --tgt-size 80000)
SHORTLIST_cslm = $(or $(SHORTLIST_$(SIZE)),--size 15000)
SHORTLIST_phrases = $(SHORTLIST_cslm)
SHORTLIST_night = --size 10000
SHORTLIST_mini = --size 10000
SHORTLIST_smoke = --size 1000

# ---- Systems: any of these

#   rnnenc-30 rnnenc-50 rnnsearch-30 rnnsearch-50 rnnsearch-50-long    Bahdanau, Cho and Bengio
#   unk-replacement     unknown words of rnnsearch-50-long replaced (Jean et al.)
#   grconv              Cho et al. 2014b
#   segmentation        Pouget-Abadie et al., with controls
#   lstm lstm-forward ensemble-2 ensemble-5    Sutskever, Vinyals and Le
#   cslm                the language model of Cho et al. 2014 (EMNLP)
# and with Moses (below) the systems of moses.mk: moses, rescoring and so on.
SYSTEMS      ?= $(SYSTEMS_$(SIZE))
SYSTEMS_paper := rnnenc-30 rnnenc-50 rnnsearch-30 rnnsearch-50 rnnsearch-50-long unk-replacement \
                 grconv segmentation lstm-forward lstm ensemble-2 ensemble-5 cslm
# After the night's updates five LSTMs show no more than two.
SYSTEMS_night := $(filter-out ensemble-5,$(SYSTEMS_paper))
SYSTEMS_mini  := $(SYSTEMS_paper)
SYSTEMS_smoke := rnnenc-30 rnnsearch-50 rnnsearch-50-long unk-replacement grconv segmentation \
                 lstm ensemble-2 cslm

# Single models to show in report.html; each translates the test set once more.
REPORTED     ?= rnnenc-30 rnnenc-50 rnnsearch-50 rnnsearch-50-long grconv lstm
# Each model is trained once per seed; ensembles always have seeds 1 to 5. SEEDS_system has others for one
# system: at night grConv and CSLM, which are far from what they are compared with, are trained once, and the
# LSTMs, which so few updates teach too little for their order to show; segmentation takes one RNNenc.
SEEDS        ?= $(if $(filter night,$(SIZE)),1 2 3,1)
one_at_night  = $(if $(filter night,$(SIZE)),$(firstword $(SEEDS)))
SEEDS_grconv       ?= $(one_at_night)
SEEDS_segmentation ?= $(one_at_night)
SEEDS_cslm         ?= $(one_at_night)
SEEDS_lstm         ?= $(one_at_night)
SEEDS_lstm-forward ?= $(one_at_night)
# Beam of RNNenc, grConv and RNNsearch: that of Cho et al. 2014b, section 4.2.1, and of the authors'
# code; the paper on RNNsearch gives none. The LSTM has the beams of its table.
BEAM         ?= $(if $(filter paper,$(SIZE)),10,5)
# Parameters that translate, score and report: `last`, those with which a training ended, as in the papers,
# or `best` on the dev set; the tables say which, and give its updates and hours.
PARAMS       ?= last
# Random sentences of each set to translate by segments; each has many segments. At the papers' size
# all: the larger set has 6,003.
SEGMENTED    ?= $(SEGMENTED_$(SIZE))
SEGMENTED_paper := 6003
SEGMENTED_night := 30
SEGMENTED_mini  := 20
SEGMENTED_smoke := 3
# Random training pairs from which rnnsearch-50-long makes the lexicon.
LEXICON_PAIRS   ?= $(LEXICON_PAIRS_$(SIZE))
LEXICON_PAIRS_paper := 1000000
LEXICON_PAIRS_night := 30000
LEXICON_PAIRS_mini  := 4000
LEXICON_PAIRS_smoke := 200

# Words around which the map of embeddings is enlarged, if they are in the shortlist; phrases on the map.
ZOOM_WORDS     ?= Monday million France
MAPPED_PHRASES ?= 5000

# Sizes of the small models, and updates of each kind.
n_night      := 256
n_mini       := 128
n_smoke      := 16
# UPDATES=N trains each model for N, and rnnsearch-50-long for 2 N: to try everything in minutes.
UPDATES      ?=
UPDATES_night := rnnenc=6000 rnnsearch=4000 long=8000 grconv=4000 seq2seq=8000 cslm=6000 phrase=6000
UPDATES_mini  := rnnenc=600 rnnsearch=450 long=900 grconv=350 seq2seq=350 cslm=500 phrase=500
UPDATES_smoke := rnnenc=40 rnnsearch=40 long=60 grconv=20 seq2seq=30 cslm=20 phrase=20
# Options of every `nmtkit translate`: products as the authors computed them; barely trained models do not end their
# sentences.
SEARCH       ?= --precision float32$(if $(filter paper,$(SIZE)),, --max-length-ratio $(or $(RATIO_$(SIZE)),1))
RATIO_night  := 2
RATIO_mini   := 1.5
# Added to every training: EXTRA="--set training.precision=bfloat16"
EXTRA        ?=

# ---- Moses, for the phrase-based systems: MOSES or MOSES_OUTPUT

# A folder of mosesdecoder, compiled, and one with the programs fast_align and atools (its build folder).
MOSES        ?=
FAST_ALIGN   ?=
# Or the output of Moses: phrase-table.gz, {dev,test}.1000best.gz, moses.tuned.ini, {dev,test}.tok.{en,fr}
# in this folder or where moses.mk looks; names of the sets. With SIZE=smoke and mini without Moses `made-up`:
# files of this form that mean nothing (mini/moses.py), so that every table and figure is there; or empty.
MOSES_OUTPUT ?= $(if $(MOSES)$(DOMAIN),,$(if $(filter smoke mini,$(SIZE)),made-up))
MOSES_DEV    ?= dev
MOSES_TEST   ?= test
# Order of Moses's language model (Cho et al. 2014b: 4).
LM_ORDER     ?= 4
# Algorithm of `nmtkit nbest tune`: Och's MERT as in the papers; MIRA is faster.
TUNE         ?= $(if $(filter paper,$(SIZE)),--method mert,--method mira)
