# The data of the recipe: download -> unpack -> select.
#
#   $(WORK)/bitext/train.en  train.fr    the selected pairs
#   $(WORK)/bitext/dev.en    dev.fr      newstest2012 and newstest2013
#   $(WORK)/bitext/test.en   test.fr     newstest2014
#   $(WORK)/bitext/raw/test.en  test.fr  newstest2014 as published, for sacreBLEU on detokenised text
#   $(WORK)/bitext/tokenized             is there where these texts are tokenised (SOURCE=lium)
#
# All but raw/ have their quotes in one form (../corpora/quotes.py). It works alone, too:
# make -f data.mk select WMT_MIRROR=folder

SIZE         ?= paper
WORK         ?= work/$(SIZE)
DATA         ?= $(WORK)/data
WMT_MIRROR   ?=
NMTKIT       ?= nmtkit
PYTHON       ?= python3
WORKERS      ?= 2
SELECT_WORDS ?= 348000000
TEST_LINES   ?= $(if $(filter smoke,$(SIZE)),,3003)

ifeq ($(filter grouped-target,$(.FEATURES)),)
$(error this recipe needs GNU make 4.3 or newer, and this is $(MAKE_VERSION))
endif

wmt      := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
archives := $(DATA)/archives
text     := $(DATA)/text
bitext   := $(WORK)/bitext
both      = $(addsuffix .en,$1) $(addsuffix .fr,$1)

# SOURCE=official: the corpora of statmt.org, from which we select.
# SOURCE=lium: what the papers' authors had selected and tokenised. It is used unasked where its
# archive was put into the folder. What is trained on shall not hang on whether a site happens to
# answer today: so it is looked for on its site only if SOURCE=lium says so.
ifndef SOURCE
SOURCE := $(if $(wildcard $(archives)/bitexts.tgz $(archives)/bitexts.tgz.checked),lium,official)
endif

.DELETE_ON_ERROR:
.PHONY: download unpack select

# ---- The small mirrors

# SIZE=smoke makes its own corpora, so that it needs nothing: sentences of the toy grammar.
mirror := $(WMT_MIRROR)
ifeq ($(SIZE)$(WMT_MIRROR),smoke)
mirror     := $(WORK)/mirror
own_mirror := $(mirror)/mirror.json

$(own_mirror):
	$(PYTHON) $(wmt)/../toy-en-fr/generate.py --force --train 3000 --dev 200 --test 100 \
	  --output $(WORK)/toy
	$(PYTHON) $(wmt)/mini/build.py --size smoke --bitext giga $(call both,$(WORK)/toy/train) \
	  --dev $(call both,$(WORK)/toy/dev) --test $(call both,$(WORK)/toy/test) --output $(mirror)
endif
ifeq ($(SIZE)$(WMT_MIRROR),mini)
$(error SIZE=mini needs WMT_MIRROR=folder or URL, a mirror that mini/build.py made of some bitexts)
endif

# ---- download: NAME.checked says that archives/NAME was whole and right

download_official := training-parallel-europarl-v7.tgz training-parallel-commoncrawl.tgz \
                     training-parallel-un.tgz training-parallel-nc-v9.tgz training-giga-fren.tar \
                     dev.tgz test-full.tgz
download_lium     := bitexts.tgz dev+test.tgz test-full.tgz
download          := $(download_$(SOURCE))
$(if $(download),,$(error SOURCE=$(SOURCE): it is official or lium))

define archive
$(archives)/$1.checked: $(wildcard $(archives)/$1) | $(own_mirror)
	$$(PYTHON) $$(wmt)/../fetch.py $$(wmt)/files.toml $1 --set $$(SOURCE) --output $$(archives) \
	  --unpacked $$(text) $$(if $$(mirror),--mirror $$(mirror))
endef
$(foreach name,$(download),$(eval $(call archive,$(name))))

download: $(download:%=$(archives)/%.checked)

# ---- unpack: the archives may be removed when it is done

texts_training-parallel-europarl-v7.tgz := europarl
texts_training-parallel-commoncrawl.tgz := commoncrawl
texts_training-parallel-un.tgz          := un
texts_training-parallel-nc-v9.tgz       := news-commentary
texts_training-giga-fren.tar            := giga
texts_dev.tgz                           := newstest2012 newstest2013
texts_test-full.tgz                     := newstest2014 raw/newstest2014
lium          := $(addprefix raw/lium-,ep7 nc9 dev08-11 crawl ccb2 un2000)
texts_bitexts.tgz                       := $(lium)
texts_dev+test.tgz                      := raw/ntst1213 raw/ntst14
of             = $(call both,$(addprefix $(text)/,$1))

define unpacked
$(call of,$(texts_$1)) &: $(archives)/$1.checked
	$$(PYTHON) $$(wmt)/../unpack.py $$(wmt)/files.toml $(archives)/$1 --output $$(text)
endef
$(foreach name,$(download),$(eval $(call unpacked,$(name))))

unpack: $(foreach name,$(download),$(call of,$(texts_$(name))))

# ---- select: the papers' texts

joined = $(PYTHON) $(wmt)/../join.py $(addprefix $(text)/,$1) --output
pool := europarl commoncrawl un news-commentary giga
dev_official  := newstest2012 newstest2013
test_official := newstest2014
dev_lium      := raw/ntst1213
test_lium     := raw/ntst14
devs          := $(dev_$(SOURCE))
tests         := $(test_$(SOURCE))

$(call both,$(bitext)/dev) &: $(call of,$(devs))
	$(call joined,$(devs)) $(bitext)/dev

$(call both,$(bitext)/test) &: $(call of,$(tests))
	$(call joined,$(tests)) $(bitext)/test $(if $(TEST_LINES),--lines $(TEST_LINES))

$(call both,$(bitext)/raw/test) &: $(call of,raw/newstest2014)
	$(call joined,raw/newstest2014) $(bitext)/raw/test $(if $(TEST_LINES),--lines $(TEST_LINES))

ifeq ($(SOURCE),lium)
$(call both,$(bitext)/train) &: $(call of,$(lium))
	$(call joined,$(lium)) $(bitext)/train

$(bitext)/tokenized: $(call both,$(bitext)/train)
	echo 'tokenised at LIUM, as tokenizer.perl does it: words apart, &apos; and its like' > $@
else
# The papers' 348 million words are French ones (304 million English), and select counts words on
# the source: so it is given French as source. The ranking, by both sides, is the same.
$(call both,$(bitext)/train) &: $(call of,$(pool)) $(call both,$(bitext)/dev)
	rm -f $(bitext)/tokenized
	TMPDIR=$(bitext) $(NMTKIT) select -s fr -t en --domain $(bitext)/dev.fr $(bitext)/dev.en \
	  $(foreach name,$(pool),--pool $(text)/$(name).fr $(text)/$(name).en) \
	  --words $(SELECT_WORDS) --invalid drop --workers $(WORKERS) --force \
	  --output $(bitext)/train.fr $(bitext)/train.en
endif

select: $(foreach set,train dev test raw/test,$(call both,$(bitext)/$(set)))
select: $(if $(filter lium,$(SOURCE)),$(bitext)/tokenized)
