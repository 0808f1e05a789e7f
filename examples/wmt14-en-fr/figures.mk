# The papers' tables, figures and sample translations, one target each: included by the Makefile.
#
# `make NAME` writes $(R)/NAME.md with the pictures that it shows. A figure is made from outputs of some
# systems, NAME_from, each as SYSTEM@LABEL@FILE, the file in WORK; those of systems that are not run are
# left out. Where the papers show one trained model, it is that of the first seed.

R        := $(WORK)/results
one       = rnn/$1.$(call first_of,$(or $2,$1))
lstm     := lstm/seq2seq-lstm.$(call first_of,lstm)
segments  = $(call one,rnnenc-30,segmentation)
rnnphrase := phrases/phrase-rnn.$(first)

# ---- Tables: by tables.py, with our figures beside the published ones

paper_tables := $(shell sed -n 's/^key = "\(.*\)"/\1/p' $(here)/published.toml)
seeds_of   = $(foreach s,$1,$(if $(SEEDS_$s),--seeds-of $s='$(SEEDS_$s)'))
tabulate   = $(here)/tables.py --work $(WORK) --systems '$1' --seeds '$(SEEDS)' $(call seeds_of,$1) \
             --beam $(BEAM) --params $(PARAMS) --size $(SIZE) $(if $(DOMAIN),--domain $(DOMAIN)) $(UPDATES:%=--updates %) $(if $(filter made-up,$(MOSES_OUTPUT)),--made-up-moses) $(reasons) $(if $2,--table $2)
# What the tables are made of, besides the evaluations.
tables_by := $(addprefix $(here)/,published.toml tables.py cells.py orders.py)
# The files are known before the environment exists, so that make -n works.
python    := $(or $(shell command -v $(PYTHON)),python3)
files_of   = $(shell $(python) $(call tabulate,$1,$2) --list files)
evaluation_files    := $(call files_of,$(chosen))
$(if $(evaluation_files),,$(error no table can be made of SYSTEMS=$(SYSTEMS)))

# Other systems, seeds or settings make tables and figures anew.
made_of   := $(chosen) seeds $(SEEDS) $(call seeds_of,$(chosen)) beam $(BEAM) params $(PARAMS) moses $(MOSES_OUTPUT)
of_tables := $(R)/.of-$(call digest,$(made_of))
of_maps   := $(R)/.maps-$(call digest,$(ZOOM_WORDS) $(MAPPED_PHRASES))
$(eval $(call choices,$(of_tables) $(of_maps)))

$(R)/tables.md: $(evaluation_files) $(tables_by) $(of_tables)
	mkdir -p $(R)
	$(PYTHON) $(call tabulate,$(chosen)) --output $(R)

# The files of a single table are asked for only if it is a goal.
asked     := $(filter $(paper_tables),$(notdir $(MAKECMDGOALS:.md=)))
$(foreach t,$(asked),$(eval $(R)/$t.md: $(call files_of,$(chosen),$t)))
$(paper_tables:%=$(R)/%.md): $(R)/%.md: $(tables_by) $(of_tables)
	mkdir -p $(R)
	$(PYTHON) $(call tabulate,$(chosen),$*) $(whole)

# ---- Which figures there are: all whose systems, or one of them, are run

from       = $(subst @, ,$1)
system_of  = $(word 1,$(call from,$1))
label_of   = $(word 2,$(call from,$1))
file_of    = $(WORK)/$(word 3,$(call from,$1))
used       = $(strip $(foreach f,$($1_from),$(if $(filter $(call system_of,$f),$(chosen)),$f)))
used_files = $(foreach f,$(call used,$1),$(call file_of,$f))
needed     = $(sort $(foreach f,$($1_from),$(call system_of,$f)))
# Moses has its own reason why it is not run.
others     = $(filter-out moses,$(call needed,$1))
why_not    = $(if $(call others,$1),needs one of the systems $(call others,$1),$(no_moses))
available  = $(strip $(foreach f,$1,$(if $(call used,$f),$f)))
# A figure of several panels has a picture for each.
panels     = $(call available,$(or $($1_panels),$1))
all_panels = $(foreach f,$(curve_figures),$(or $($f_panels),$f))

# What a page is made of, but for Moses's own translations; those of it that are translations; and what
# it says of them, as the tables do.
of_models  = $(filter-out smt/baseline/%,$(foreach p,$(or $($1_panels),$1),\
               $(foreach f,$(call used,$p),$(word 3,$(call from,$f)))))
