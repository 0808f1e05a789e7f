# Rules for experiments on any corpus: texts in words, models, and their outputs.
# Included by a Makefile that sets
#
#   NMTKIT PYTHON WORK SIZE THREADS EXTRA BEAM     as in examples/papers/Makefile
#   P_CORPUS            the prepared folder of each corpus, with shortlists
#   test_sets           $(call test_sets,CORPUS): the names of its test sets
#   $(SIZE)_settings    options of `nmtkit train` besides the recipe; small_settings are below, from
#                       n_CORPUS, dropout_CORPUS and updates_CORPUS (KIND=updates ...)
#
# and may set launch (a prefix of commands that need a device), recipe, updates_for, cooldown, PARAMS
# (which parameters translate and score: last, those that a training ended with, as in the papers, or
# best), SEARCH (options of `nmtkit translate`), and for CSLM cslm_text (the corpus whose text it reads)
# and SHORTLIST_cslm (options of `nmtkit shortlist`). A step writes a file under a temporary name and renames it,
# so that a killed step leaves no partial file under the final name. Other PARAMS, SEARCH or BEAM make
# the outputs anew that depend on them.

systems := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
SHELL   := bash
# A command that fails before a pipe fails the step.
.SHELLFLAGS := -o pipefail -c
whole    = > $@.part && mv $@.part $@

.DELETE_ON_ERROR:
.SECONDARY:
.SECONDEXPANSION:

include $(systems)/../choices.mk
PARAMS   ?= last
of_params   := $(WORK)/.params-$(PARAMS)
of_search   := $(of_params) $(WORK)/.search-$(call digest,$(SEARCH))
of_segments := $(of_search) $(WORK)/.segments-$(BEAM)
$(eval $(call choices,$(of_segments)))

# ---- Text as words, even if the prepared folder has subwords: CORPUS/text/SET.src and .tgt

SEGMENTED ?= 50
part       = $(word $1,$(subst /, ,$2))
corpus     = $(call part,1,$*)
prepared   = $(P_$(corpus))
pair       = $(WORK)/$(corpus)/text/$1.src $(WORK)/$(corpus)/text/$1.tgt
vocabulary = $$(P_$$(call part,1,$$*))/vocab.tgt
join       = sed -e 's/@@ //g'
# The source comes last: later targets depend on it alone, so it must not be there without the target.
each_side  = for side in tgt src; do $1 > $(made).part && mv $(made).part $(made) || exit; done
made       = $(@D)/$(basename $(@F)).$$side

$(WORK)/%.src $(WORK)/%.tgt: $(vocabulary)
	mkdir -p $(@D)
	$(call each_side,$(join) $(prepared)/$(basename $(@F)).$$side)

# All test sets joined, for BLEU by length.
$(WORK)/%/text/every.src $(WORK)/%/text/every.tgt: $(vocabulary)
	mkdir -p $(@D)
	$(call each_side,cat $(foreach set,$(call test_sets,$*),$(prepared)/$(set).$$side) | $(join))

# The first sentences of each test set; segmentation translates every span of them.
$(WORK)/%/text/some.src $(WORK)/%/text/some.tgt: $(vocabulary)
	mkdir -p $(@D)
	$(call each_side,{ for set in $(call test_sets,$*); do \
	  head -n $(SEGMENTED) $(prepared)/$$set.$$side; done | $(join); })

# 2,000 random training pairs of at most 30, 50 or 100 words per side, as the models saw in training.
# Random, because joined corpora begin with one of them alone.
define train_sample
$(WORK)/%/text/train$1.src $(WORK)/%/text/train$1.tgt: $$(vocabulary)
	mkdir -p $$(@D)
	$$(call sample,$1,2000)

endef
$(foreach words,30 50 100,$(eval $(call train_sample,$(words))))
choose = $(PYTHON) $(systems)/choose.py $(prepared)/$1 --output $(@D)/$(basename $(@F))
sample = $(call choose,train) --words 0-$1 --random $2

# CSLM is validated on a random 0.1 % of its text (Cho et al. 2014, section 4.1.2), of distinct pairs.
P_cslm     := $(WORK)/cslm/prepared
cslm_side   = <($(join) $(P_$(cslm_text))/train.$1)
thousandth  = $$(( ($$(wc -l < $1) + 999) / 1000 ))
$(P_cslm)/vocab.tgt: $$(P_$$(cslm_text))/vocab.tgt
	mkdir -p $(WORK)/cslm
	$(NMTKIT) prepare -s en -t fr --clean none --max-ratio 100 --subword none --tokenized \
	  --train corpus $(call cslm_side,src) $(call cslm_side,tgt) \
	  --held-out $(call thousandth,$(P_$(cslm_text))/train.tgt) --force --output $(@D)
	$(NMTKIT) shortlist $(@D) $(SHORTLIST_cslm) --force

# ---- Models: CORPUS/MODEL.SEED is a model folder, CORPUS/MODEL.1+2 an ensemble of two

