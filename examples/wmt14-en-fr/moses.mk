# The phrase-based baseline, and neural scores for it: included by the Makefile, see docs/how-to/nbest.md.
#
# Static pattern rules name each target, since the Makefile's own patterns would match them, too.
# Moses's output is in $(WORK)/smt/moses: {dev,test}.tok.{en,fr}, {dev,test}.1000best.gz,
# phrase-table.gz and moses.tuned.ini. It comes from MOSES_OUTPUT, or Moses is trained here; the folder
# can serve another run as MOSES_OUTPUT. The other folders of smt/ have a system's best hypotheses:
#
#   baseline            Moses's own           forward reversed reversed-5   rescored by LSTMs
#   oracle              the best by BLEU      cslm                          with a further language model
#   rnn rnn-cslm rnn-cslm-wp    decoded again with further phrase-table scores (MOSES only)

smt       := $(WORK)/smt
by_moses  := $(smt)/moses
sets       = $(smt)/$1/dev.$2 $(smt)/$1/test.$2
has        = $(filter $1,$(SYSTEMS))

ifneq ($(MOSES)$(MOSES_OUTPUT),)
smt_systems := moses cslm-rescoring $(if $(call has,lstm),rescoring) $(if $(call has,lstm-forward),rescoring-forward) \
               $(if $(call has,ensemble-5),rescoring-5) $(if $(MOSES),moses-decoder)
else
smt_systems :=
endif
no_moses    := needs the output of Moses: set MOSES or MOSES_OUTPUT
reasons     := $(if $(smt_systems),,$(foreach s,moses cslm-rescoring rescoring rescoring-forward rescoring-5,\
                 --reason '$s=$(no_moses)')) \
               $(if $(MOSES),,--reason 'moses-decoder=needs the decoder of Moses: set MOSES')

# ---- From MOSES_OUTPUT

ifneq ($(MOSES_OUTPUT),)
$(if $(MOSES),$(error MOSES trains a system and MOSES_OUTPUT is one that exists: set only one of them))
endif
of_moses    := $(smt)/.moses-$(call digest,$(MOSES) $(MOSES_OUTPUT) $(MOSES_DEV) $(MOSES_TEST))
$(eval $(call choices,$(of_moses)))
ifeq ($(MOSES_OUTPUT),made-up)
$(if $(filter smoke mini,$(SIZE)),,$(error MOSES_OUTPUT=made-up tests the plumbing of SIZE=smoke and mini, not of $(SIZE)))
made_up := $(addprefix $(by_moses)/,phrase-table.gz moses.tuned.ini \
             $(foreach set,dev test,$(addprefix $(set).,1000best.gz tok.en tok.fr)))
$(made_up) &: $(P_rnn)/manifest.json $(here)/mini/moses.py $(of_moses)
	rm -rf $(by_moses)
	$(PYTHON) $(here)/mini/moses.py $(P_rnn) --output $(by_moses)