translated = $(filter %.hyp %.seg,$(call of_models,$1))
with_unk   = $(filter-out %.no-unk.hyp %.seg,$(call translated,$1))
said_of    = Parameters: params.$(PARAMS), of the first seed where a system is one model.$(if $(call translated,$1), Unknown words $(if \
               $(call with_unk,$1),may be,are never) chosen.)
heading    = printf '\#\#\# %s\n' $(call quoted,$($1_title)) $(if $(call of_models,$1),\
               && printf '\n%s\n' $(call quoted,$(call said_of,$1)))
# Text without Moses's escapes.
plain      = $(PYTHON) -c 'import html, sys; sys.stdout.writelines(map(html.unescape, sys.stdin))'
picture    = printf '\n![%s](%s)\n' $(call quoted,$1) '$2'

# ---- Sets of sentences: newstest2012 to 2014 joined, and samples of newstest2014; with DOMAIN both are
# of the test set that was held out of the training text, where small models translate at all

# $(call joined,FOLDER,NAME,ENDING,PARTS): FOLDER/NAMEENDING joins the same of each part.
define joined
$(WORK)/$1/$2$3: $(foreach part,$4,$(WORK)/$1/$(part)$3)
	mkdir -p $$(@D)
	cat $$^ $$(whole)

endef
news       = $(foreach ending,$2,$(eval $(call joined,$1,news,$(ending),$(if $(DOMAIN),domain,dev test))))
$(call news,rnn/text,.src .tgt -segmented.src -segmented.tgt)
$(call news,$(call one,rnnenc-30),.$(BEAM).no-unk.hyp)
$(call news,$(segments),-segmented.$(BEAM).no-unk.hyp -segmented.confidence.seg)
$(call news,$(call one,grconv),.$(BEAM).no-unk.hyp)
$(if $(smt_systems),$(call news,smt/text,.src .tgt) $(call news,smt/baseline,.hyp))

# arbitrary and short-known are the sentences of Bahdanau et al., figure 3; to these are added the
# longest of the test set.
sample_arbitrary      = --random 1
about_arbitrary      := An arbitrary sentence
sample_short-known    = --words 10-20 $(known_words) --random 3
about_short-known    := Random sentences of 10 to 20 words without unknown words
sample_longest        = --longest 3
about_longest        := The longest sentences of the test set
sample_long           = --source-words 30- --random 3
about_long           := Random sentences of 30 words or more
sample_very-long      = --source-words 40- --random 5
about_very-long      := Random sentences of 40 words or more
sample_above-30-known = --source-words 31- $(known_words) --random 3
about_above-30-known := Random sentences of more than 30 words without unknown words
sample_below-10-known = --source-words 0-9 $(known_words) --random 4
about_below-10-known := Random sentences of fewer than 10 words without unknown words
about_$(main)-segmented := The translation by segments that is the furthest below that of the whole sentence
samples := arbitrary short-known longest long very-long above-30-known below-10-known
define sampled
$(WORK)/%/text/$1.src $(WORK)/%/text/$1.tgt: $$(vocabulary)
	mkdir -p $$(@D)
	$$(call choose,$(main)) $$(sample_$1)

endef
$(foreach set,$(samples),$(eval $(call sampled,$(set))))
$(foreach ending,src tgt,$(eval $(call joined,rnn/text,aligned,.$(ending),arbitrary short-known longest)))

# Moses's translations of a sample, by line numbers.
$(smt)/baseline/%-known.hyp: $(smt)/baseline/test.hyp $(WORK)/rnn/text/%-known.src
	awk 'NR == FNR { chosen[$$1]; next } FNR in chosen' $(WORK)/rnn/text/$*-known.lines $< $(whole)

# ---- BLEU by length, unknown words and rank: `nmtkit evaluate --plot` of the set NAME_text

bahdanau-figure-2_title := Bahdanau, Cho and Bengio 2015, figure 2: BLEU by words of the source
bahdanau-figure-2_from  := $(foreach m,rnnenc-30 rnnenc-50 rnnsearch-30 rnnsearch-50 rnnsearch-50-long,\
  $m@$m@$(call one,$m)/$(main).$(BEAM).hyp)
bahdanau-figure-2_text    := rnn/text/$(main)
bahdanau-figure-2_options := --by length