# MODEL is a recipe; rnnenc-30-reverse is the recipe rnnenc-30 from French to English. At the small
# size small.toml has the settings of all trainings; the numbers of updates give all models of a
# corpus about the same training time. rnnsearch-50-published is trained as its recipe says, apart from
# the sizes and the number of updates.
run         = $(call part,2,$*)
model       = $(basename $(run))
seed        = $(patsubst .%,%,$(suffix $(run)))
kind        = $(firstword $(subst -, ,$(model)))
recipe     ?= $(patsubst %-published,%,$(patsubst %-reverse,%,$(model)))
members     = $(foreach s,$(subst +, ,$(patsubst .%,%,$(suffix $1))),$(basename $1).$s)
folders     = $(addprefix $(WORK)/$(corpus)/,$(call members,$(run)))
trained     = $$(addsuffix /done,$$(addprefix $(WORK)/$$(call part,1,$$*)/,$$(call members,$$(call part,2,$$*))))

n           = $(n_$(corpus))
half        = $(shell expr $n / 2)
sizes_rnnenc    = embedding=$n hidden=$n maxout=$(half)
sizes_rnnsearch = $(sizes_rnnenc) align=$n
sizes_grconv    = $(sizes_rnnenc) units=$n
sizes_phrase    = $(sizes_rnnenc) softmax_rank=$(half)
sizes_cslm      = embedding=$n hidden=$n second=$n
sizes_seq2seq   = embedding=$n hidden=$n layers=2
updates_for    ?= $(patsubst $(kind)=%,%,$(filter $(kind)=%,$(updates_$(corpus))))
cooldown       ?= $(shell expr $(updates_for) / 3)

small_settings = --config $(systems)/small.toml --set training.max_updates=$(updates_for) \
  --set training.cooldown=$(cooldown) \
  $(addprefix --set model.,$(sizes_$(kind)) $(if $(dropout_$(corpus)),dropout=$(dropout_$(corpus))))
published_settings = $(addprefix --set ,$(addprefix model.,$(sizes_$(kind))) $(published_$(kind)))
settings       = $($(if $(filter %-published,$(model)),published,$(SIZE))_settings)

# MODEL.SEED.cpu: processor seconds of the training, user and system; one line for each time that
# the training was started or resumed.
$(WORK)/%/done: $(vocabulary)
	mkdir -p $(dir $(@D))
	TIMEFORMAT='%U %S'; { time $(launch) $(NMTKIT) train $(prepared) --output $(@D) \
	  --recipe $(recipe) $(if $(filter %-reverse,$(model)),--reverse) \
	  $(settings) --set training.seed=$(seed) $(EXTRA) --threads $(THREADS) \
	  2>> $(@D).log; } 2>> $(@D).cpu || { tail -n 3 $(@D).log >&2; false; }
	touch $@

# CORPUS/MODEL.SEED/SET.BEAM.hyp: translations; SET.scores: log p of each reference, which for CSLM
# has no source; SET.HOW.seg: translations by segments.
set       = $(firstword $(subst ., ,$(@F)))
beam      = $(word 2,$(subst ., ,$(@F)))
source    = $$(WORK)/$$(call part,1,$$*)/text/$$(firstword $$(subst ., ,$$(@F))).src
# The training of CSLM ends by early stopping, so that its best parameters count.
params    = $(if $(filter cslm,$(kind)),best,$(PARAMS))
using     = $(addprefix --model ,$(folders)) --params $(params) --tokenized --threads $(THREADS)
# SET.BEAM.no-unk.hyp: no hypothesis has an unknown word. In the tables of Cho et al. 2014b (section
# 4.2.1) and Pouget-Abadie et al. 2014, whose RNNenc has the same figures, that is so of every sentence.
known     = $(if $(filter no-unk seg,$(subst ., ,$(@F))),--no-unk)
translate = $(launch) $(NMTKIT) translate $(using) $(SEARCH) $(known) $(word 1,$(call pair,$(set)))
back      = $(WORK)/$$(call part,1,$$*)/rnnenc-30-reverse$$(suffix $$(call part,2,$$*))/done

$(WORK)/%.hyp: $(trained) $(source) $(of_search)
	mkdir -p $(@D)
	$(translate) --beam $(beam) $(whole)

$(WORK)/%.scores: $(trained) $(source) $(of_params)
	mkdir -p $(@D)
	$(launch) $(NMTKIT) score $(using) $(if $(filter cslm,$(kind)),$(lastword $(call pair,$(set))),$(call pair,$(set))) $(whole)

# HOW names the rows of Pouget-Abadie et al.: forward is p(f|e) alone, unpenalised p(f|e) + p(e|f),
# confidence the same divided by the length, and there are two ways at random.
segment  = $(translate) --beam $(BEAM) --segment
backward = --reverse-model $(@D)/../rnnenc-30-reverse.$(seed)

$(WORK)/%.confidence.seg: $(trained) $(back) $(source) $(of_segments)
	$(segment) confidence $(backward) --segments $(basename $@).segments --force $(whole)

$(WORK)/%.unpenalised.seg: $(trained) $(back) $(source) $(of_segments)
	$(segment) confidence $(backward) --no-segment-penalty $(whole)

$(WORK)/%.forward.seg: $(trained) $(source) $(of_segments)
	$(segment) forward --no-segment-penalty $(whole)

$(WORK)/%.random.seg: $(WORK)/%.confidence.seg
	$(segment) random --segment-lengths $(basename $<).segments $(whole)

$(WORK)/%.random-confidence.seg: $(trained) $(source) $(of_segments)
	$(segment) random-confidence $(whole)
