# Choices: empty files named after the values of settings; other values make anew what depends on them.

# $(call digest,VALUES): a name for values with blanks.
quoted     = '$(subst ','\'',$1)'
digest     = $(firstword $(shell printf '%s' $(call quoted,$1) | cksum))

# $(eval $(call choices,FOLDER/.NAME-VALUE ...)): their rules. Where all targets are secondary a missing
# file alone rebuilds nothing; one that is phony does.
.PHONY: another_choice
define choices
$(filter-out $(wildcard $1),$1): another_choice
$1:
	@mkdir -p $$(@D)
	@rm -f $$(@D)/$$(firstword $$(subst -,- ,$$(@F)))*
	@touch $$@
endef