# Cho et al. 2014b and Pouget-Abadie et al. 2014 draw newstest2012 to 2014, by the words of the source, the
# reference and both. As in their tables, unknown words are never chosen.
three_sides := --of source --of reference --of both
by_window   := --by length $(three_sides) --window 10
by_unknown  := --by unknown $(three_sides)

cho-properties-figure-4_title   := Cho et al. 2014b, figure 4: BLEU by length, in windows of 10 words, and by unknown words
cho-properties-figure-4_panels  := $(addprefix cho-properties-figure-4,a b c)
cho-properties-figure-4a_title  := (a) RNNenc
cho-properties-figure-4a_from   := rnnenc-30@RNNenc@$(call one,rnnenc-30)/news.$(BEAM).no-unk.hyp
cho-properties-figure-4b_title  := (b) grConv
cho-properties-figure-4b_from   := grconv@grConv@$(call one,grconv)/news.$(BEAM).no-unk.hyp
cho-properties-figure-4c_title  := (c) RNNenc, sentences with at most so many unknown words
cho-properties-figure-4c_from   := $(cho-properties-figure-4a_from)
cho-properties-figure-4c_options := $(by_unknown)
cho-properties-figure-5_title   := Cho et al. 2014b, figure 5: BLEU of Moses by length, in windows of 10 words
cho-properties-figure-5_from    := moses@Moses@smt/baseline/news.hyp
cho-properties-figure-5_text    := smt/text/news

segmentation-figure-2_title  := Pouget-Abadie et al. 2014, figure 2: BLEU by length, in windows of 10 words
segmentation-figure-2_panels := $(addprefix segmentation-figure-2,a b c)
segmentation-figure-2a_title := (a) RNNenc without segmentation
segmentation-figure-2a_from  := segmentation@RNNenc@$(segments)/news-segmented.$(BEAM).no-unk.hyp
segmentation-figure-2b_title := (b) RNNenc with segmentation
segmentation-figure-2b_from  := segmentation@RNNenc@$(segments)/news-segmented.confidence.seg
segmentation-figure-2a_text  := rnn/text/news-segmented
segmentation-figure-2b_text  := rnn/text/news-segmented
segmentation-figure-2c_title := (c) Moses
segmentation-figure-2c_from  := $(cho-properties-figure-5_from)
segmentation-figure-2c_text  := smt/text/news

sutskever-figure-3_title   := Sutskever, Vinyals and Le 2014, figure 3: BLEU by length and by mean rank of the words, of 500 neighbours
sutskever-figure-3_panels  := $(addprefix sutskever-figure-3,a b)
sutskever-figure-3a_title  := by length
sutskever-figure-3a_from   := ensemble-5@ensemble-5@lstm/seq2seq-lstm.1+2+3+4+5/$(main).12.hyp \
  lstm@lstm@$(lstm)/$(main).12.hyp moses@Moses@smt/baseline/$(main).hyp
sutskever-figure-3a_text   := lstm/text/$(main)
sutskever-figure-3a_options := --by length --sorted 500
sutskever-figure-3b_title  := by mean rank of the words
sutskever-figure-3b_from   := $(sutskever-figure-3a_from)
sutskever-figure-3b_text   := lstm/text/$(main)
sutskever-figure-3b_options := --by rank --sorted 500

# Where Moses is beside models, its translations are measured with their reference.
other_tokens = $(if $(filter $(smt)/baseline/test.hyp,$(foreach p,$(call panels,$1),$(call used_files,$p))),cat $(smt)/text/checked,:)

curve_figures := bahdanau-figure-2 cho-properties-figure-4 cho-properties-figure-5 segmentation-figure-2 \
  sutskever-figure-3
text_of     = $(WORK)/$(or $($1_text),rnn/text/news)
vocabs_of   = $(if $(filter lstm/%,$($1_text)),$(P_lstm),$(P_rnn))
options_of  = $(or $($1_options),$(by_window))
words_known = --src-vocab $(call vocabs_of,$1)/vocab.src --tgt-vocab $(call vocabs_of,$1)/vocab.tgt
as_systems  = $(foreach f,$(call used,$1),--system $(call label_of,$f) $(call file_of,$f))
first_first = $(word 3,$1) $2 --name $(word 2,$1) $(wordlist 4,99,$1)
measured    = $(NMTKIT) evaluate $(call first_first,$(call as_systems,$1),$(call text_of,$1).tgt) \
  --tokenized -t fr --measure bleu --bootstrap 0 --source $(call text_of,$1).src \
  $(if $(filter unknown rank,$(call options_of,$1)),$(call words_known,$1)) $(call options_of,$1)