else ifneq ($(MOSES_OUTPUT),)
moses_file      = $(or $(firstword $(wildcard $(MOSES_OUTPUT)/$1 $(MOSES_OUTPUT)/*/$1)),\
               $(error MOSES_OUTPUT=$(MOSES_OUTPUT) has no $1, neither in it nor in a subfolder))
named_dev  = $(MOSES_DEV)
named_test = $(MOSES_TEST)
define link_moses_file
$(by_moses)/$1: $(call moses_file,$2) $(of_moses)
	mkdir -p $$(@D)
	ln -sf $$(abspath $$<) $$@
endef
$(foreach set,dev test,$(foreach part,1000best.gz tok.en tok.fr,\
  $(eval $(call link_moses_file,$(set).$(part),$(named_$(set)).$(part)))))
$(foreach file,phrase-table.gz moses.tuned.ini,$(eval $(call link_moses_file,$(file),$(file))))
endif

# ---- Training Moses: the models' own text, aligned by fast_align; phrases of at most 7 words

ifneq ($(MOSES),)
scripts   := $(MOSES)/scripts
trained_in := $(smt)/training
ini        = $(trained_in)/$1/moses.ini

$(smt)/corpus.en $(smt)/corpus.fr &: $(P_rnn)/manifest.json
	mkdir -p $(smt)
	paste $(P_rnn)/train.src $(P_rnn)/train.tgt | awk -F '\t' \
	  'split($$1, a, " ") <= 80 && split($$2, b, " ") <= 80 { \
	    print $$1 > "$(smt)/corpus.en.part"; print $$2 > "$(smt)/corpus.fr.part" }'
	mv $(smt)/corpus.fr.part $(smt)/corpus.fr && mv $(smt)/corpus.en.part $(smt)/corpus.en

$(call sets,moses,tok.en): $(by_moses)/%.tok.en: $(P_rnn)/manifest.json $(of_moses)
	mkdir -p $(@D)
	cat $(P_rnn)/$*.src $(whole)
$(call sets,moses,tok.fr): $(by_moses)/%.tok.fr: $(P_rnn)/manifest.json $(of_moses)
	mkdir -p $(@D)
	cat $(P_rnn)/$*.tgt $(whole)

# The papers' language model had 418 million more words; see README.md.
$(smt)/lm.bin: $(smt)/corpus.fr
	$(MOSES)/bin/lmplz -o $(LM_ORDER) -S 50% -T $(smt)/ < $< > $(smt)/lm.arpa
	$(MOSES)/bin/build_binary $(smt)/lm.arpa $@.part && mv $@.part $@

$(smt)/aligned.grow-diag-final-and: $(smt)/corpus.en $(smt)/corpus.fr
	paste -d '\t' $^ | sed -e 's/\t/ ||| /' > $(smt)/pairs
	$(FAST_ALIGN)/fast_align -i $(smt)/pairs -d -o -v > $(smt)/forward.align
	$(FAST_ALIGN)/fast_align -i $(smt)/pairs -d -o -v -r > $(smt)/reverse.align
	$(FAST_ALIGN)/atools -i $(smt)/forward.align -j $(smt)/reverse.align -c grow-diag-final-and $(whole)

$(call ini,model): $(smt)/aligned.grow-diag-final-and $(smt)/lm.bin
	$(scripts)/training/train-model.perl -root-dir $(trained_in) -corpus $(smt)/corpus -f en -e fr \
	  -first-step 4 -alignment grow-diag-final-and -alignment-file $(smt)/aligned \
	  -reordering msd-bidirectional-fe -max-phrase-length 7 -cores $(WORKERS) \
	  -lm 0:$(LM_ORDER):$(abspath $(smt)/lm.bin):8 -external-bin-dir $(FAST_ALIGN)

$(by_moses)/phrase-table.gz: $(call ini,model) $(of_moses)
	mkdir -p $(@D)
	ln -f $(trained_in)/model/phrase-table.gz $@

# Phrase tables filtered for dev and test.
$(call ini,filtered): $(call ini,model) $(by_moses)/dev.tok.en $(by_moses)/test.tok.en
	rm -rf $(@D)
	cat $(by_moses)/dev.tok.en $(by_moses)/test.tok.en > $(smt)/both.tok.en
	$(scripts)/training/filter-model-given-input.pl $(@D) $< $(smt)/both.tok.en

# A system's folder has its moses.ini; run MERT, then make the lists of dev and test.
$(by_moses)/moses.ini: $(call ini,filtered)
	cat $< $(whole)
$(addprefix $(smt)/,$(addsuffix /moses.tuned.ini,moses rnn rnn-wp)): $(smt)/%/moses.tuned.ini: $(smt)/%/moses.ini $(by_moses)/dev.tok.en $(by_moses)/dev.tok.fr
	$(scripts)/training/mert-moses.pl $(by_moses)/dev.tok.en $(by_moses)/dev.tok.fr \
	  $(MOSES)/bin/moses $< --mertdir $(MOSES)/bin --working-dir $(abspath $(@D)/mert) \
	  --decoder-flags "-threads $(WORKERS)"
	cat $(@D)/mert/moses.ini $(whole)
$(foreach s,moses rnn rnn-wp,$(call sets,$s,1000best.gz)): $(smt)/%.1000best.gz: $$(dir $$(smt)/$$*)moses.tuned.ini $$(by_moses)/$$(notdir $$*).tok.en
	$(MOSES)/bin/moses -f $< -threads $(WORKERS) -n-best-list $(smt)/$*.1000best 1000 distinct \
	  < $(by_moses)/$(notdir $*).tok.en > $(smt)/$*.out
	gzip -c $(smt)/$*.1000best $(whole) && rm $(smt)/$*.1000best

# The phrase table with the RNN Encoder-Decoder's score, and a feature for words outside its shortlists.
features_rnn    := 5
features_rnn-wp := 6
more_rnn-wp     := --count-unknown
$(smt)/rnn/phrase-table.gz $(smt)/rnn-wp/phrase-table.gz: $(call ini,filtered) $(WORK)/phrases/phrase-rnn.$(first)/done $(of_params)
	mkdir -p $(@D)
	$(launch) $(NMTKIT) phrase-table score -m $(WORK)/phrases/phrase-rnn.$(first) --params $(PARAMS) $(more_$(notdir $(@D))) \
	  $$(ls $(trained_in)/filtered/phrase-table*.gz) --threads $(THREADS) --force -o $@
$(smt)/rnn/moses.ini $(smt)/rnn-wp/moses.ini: $(smt)/%/moses.ini: $(call ini,filtered) $(smt)/%/phrase-table.gz
	sed -e '/^PhraseDictionary/s|path=[^ ]*|path=$(abspath $(smt)/$*/phrase-table.gz)|' \
	  -e '/^PhraseDictionary/s/num-features=4/num-features=$(features_$*)/' \
	  -e '/^TranslationModel0=/s/$$/$(if $(filter 6,$(features_$*)), 0.1 0.1, 0.1)/' $< $(whole)
endif

# ---- Best hypotheses from the lists

ifneq ($(smt_systems),)
$(call sets,text,src): $(smt)/text/%.src: $(by_moses)/%.tok.en
	mkdir -p $(@D)
	cat $< $(whole)
$(call sets,text,tgt): $(smt)/text/%.tgt: $(by_moses)/%.tok.fr
	mkdir -p $(@D)
	cat $< $(whole)
# Tokens that differ from those of the models are said in the file, for the figure where both are.
$(smt)/text/checked: $(foreach set,dev test,$(by_moses)/$(set).tok.en $(by_moses)/$(set).tok.fr) $(P_rnn)/manifest.json
	mkdir -p $(@D)
	@for set in dev test; do \
	  ours=$$(wc -l < $(P_rnn)/$$set.src); theirs=$$(wc -l < $(by_moses)/$$set.tok.en); [ $$ours -eq $$theirs ] || \
	    { echo "$(by_moses)/$$set.tok.en: $$theirs lines, but the $$set set has $$ours: not the same $$set set" >&2; exit 1; }; \
	done
	{ cmp -s $(by_moses)/test.tok.fr $(P_rnn)/test.tgt || \
	    printf '\n%s\n' 'The lists of Moses have a reference of other tokens, by which its rows in the tables are measured, but not its curve here.'; } $(whole)

rerank     = $(NMTKIT) nbest rerank $< --sentences $$(wc -l < $(by_moses)/$(set).tok.en)
references = $$(foreach side,src tgt,$$(smt)/text/$$(firstword $$(subst ., ,$$(notdir $$*))).$$(side))

$(call sets,baseline,hyp): $(smt)/baseline/%.hyp: $(by_moses)/%.1000best.gz $(by_moses)/%.tok.en $(smt)/text/checked
	mkdir -p $(@D)
	$(rerank) $(whole)
$(call sets,rnn,hyp): $(smt)/rnn/%.hyp: $(smt)/rnn/%.1000best.gz $(by_moses)/%.tok.en
	$(rerank) $(whole)
$(call sets,oracle,hyp): $(smt)/oracle/%.hyp: $(by_moses)/%.1000best.gz $(smt)/text/%.tgt
	mkdir -p $(@D)
	$(NMTKIT) nbest rerank $< --oracle $(smt)/text/$*.tgt $(whole)

# Half the baseline's score, half log p of one LSTM or of an ensemble of five: the feature RNN0.
lstms_forward    := $(WORK)/lstm/seq2seq-lstm-forward.$(call first_of,lstm-forward)
lstms_reversed   := $(WORK)/lstm/seq2seq-lstm.$(call first_of,lstm)
cslm_model       := $(WORK)/cslm/cslm.$(call first_of,cslm)
lstms_reversed-5 := $(foreach s,1 2 3 4 5,$(WORK)/lstm/seq2seq-lstm.$s)
of_lists  := $(smt)/.lists-$(call digest,$(lstms_forward) $(lstms_reversed) $(cslm_model))
of_tune   := $(smt)/.tune-$(call digest,$(TUNE))
$(eval $(call choices,$(of_lists) $(of_tune)))
define rescored
$(call sets,$1,gz): $(smt)/$1/%.gz: $(by_moses)/%.1000best.gz $(by_moses)/%.tok.en $(addsuffix /done,$(lstms_$1)) $(of_params) $(of_lists)
	mkdir -p $$(@D)
	$$(launch) $$(NMTKIT) nbest score $(addprefix -m ,$(lstms_$1)) --ensemble --params $(PARAMS) $$< $(by_moses)/$$*.tok.en \
	  --threads $$(THREADS) --force -o $$@
$(call sets,$1,hyp): $(smt)/$1/%.hyp: $(smt)/$1/%.gz
	$$(rerank) --mean-with RNN0 $$(whole)
endef
$(foreach way,forward reversed reversed-5,$(eval $(call rescored,$(way))))

# CSLM: one more feature in a system's lists, with weights tuned on dev. Early stopping ends its training,
# so that its parameters are those of the best validation.
define with_cslm
$(call sets,$1,gz): $(smt)/$1/%.gz: $(smt)/$2/%.1000best.gz $(cslm_model)/done $(of_lists)
	mkdir -p $$(@D)
	$$(launch) $$(NMTKIT) nbest score -m $(cslm_model) --params best $$< --threads $$(THREADS) --force -o $$@
$(smt)/$1/weights: $(smt)/$1/dev.gz $(smt)/$2/moses.tuned.ini $(by_moses)/dev.tok.fr $(of_tune)
	$$(NMTKIT) nbest tune $$< $(by_moses)/dev.tok.fr --start $(smt)/$2/moses.tuned.ini $(TUNE) --force -o $$@
$(call sets,$1,hyp): $(smt)/$1/%.hyp: $(smt)/$1/%.gz $(by_moses)/%.tok.en $(smt)/$1/weights
	$$(rerank) --weights-file $(smt)/$1/weights $$(whole)
endef
$(eval $(call with_cslm,cslm,moses))
$(eval $(call with_cslm,rnn-cslm,rnn))
$(eval $(call with_cslm,rnn-cslm-wp,rnn-wp))

# "No UNK" by the shortlists of RNNsearch: the same sentences if the tokens are equal.
judge      = $(call evaluate_in,$(smt)/text/$(set),$1)
judge_of   = $(call judge,--source $(smt)/text/$(set).src $1)
$(smt)/%.all.json: $(smt)/%.hyp $(references)
	$(call judge) $(whole)
$(smt)/%.no-unk.json: $(smt)/%.hyp $(references) $(P_rnn)/vocab.tgt
	$(call judge_of,$(no_unk_options)) $(whole)
$(smt)/%.10-20.json: $(smt)/%.hyp $(references)
	$(call judge_of,--length 10-20) $(whole)
$(smt)/%.10-20-no-unk.json: $(smt)/%.hyp $(references) $(P_rnn)/vocab.tgt
	$(call judge_of,$(no_unk_options) --length 10-20) $(whole)

# The phrase table beside the model trained on it: figure 3, tables 2 and 3 of Cho et al. 2014.
$(P_phrases)/manifest.json: $(by_moses)/phrase-table.gz
	mkdir -p $(WORK)/phrases
	$(NMTKIT) prepare -s en -t fr --clean none --phrase-table $< --workers $(WORKERS) --force --output $(@D)
# The most frequent words of the corpus; the table has each phrase pair once.
$(P_phrases)/vocab.tgt: $(P_phrases)/manifest.json $(P_rnn)/manifest.json
	for side in src tgt; do \
	  $(NMTKIT) shortlist $(P_rnn)/train.$$side $(SHORTLIST_phrases) --force -o $(@D)/vocab.$$side || exit; \
	done
$(smt)/phrases/phrases.md: $(by_moses)/phrase-table.gz $(WORK)/phrases/phrase-rnn.$(first)/done $(of_params)
	$(launch) $(NMTKIT) phrase-table report $< -m $(WORK)/phrases/phrase-rnn.$(first) --params $(PARAMS) \
	  --threads $(THREADS) --format svg --force -o $(@D)
endif
