# The data of the recipe: download -> unpack -> select.
#
#   $(WORK)/bitext/train.en  train.fr    the selected pairs
#   $(WORK)/bitext/dev.en    dev.fr      newstest2012 and newstest2013
#   $(WORK)/bitext/test.en   test.fr     newstest2014
#   $(WORK)/bitext/raw/test.en  test.fr  newstest2014 as published, for sacreBLEU
#   $(WORK)/bitext/domain.en  domain.fr  with DOMAIN=N: N of the selected pairs, held out of train
#   $(WORK)/bitext/tokenized             exists if these texts are tokenised (SOURCE=lium)
#
# Quotes are normalised in all but raw/ (../corpora/quotes.py). Also usable alone:
# make -f data.mk select WMT_MIRROR=folder

SIZE         ?= paper
WORK         ?= work/$(SIZE)
DATA         ?= $(WORK)/data
WMT_MIRROR   ?=
NMTKIT       ?= nmtkit
PYTHON       ?= python3
WORKERS      ?= 2
SELECT_WORDS ?= 348000000
DOMAIN       ?=
TEST_LINES   ?= $(if $(filter smoke,$(SIZE)),,3003)

ifeq ($(filter grouped-target,$(.FEATURES)),)
$(error this recipe needs GNU make 4.3 or newer; this is version $(MAKE_VERSION))
endif

wmt_here     := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
wmt_archives := $(DATA)/archives
wmt_text     := $(DATA)/text
wmt_bitext   := $(WORK)/bitext
wmt_both      = $(addsuffix .en,$1) $(addsuffix .fr,$1)

# SOURCE=official: the corpora of statmt.org, from which we select.
# SOURCE=lium: the selection of the papers' authors, tokenised. It is used automatically if its archive
# is in the folder, but downloaded only with SOURCE=lium, so that the training data never depend on
# whether a site answers today.
ifndef SOURCE
wmt_of_lium := $(wildcard $(wmt_archives)/bitexts.tgz $(wmt_archives)/bitexts.tgz.checked)
SOURCE      := $(if $(wmt_of_lium),lium,official)
endif

.DELETE_ON_ERROR:
.PHONY: download unpack select

# ---- Choices: other texts are made with another one

wmt_size   := $(DATA)/.size-$(SIZE)
wmt_source := $(wmt_bitext)/.source-$(SOURCE)
wmt_words  := $(wmt_bitext)/.words-$(SELECT_WORDS)
wmt_domain := $(wmt_bitext)/.domain-$(or $(DOMAIN),none)
wmt_segmented := $(WORK)/.segmented-$(SEGMENTED)

include $(wmt_here)/../choices.mk
$(eval $(call choices,$(wmt_size) $(wmt_source) $(wmt_words) $(wmt_domain) $(wmt_segmented)))

# ---- The small mirrors

# SIZE=smoke makes its own corpora from the toy grammar and needs no data.
wmt_mirror := $(WMT_MIRROR)
ifeq ($(SIZE)$(WMT_MIRROR),smoke)
wmt_mirror     := $(WORK)/mirror
wmt_own_mirror := $(wmt_mirror)/mirror.json

$(wmt_own_mirror):
	$(PYTHON) $(wmt_here)/../toy-en-fr/generate.py --force --train 3000 --dev 200 --test 100 \
	  --output $(WORK)/toy
	$(PYTHON) $(wmt_here)/mini/build.py --size smoke --output $(wmt_mirror) \
	  --bitext giga $(call wmt_both,$(WORK)/toy/train) \
	  --dev $(call wmt_both,$(WORK)/toy/dev) --test $(call wmt_both,$(WORK)/toy/test)
endif
# SIZE=mini requires a mirror; without one it would download 6 GB.
ifeq ($(SIZE)$(WMT_MIRROR),mini)
wmt_refused := SIZE=mini needs WMT_MIRROR=folder or URL: a mirror of any bitexts, by mini/build.py
endif

# ---- download: NAME.checked records that archives/NAME is complete and correct

wmt_download_official := training-parallel-europarl-v7.tgz training-parallel-commoncrawl.tgz \
                     training-parallel-un.tgz training-parallel-nc-v9.tgz training-giga-fren.tar \
                     dev.tgz test-full.tgz
wmt_download_lium     := bitexts.tgz dev+test.tgz test-full.tgz
wmt_download          := $(wmt_download_$(SOURCE))
$(if $(wmt_download),,$(error SOURCE=$(SOURCE): must be official or lium))

define wmt_fetched
$(wmt_archives)/$1.checked: $(wildcard $(wmt_archives)/$1) $(wmt_size) | $(wmt_own_mirror)
	$$(if $$(wmt_refused),@echo '$$(wmt_refused)' >&2; exit 1)
	$$(PYTHON) $$(wmt_here)/../fetch.py $$(wmt_here)/files.toml $1 --set $$(SOURCE) \
	  --output $$(wmt_archives) --unpacked $$(wmt_text) $$(wmt_mirror:%=--mirror %)
endef
$(foreach name,$(wmt_download),$(eval $(call wmt_fetched,$(name))))

download: $(wmt_download:%=$(wmt_archives)/%.checked)