# Each panel has its figures in NAME.txt and its picture, NAME.svg, which is whole before that is.
$(all_panels:%=$(R)/%.txt): $(R)/%.txt: $$(call used_files,$$*) $$(call text_of,$$*).src $$(call text_of,$$*).tgt
	mkdir -p $(R)
	$(call measured,$*) --plot $(R)/$*.svg --force $(whole)
$(curve_figures:%=$(R)/%.md): $(R)/%.md: $$(foreach p,$$(call panels,$$*),$(R)/$$p.txt)
	{ $(call heading,$*) && $(call other_tokens,$*) && $(foreach p,$(or $($*_panels),$*),\
	    $(if $(call used,$p),$(call picture,$($p_title),$p.svg) && printf '\n```\n' && cat $(R)/$p.txt && echo '```' &&,\
	      printf '\nLeft out: %s: %s.\n' $(call quoted,$($p_title)) $(call quoted,$(call why_not,$p)) &&)) :; } $(whole)

# ---- How much BLEU falls with unknown words

segmentation-figure-3_title := Pouget-Abadie et al. 2014, figure 3: decrease of BLEU by unknown words allowed
segmentation-figure-3_from  := $(subst @RNNenc@,@whole@,$(segmentation-figure-2a_from)) \
  $(subst @RNNenc@,@segmented@,$(segmentation-figure-2b_from))
segmentation-figure-3_text  := rnn/text/news-segmented
segmentation-figure-3_options := --by unknown --of both

$(R)/segmentation-figure-3.csv: $$(call used_files,segmentation-figure-3) $(WORK)/rnn/text/news-segmented.src $(WORK)/rnn/text/news-segmented.tgt
	mkdir -p $(R)
	$(call measured,segmentation-figure-3) --csv $(whole)
$(R)/segmentation-figure-3.md: $(R)/%.md: $(R)/%.csv $(here)/decrease.py
	{ $(call heading,$*) && $(call picture,$($*_title),$*.svg) && echo && \
	  $(PYTHON) $(here)/decrease.py $< --plot $(R)/$*.svg; } $(whole)

# ---- Sample translations: NAME_sets of sentences, in the papers' order

bahdanau-table-3_title := Bahdanau, Cho and Bengio 2015, table 3: sentences of 30 words or more, and the longest of the test set
bahdanau-table-3_sets  := long longest
bahdanau-table-3_from  := $(foreach m,rnnenc-50 rnnsearch-50,$m@$m@$(call one,$m)/SET.$(BEAM).hyp)
cho-properties-table-2_title := Cho et al. 2014b, table 2: sentences without unknown words, of more than 30 words and of fewer than 10
cho-properties-table-2_sets  := above-30-known below-10-known
cho-properties-table-2_from  := $(foreach m,rnnenc-30 grconv,$m@$m@$(call one,$m)/SET.$(BEAM).no-unk.hyp) \
  moses@Moses@smt/baseline/SET.hyp
sutskever-table-3_title := Sutskever, Vinyals and Le 2014, table 3: long sentences
sutskever-table-3_sets  := long
sutskever-table-3_from  := lstm@lstm@$(lstm)/SET.12.hyp
segmentation-table-3_title := Pouget-Abadie et al. 2014, table 3: sentences of 40 words or more
segmentation-table-3_sets  := very-long
segmentation-table-4_title := Pouget-Abadie et al. 2014, table 4: the sentence that segmentation hurts most, by chrF
segmentation-table-4_sets  := $(main)-segmented
segmentation-table-4_show  := --worst segmented whole
segmented_and_whole = segmentation@segmented@$(segments)/SET.confidence.seg \
  segmentation@whole@$(segments)/SET.$(BEAM).no-unk.hyp
segmentation-table-3_from  := $(segmented_and_whole)
segmentation-table-4_from  := $(segmented_and_whole)

sample_tables := bahdanau-table-3 cho-properties-table-2 sutskever-table-3 segmentation-table-3 segmentation-table-4
in_set     = $(foreach f,$(call used,$1),$(subst SET,$2,$f))
in_sets    = $(foreach s,$($1_sets),$(foreach f,$(call in_set,$1,$s),$(call file_of,$f)))
set_text   = $(WORK)/$(firstword $(subst /, ,$(word 3,$(call from,$(firstword $($1_from))))))/text/$2
shown      = $(PYTHON) $(here)/samples.py $(call set_text,$1,$2) $($1_show) \
  $(foreach f,$(call in_set,$1,$2),--system $(call label_of,$f) $(call file_of,$f)) \
  $(patsubst %.seg,--segments %.segments,$(filter %.seg,$(foreach f,$(call in_set,$1,$2),$(call file_of,$f))))
$(sample_tables:%=$(R)/%.md): $(R)/%.md: $$(call in_sets,$$*) $(here)/samples.py
	mkdir -p $(R)
	{ $(call heading,$*) && $(foreach s,$($*_sets),printf '\n%s:\n\n' '$(about_$s)' && $(call shown,$*,$s) &&) :; } $(whole)

# ---- Alignments, of the model's own translations

bahdanau-figure-3_title := Bahdanau, Cho and Bengio 2015, figure 3: alignments of RNNsearch-50
bahdanau-figure-3_from  := rnnsearch-50@RNNsearch-50@$(call one,rnnsearch-50)/aligned.$(BEAM).hyp
pictures   = $(R)/$1
# Pictures of a folder, each with its number as name.
numbered   = for file in $(call pictures,$1)/*.svg; do \
  printf '\n![%s](%s)\n' "$$(basename $$file .svg)" "$1/$$(basename $$file)"; done
$(R)/bahdanau-figure-3.md: $(R)/%.md: $$(call used_files,$$*) $(WORK)/rnn/text/aligned.src $(here)/alignments.py
	mkdir -p $(R)
	rm -rf $(call pictures,$*)
	$(launch) $(NMTKIT) align --model $(WORK)/$(call one,rnnsearch-50) --params $(PARAMS) --tokenized --threads $(THREADS) \
	  $(WORK)/rnn/text/aligned.src $< --soft --output $(R)/$*.jsonl --force
	$(PYTHON) $(here)/alignments.py $(R)/$*.jsonl --output $(call pictures,$*)
	{ $(call heading,$*) && printf '\n%s. %s. %s.\n' '$(about_arbitrary)' '$(about_short-known)' '$(about_longest)' && \
	  $(call numbered,$*); } $(whole)

# ---- How grConv composes a sentence, and its ten best translations

cho-properties-figure-6_title := Cho et al. 2014b, figure 6: grConv reads a sentence; its translations and their -log p
cho-properties-figure-6_from  := grconv@grConv@$(call one,grconv)/done
obama      := $(here)/sentences/obama.en
$(R)/cho-properties-figure-6.md: $(R)/%.md: $$(call used_files,$$*) $(obama) $(of_search)
	mkdir -p $(R)
	rm -rf $(call pictures,$*)
	$(launch) $(NMTKIT) align --model $(<D) --params $(PARAMS) --tokenized --threads $(THREADS) $(obama) --composition \
	  --plot $(call pictures,$*) --format svg --output $(R)/$*.jsonl --force
	$(launch) $(NMTKIT) translate --model $(<D) --params $(PARAMS) --tokenized --threads $(THREADS) $(SEARCH) --no-unk --beam 10 --n-best 10 \
	  $(obama) > $(R)/$*.no-unk.n-best
	{ $(call heading,$*) && $(call numbered,$*) && printf '\n| translation | -log p |\n| --- | ---: |\n' && \
	  awk -F ' [|][|][|] ' '{ split($$3, score, "= "); printf "%.6f\t| `%s` | %.2f |\n", -score[2], $$2, -score[2] }' \
	    $(R)/$*.no-unk.n-best | LC_ALL=C sort -g | cut -f 2- | $(plain); } $(whole)

# ---- Sentences, words and phrases in the plane

sutskever-figure-2_title := Sutskever, Vinyals and Le 2014, figure 2: states of the LSTM in two principal components
sutskever-figure-2_from  := lstm@LSTM@$(lstm)/done
$(R)/sutskever-figure-2.md: $(R)/%.md: $$(call used_files,$$*) $(here)/sentences/names.en $(here)/sentences/voices.en
	mkdir -p $(R)
	for set in names voices; do \
	  $(launch) $(NMTKIT) embed --model $(<D) --params $(PARAMS) --tokenized --threads $(THREADS) $(here)/sentences/$$set.en \
	    > $(R)/$*-$$set.tsv && \
	  $(NMTKIT) map $(R)/$*-$$set.tsv --plot $(R)/$*-$$set.svg --force || exit; done
	{ $(call heading,$*) && $(foreach s,names voices,$(call picture,$s,$*-$s.svg) &&) :; } $(whole)

cho-phrases-figure-4_title := Cho et al. 2014, figure 4: words of the source by their embeddings, t-SNE
cho-phrases-figure-4_from  := moses@words@$(rnnphrase)/done
cho-phrases-figure-5_title := Cho et al. 2014, figure 5: phrases of 4 words or more by their vectors, t-SNE
cho-phrases-figure-5_from  := moses@phrases@$(rnnphrase)/done
# Lines of a file of points that begin with one of the texts of a list, as options of `nmtkit map`.
zooms      = awk -F '\t' 'NR == FNR { wanted[$$0]; next } $$1 in wanted && !shown[$$1]++ { print "--zoom"; print $$1 }' $1 $(@:.md=.tsv)
mapped     = $(plain) | $(NMTKIT) map - --method tsne --output $(@:.md=.tsv) --force
drawn      = $(call zooms,$1) | tr '\n' '\0' | xargs -0 $(NMTKIT) map $(@:.md=.tsv) --plot $(R)/$*.svg --force
$(R)/cho-phrases-figure-4.md: $(R)/%.md: $$(call used_files,$$*) $(of_maps)
	mkdir -p $(R)
	$(launch) $(NMTKIT) embed --model $(<D) --params $(PARAMS) --threads $(THREADS) --vocabulary source | $(mapped)
	$(call drawn,<(printf '%s\n' $(ZOOM_WORDS)))
	{ $(call heading,$*) && $(call picture,$($*_title),$*.svg); } $(whole)
$(R)/cho-phrases-figure-5.md: $(R)/%.md: $$(call used_files,$$*) $(of_maps)
	mkdir -p $(R)
	$(PYTHON) $(systems)/choose.py $(P_phrases)/train --source-words 4- --unique --random $(MAPPED_PHRASES) --output $(R)/$*
	$(PYTHON) $(systems)/choose.py $(R)/$* --random 3 --output $(R)/$*.zoom
	$(launch) $(NMTKIT) embed --model $(<D) --params $(PARAMS) --tokenized --threads $(THREADS) $(R)/$*.src | $(mapped)
	$(call drawn,<($(plain) < $(R)/$*.zoom.src))
	{ $(call heading,$*) && $(call picture,$($*_title),$*.svg); } $(whole)

# ---- The phrase table beside the model trained on it: one report for a figure and two tables

cho-phrases-figure-3_title := Cho et al. 2014, figure 3, tables 2 and 3: the phrase table and the RNN Encoder-Decoder
cho-phrases-figure-3_from  := moses@phrases@smt/phrases/phrases.md
$(R)/cho-phrases-figure-3.md: $(R)/%.md: $$(call used_files,$$*)
	mkdir -p $(R)
	{ $(call heading,$*) && $(call picture,$($*_title),../smt/phrases/scores.svg) && echo && sed -e 's/^\#/\#\#\#/' $<; } $(whole)

# ---- All of them

paper_figures := bahdanau-figure-2 bahdanau-figure-3 bahdanau-table-3 \
  cho-phrases-figure-3 cho-phrases-figure-4 cho-phrases-figure-5 \
  cho-properties-figure-4 cho-properties-figure-5 cho-properties-figure-6 cho-properties-table-2 \
  segmentation-figure-2 segmentation-figure-3 segmentation-table-3 segmentation-table-4 \
  sutskever-figure-2 sutskever-figure-3 sutskever-table-3
figures   := $(foreach f,$(paper_figures),$(if $(if $($f_panels),$(call panels,$f),$(call used,$f)),$f))
why_left_out = $(call why_not,$(or $(firstword $($1_panels)),$1))
left_out  := $(filter-out $(figures),$(paper_figures))
figure_files := $(figures:%=$(R)/%.md)
$(figure_files) $(all_panels:%=$(R)/%.txt) $(R)/segmentation-figure-3.csv: $(of_tables)

with_figure_3 := cho-phrases-table-2 cho-phrases-table-3
.PHONY: $(paper_tables) $(paper_figures) $(with_figure_3)
$(paper_tables) $(figures): %: $(R)/%.md
	@cat $<
$(with_figure_3): cho-phrases-figure-3
$(left_out):
	@echo '$@: '$(call quoted,$(call why_left_out,$@)) >&2; false