# ---- unpack: the archives may be deleted afterwards

wmt_texts_training-parallel-europarl-v7.tgz := europarl
wmt_texts_training-parallel-commoncrawl.tgz := commoncrawl
wmt_texts_training-parallel-un.tgz          := un
wmt_texts_training-parallel-nc-v9.tgz       := news-commentary
wmt_texts_training-giga-fren.tar            := giga
wmt_texts_dev.tgz                           := newstest2012 newstest2013
wmt_texts_test-full.tgz                     := newstest2014 raw/newstest2014
wmt_lium          := $(addprefix raw/lium-,ep7 nc9 dev08-11 crawl ccb2 un2000)
wmt_texts_bitexts.tgz                       := $(wmt_lium)
wmt_texts_dev+test.tgz                      := raw/ntst1213 raw/ntst14
wmt_of             = $(call wmt_both,$(addprefix $(wmt_text)/,$1))

define wmt_unpacked
$(call wmt_of,$(wmt_texts_$1)) &: $(wmt_archives)/$1.checked
	$$(PYTHON) $$(wmt_here)/../unpack.py $$(wmt_here)/files.toml $(wmt_archives)/$1 \
	  --output $$(wmt_text)
endef
$(foreach name,$(wmt_download),$(eval $(call wmt_unpacked,$(name))))

unpack: $(foreach name,$(wmt_download),$(call wmt_of,$(wmt_texts_$(name))))

# ---- select: the papers' texts

wmt_pool          := europarl commoncrawl un news-commentary giga
wmt_dev_official  := newstest2012 newstest2013
wmt_test_official := newstest2014
wmt_dev_lium      := raw/ntst1213
wmt_test_lium     := raw/ntst14
wmt_dev           := $(wmt_dev_$(SOURCE))
wmt_test          := $(wmt_test_$(SOURCE))
wmt_joined         = $(PYTHON) $(wmt_here)/../join.py $(addprefix $(wmt_text)/,$1) --output

$(call wmt_both,$(wmt_bitext)/dev) &: $(call wmt_of,$(wmt_dev)) $(wmt_source)
	$(call wmt_joined,$(wmt_dev)) $(wmt_bitext)/dev

$(call wmt_both,$(wmt_bitext)/test) &: $(call wmt_of,$(wmt_test)) $(wmt_source)
	$(call wmt_joined,$(wmt_test)) $(wmt_bitext)/test $(TEST_LINES:%=--lines %)

$(call wmt_both,$(wmt_bitext)/raw/test) &: $(call wmt_of,raw/newstest2014)
	$(call wmt_joined,raw/newstest2014) $(wmt_bitext)/raw/test $(TEST_LINES:%=--lines %)

# Training pairs: all that are selected, or those that DOMAIN leaves.
wmt_selected := $(wmt_bitext)/$(if $(DOMAIN),selected,train)
wmt_domain_of_train := $(if $(DOMAIN),,$(wmt_domain))
ifneq ($(DOMAIN),)
$(call wmt_both,$(wmt_bitext)/train $(wmt_bitext)/domain) &: $(call wmt_both,$(wmt_selected)) $(wmt_domain)
	$(PYTHON) $(wmt_here)/../hold_out.py $(wmt_selected) --pairs $(DOMAIN) --output $(wmt_bitext)/domain \
	  --rest $(wmt_bitext)/train
endif

ifeq ($(SOURCE),lium)
$(call wmt_both,$(wmt_selected)) &: $(call wmt_of,$(wmt_lium)) $(wmt_source) $(wmt_domain_of_train)
	$(call wmt_joined,$(wmt_lium)) $(wmt_selected)
	echo 'tokenised at LIUM as by tokenizer.perl: separated tokens, escapes such as &apos;' \
	  > $(wmt_bitext)/tokenized
else
# The papers' 348 million words are French (304 million English), and select counts source words, so
# French is passed as the source; the ranking uses both sides anyway. Leftovers of a killed run are
# deleted.
wmt_select := $(wmt_bitext)/.select

$(call wmt_both,$(wmt_selected)) &: \
    $(call wmt_of,$(wmt_pool)) $(call wmt_both,$(wmt_bitext)/dev) $(wmt_source) $(wmt_words) \
    $(wmt_domain_of_train)
	rm -rf $(wmt_select) $(wmt_bitext)/tokenized
	mkdir $(wmt_select)
	TMPDIR=$(wmt_select) $(NMTKIT) select -s fr -t en \
	  --domain $(wmt_bitext)/dev.fr $(wmt_bitext)/dev.en \
	  $(foreach name,$(wmt_pool),--pool $(wmt_text)/$(name).fr $(wmt_text)/$(name).en) \
	  --words $(SELECT_WORDS) --invalid drop --workers $(WORKERS) \
	  --output $(wmt_select)/$(notdir $(wmt_selected)).fr $(wmt_select)/$(notdir $(wmt_selected)).en
	mv $(call wmt_both,$(wmt_select)/$(notdir $(wmt_selected))) $(wmt_bitext)
	rm -rf $(wmt_select)
endif

select: $(foreach set,train dev test raw/test $(if $(DOMAIN),domain),$(call wmt_both,$(wmt_bitext)/$(set)))
