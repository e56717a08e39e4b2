# SPDX-License-Identifier: Apache-2.0
# One Makefile, no recursion. `make help` lists the targets; V=1 shows the commands.
# A source file takes part by existing: nothing here lists one.

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
MAKEFLAGS += --no-builtin-rules

ifeq ($(origin CC),default)
CC := gcc
endif
MODE   ?= release
BUILD  ?= build
PREFIX ?= /usr/local
V      ?= 0
Q      := $(if $(filter 0,$(V)),@,)
say     = $(if $(filter 0,$(V)),@printf '  %-7s %s\n' $(1) $(2))

# ---- flags ---------------------------------------------------------------------------------------

CC_NAME  := $(notdir $(firstword $(CC)))
IS_CLANG := $(findstring clang,$(CC_NAME))
O        := $(BUILD)/obj-$(MODE)-$(CC_NAME)
GEN      := $(BUILD)/gen
DEPS     := $(BUILD)/deps

MODE_release := -O2
MODE_debug   := -O1 -DOTP_DEBUG=1 -fno-omit-frame-pointer
MODE_asan    := -O1 -DOTP_DEBUG=1 -DOTP_SANITIZER=1 -fno-omit-frame-pointer \
                -fsanitize=address,undefined -fno-sanitize-recover=all
MODE_tsan    := -O1 -DOTP_DEBUG=1 -DOTP_SANITIZER=1 -fno-omit-frame-pointer -fsanitize=thread
$(if $(MODE_$(MODE)),,$(error MODE=$(MODE) is none of: release debug asan tsan))
SANITIZED := $(filter asan tsan,$(MODE))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wundef -Wcast-qual -Wcast-align -Wpointer-arith \
        -Wwrite-strings -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition \
        -Wredundant-decls -Wnested-externs -Wvla -Wformat=2 -Wconversion -Wsign-conversion \
        -Wswitch-enum -Wimplicit-fallthrough -Werror
WARN += $(if $(IS_CLANG),,-Wlogical-op -Wduplicated-cond -Wjump-misses-init)
# Sanitizers blow frames up; everywhere else a big frame is a fault in the design.
WARN += $(if $(SANITIZED),,-Wframe-larger-than=4096)

# No call of ours may go through another object's name, no thread-local access through the loader, and no
# helper of libc (stack protector, fortified functions) may appear that the source does not show.
GEN_FLAGS := -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-semantic-interposition -fno-plt \
             -ffunction-sections -fdata-sections -fno-stack-protector -U_FORTIFY_SOURCE
CFLAGS    ?= -g
INCLUDES  := -I. -isystem $(GEN) -isystem $(GEN)/proto -isystem $(DEPS)/libunwind/include
OTP_FLAGS := -std=gnu11 $(MODE_$(MODE)) $(GEN_FLAGS) $(CFLAGS)
# Generated code is what its generator makes of it: no warnings, no asserts.
PB_FLAGS  := -DNDEBUG -w
COMPILE    = $(CC) $(OTP_FLAGS) $(WARN) $(INCLUDES) $(CPPFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# ---- sources -------------------------------------------------------------------------------------

# Parts of core that only the tool needs stay out of the library.
TOOL_ONLY_CORE := $(wildcard core/decode/*.c)
# CORE="base symbol" leaves the other folders out: lower layers build and test without the higher ones.
CORE      ?= *
CORE_SRC  := $(sort $(wildcard $(CORE:%=core/%/*.c)))
LIB_SRC   := $(filter-out $(TOOL_ONLY_CORE),$(CORE_SRC)) $(sort $(wildcard preload/*.c))
TOOL_SRC  := $(sort $(wildcard tools/otelprof/*.c))
UNIT_SRC  := $(sort $(wildcard tests/unit/test_*.c))
UNIT_HELP := $(filter-out $(UNIT_SRC),$(sort $(wildcard tests/unit/*.c)))
HEADERS   := $(sort $(wildcard core/*/*.h preload/*.h tools/otelprof/*.h tests/unit/*.h))
HOT_SRC   := $(filter %_hot.c,$(LIB_SRC))
PROTO_SRC := $(sort $(shell find proto -name '*.proto'))
PB_C      := $(PROTO_SRC:%.proto=$(GEN)/%.pb-c.c)

obj        = $(patsubst %.c,$(O)/%.o,$(patsubst $(BUILD)/%,%,$(1)))
PB_OBJ    := $(call obj,$(PB_C))
LIB_OBJ   := $(call obj,$(LIB_SRC)) $(PB_OBJ)
CORE_OBJ  := $(call obj,$(CORE_SRC)) $(PB_OBJ)
TOOL_OBJ  := $(call obj,$(TOOL_SRC))
HELP_OBJ  := $(call obj,$(UNIT_HELP))
UNIT_OBJ  := $(call obj,$(UNIT_SRC))
UNIT_BIN  := $(UNIT_OBJ:.o=)

# ---- the two products ----------------------------------------------------------------------------

TOOL     := $(if $(TOOL_SRC),otelprof)
PRODUCTS := $(if $(filter release,$(MODE)),$(BUILD)/libotelprof.so $(TOOL:%=$(BUILD)/%) \
                $(BUILD)/libotelprofile.a $(BUILD)/otelprofile.h, \
            $(if $(SANITIZED),,$(O)/libotelprof.so) $(TOOL:%=$(O)/%) $(if $(SANITIZED),unit-programs))

.PHONY: all FORCE
all: $(PRODUCTS)  ## build the library and the tool (MODE=release|debug|asan|tsan, CC=gcc|clang, V=1)
FORCE:

# A new file under the old name, so that a program that runs with the old library keeps it.
$(BUILD)/libotelprof.so $(BUILD)/otelprof: $(BUILD)/%: $(O)/% FORCE
	@cmp -s $< $@ || { cp $< $@.new && mv $@.new $@; }

PRIVATE := $(addprefix $(DEPS)/private/lib,protobuf-c.a zstd.a z.a iberty.a)
# Libraries that allocate: what they get instead of libc's functions is in core/export/guest.c.
GUESTS  := $(addprefix $(DEPS)/private/lib,tls.a nghttp2.a)
UNWIND  := $(DEPS)/private/libunwind.a
SO_LD   := -shared -Wl,-soname,libotelprof.so -Wl,--exclude-libs,ALL \
           -Wl,--version-script=preload/libotelprof.map -Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,-z,initfirst \
           -Wl,--gc-sections -Wl,--build-id -Wl,--hash-style=gnu

$(O)/libotelprof.so: $(LIB_OBJ) $(GUESTS) $(PRIVATE) $(UNWIND) preload/libotelprof.map $(O)/lib.list
	$(call say,LD,$@)
	$(Q)$(CC) $(MODE_$(MODE)) $(SO_LD) $(LDFLAGS) -o $@.new $(LIB_OBJ) $(GUESTS) $(PRIVATE) \
	    $(UNWIND)
	$(Q)mv $@.new $@

# The tool and the tests are ordinary programs: they link the libraries as the distribution has them.
TLS_LIBS   := mbedtls mbedx509 mbedcrypto
PLAIN_LIBS := $(foreach l,$(TLS_LIBS) nghttp2 protobuf-c zstd z iberty,-l:lib$(l).a)

# Debug information, for the tool alone; static, so that the tool stays one file that can be carried.
DWARF_LIBS := $(foreach l,dw elf lzma bz2,-l:lib$(l).a)

# The unwinder and the core need names of each other.
CORE_LIBS = -Wl,--start-group $(O)/libcore.a $(UNWIND) -Wl,--end-group

$(O)/otelprof: $(TOOL_OBJ) $(O)/libcore.a $(UNWIND) $(O)/tool.list
	$(call say,LD,$@)
	$(Q)$(CC) $(MODE_$(MODE)) -pie -Wl,--gc-sections -Wl,-z,now -Wl,-z,relro $(LDFLAGS) \
	    -o $@.new $(TOOL_OBJ) $(CORE_LIBS) $(DWARF_LIBS) $(PLAIN_LIBS) -pthread
	$(Q)mv $@.new $@

$(O)/libcore.a: $(CORE_OBJ) $(O)/core.list
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcsT $@ $(CORE_OBJ)

# The builders by themselves, for other programs.
PROFILE_OBJ := $(call obj,$(filter-out core/base/libstubs%,$(filter core/base/% core/encode/%,$(CORE_SRC)))) $(PB_OBJ)
$(BUILD)/libotelprofile.a: $(PROFILE_OBJ) $(O)/core.list
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(PROFILE_OBJ)
PUBLIC_HEADERS := $(wildcard core/base/*.h core/base/status.def core/encode/*.h)
$(BUILD)/otelprofile.h: tools/dev/public_header.sh $(PUBLIC_HEADERS)
	@mkdir -p $(@D)
	$(Q)sh tools/dev/public_header.sh $@

# Lists and flags that differ from the last time rebuild what was made with the old ones.
remember = @mkdir -p $(@D); echo '$(subst ','\'',$(1))' | cmp -s - $@ || echo '$(subst ','\'',$(1))' > $@
$(O)/lib.list: FORCE
	$(call remember,$(LIB_OBJ) $(SO_LD) $(LDFLAGS))
$(O)/core.list: FORCE
	$(call remember,$(CORE_OBJ))
$(O)/tool.list: FORCE
	$(call remember,$(TOOL_OBJ) $(LDFLAGS))
$(O)/flags: FORCE
	$(call remember,$(shell $(CC) --version 2>&1 | head -n 1) $(OTP_FLAGS) $(WARN) $(PB_FLAGS) $(INCLUDES) $(CPPFLAGS))

# ---- compiling -----------------------------------------------------------------------------------

$(O)/gen/%.o: $(GEN)/%.c $(O)/flags
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(OTP_FLAGS) $(PB_FLAGS) $(INCLUDES) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

$(O)/%.o: %.c $(O)/flags | $(PB_C) $(DEPS)/libunwind/libunwind.a
	$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(COMPILE)

# The page of `otelprof flame` is put in as it lies there.
$(O)/tools/otelprof/flame_page.o: $(wildcard tools/otelprof/flame_page.*)

# Imports between our .proto files are relative to proto/. All are made anew when one changes.
$(GEN)/proto/%.pb-c.c $(GEN)/proto/%.pb-c.h: proto/%.proto $(PROTO_SRC)
	$(call say,PROTOC,$<)
	@mkdir -p $(GEN)/proto
	$(Q)protoc-c -Iproto --c_out=$(GEN)/proto $<

# The functions on memory must not become calls of themselves. No sanitizer: they read whole pieces of a page.
$(O)/preload/memory_hot.o: private OTP_FLAGS += -ffreestanding -fno-builtin \
    $(if $(IS_CLANG),,-fno-tree-loop-distribute-patterns) $(if $(SANITIZED),-fno-sanitize=all)

-include $(patsubst %.o,%.d,$(LIB_OBJ) $(CORE_OBJ) $(TOOL_OBJ) $(HELP_OBJ) $(UNIT_OBJ)) $(wildcard $(O)/tests/fuzz/*.d)

# ---- the libraries inside the library ------------------------------------------------------------

PRIVATIZE := sh tools/dev/private_archive.sh
archive    = $(shell $(CC) -print-file-name=lib$(1).a)

$(DEPS)/libunwind/libunwind.a: tools/dev/build_libunwind.sh
	$(Q)sh tools/dev/build_libunwind.sh $(DEPS)/libunwind
	@touch $@

# The unwinder asks us for loaded objects and for memory; mempool.o is its own pool with its own lock.
$(UNWIND): $(DEPS)/libunwind/libunwind.a tools/dev/private_archive.sh Makefile
	$(call say,OBJCOPY,$@)
	$(Q)$(PRIVATIZE) $< $@ mempool.o dl_iterate_phdr=otp_unw_iterate_phdr abort=otp_unw_abort \
	    _UIx86_64__mempool_init=otp_unw_mempool_init \
	    _UIx86_64__mempool_alloc=otp_unw_mempool_alloc \
	    _UIx86_64__mempool_free=otp_unw_mempool_free

$(PRIVATE): $(DEPS)/private/lib%.a: tools/dev/private_archive.sh
	$(call say,OBJCOPY,$@)
	$(Q)$(PRIVATIZE) $(call archive,$*) $@

GUEST_NAMES := $(foreach n,malloc calloc realloc free time gmtime_r clock_gettime qsort,$(n)=otp_guest_$(n))

# The three archives of Mbed TLS refer to each other: only as one they have an inside.
$(DEPS)/tls/libtls.a: Makefile
	@mkdir -p $(@D)
	$(Q){ echo 'create $@'; for l in $(TLS_LIBS); do \
	    echo "addlib $$($(CC) -print-file-name=lib$$l.a)"; done; echo save; echo end; } | ar -M
$(DEPS)/private/libtls.a: $(DEPS)/tls/libtls.a tools/dev/private_archive.sh
	$(call say,OBJCOPY,$@)
	$(Q)$(PRIVATIZE) $< $@ $(GUEST_NAMES) __udivti3=__udivti3
$(DEPS)/private/libnghttp2.a: tools/dev/private_archive.sh Makefile
	$(call say,OBJCOPY,$@)
	$(Q)$(PRIVATIZE) $(call archive,nghttp2) $@ $(GUEST_NAMES)

# ---- packages ------------------------------------------------------------------------------------

BUILD_PACKAGES := gcc libc6-dev make binutils ca-certificates libprotobuf-c-dev \
                  protobuf-c-compiler libzstd-dev zlib1g-dev libiberty-dev \
                  libmbedtls-dev libnghttp2-dev libdw-dev libelf-dev liblzma-dev libbz2-dev
TEST_PACKAGES  := check clang pmccabe pkg-config g++ python3 perl sqlite3 xz-utils zstd gzip bzip2 \
                  libc6-dbg redis-server redis-tools nginx-light apache2-utils procps strace gdb openssl debuginfod libdebuginfod1 mandoc zsh iproute2

.PHONY: deps test-deps
deps:  ## install what the build needs (apt-get, as root or with sudo)
	@sh tools/dev/apt_packages.sh $(BUILD_PACKAGES)
test-deps: deps  ## install what the tests need
	@sh tools/dev/apt_packages.sh $(TEST_PACKAGES)

# ---- unit tests ----------------------------------------------------------------------------------

CHECK_LIBS = $(shell pkg-config --libs check 2> /dev/null || echo -lcheck_pic -lsubunit -lm -lrt)
.PHONY: unit unit-programs
unit-programs: $(UNIT_BIN)
UNIT_RUN := $(if $(T),$(T:%=$(O)/tests/unit/%),$(UNIT_BIN))
unit: $(UNIT_RUN)  ## run the unit tests (T=name: one of them)
	@sh tools/dev/run_units.sh $(UNIT_RUN)

$(UNIT_BIN): %: %.o $(HELP_OBJ) $(O)/libcore.a $(UNWIND)
	$(call say,LD,$@)
	$(Q)$(CC) $(MODE_$(MODE)) -pie -Wl,--gc-sections $(LDFLAGS) -o $@ $< $(HELP_OBJ) $(CORE_LIBS) \
	    $(PLAIN_LIBS) $(CHECK_LIBS) $(UNIT_MORE) -pthread

# Our functions on memory under other names, beside libc's.
OWN_MEMORY := $(O)/tests/unit/own_memory.o
$(OWN_MEMORY): $(O)/preload/memory_hot.o
	$(call say,OBJCOPY,$@)
	@mkdir -p $(@D)
	$(Q)objcopy --prefix-symbols=own_ $< $@
$(O)/tests/unit/test_preload_memory: private UNIT_MORE := $(OWN_MEMORY)
$(O)/tests/unit/test_preload_memory: $(OWN_MEMORY)

# The worker as a thread that the thread sanitizer knows: see the test.
$(O)/tests/unit/test_capture_landing.o: private OTP_FLAGS += -fexceptions
$(O)/tests/unit/test_engine_threads: private LDFLAGS += -Wl,--wrap=otp_arch_clone_thread

# Any other test program that links core: `make build/obj-release-gcc/tests/diff/NAME`.
$(O)/tests/%: $(O)/tests/%.o $(O)/libcore.a $(UNWIND)
	$(call say,LD,$@)
	$(Q)$(CC) $(MODE_$(MODE)) -pie -Wl,--gc-sections $(LDFLAGS) -o $@ $< $(CORE_LIBS) $(PLAIN_LIBS) -pthread

# A fuzz target with the driver that replays inputs: `make MODE=asan build/obj-asan-gcc/tests/fuzz/fuzz_NAME`.
$(O)/tests/fuzz/fuzz_%: $(O)/tests/fuzz/fuzz_%.o $(O)/tests/fuzz/replay.o $(O)/libcore.a $(UNWIND)
	$(call say,LD,$@)
	$(Q)$(CC) $(MODE_$(MODE)) -pie -Wl,--gc-sections $(LDFLAGS) -o $@ $(filter %.o,$^) $(CORE_LIBS) \
	    $(PLAIN_LIBS) -pthread

# A parser of the tool's own.
$(O)/tests/fuzz/fuzz_request: $(O)/tools/otelprof/http_request.o
$(O)/tests/fuzz/fuzz_program: $(O)/tools/otelprof/target.o
$(O)/tests/fuzz/fuzz_package: private PLAIN_LIBS += -l:libelf.a -l:libz.a
$(O)/tests/fuzz/fuzz_package: $(O)/tools/otelprof/dwp.o

# ---- gates ---------------------------------------------------------------------------------------

GATES := check-exports check-imports check-hot check-layers check-headers check-style check-words check-options \
         check-cases
.PHONY: gates $(GATES) format check-format
gates: $(GATES)  ## all structural gates below

check-exports: $(O)/libotelprof.so  ## exported names and needed libraries equal the lists in tests/contract
	@sh tools/dev/check_exports.sh $<
check-imports: $(O)/libotelprof.so  ## what the library takes from libc is listed, with a reason, and old
	@sh tools/dev/check_imports.sh $<
check-hot: $(call obj,$(HOT_SRC))  ## hot objects use allowed outside symbols only
	@sh tools/dev/check_hot.sh $(O)/hot.all.o $^
check-layers:  ## includes follow core/LAYERS
	@sh tools/dev/check_layers.sh
check-headers: $(O)/flags | $(PB_C) $(DEPS)/libunwind/libunwind.a  ## each header compiles alone
	@sh tools/dev/check_headers.sh '$(CC) $(OTP_FLAGS) $(WARN) $(INCLUDES)' $(HEADERS)
check-style:  ## sizes, complexity, comments, licence line
	@sh tools/dev/check_style.sh
check-words:  ## the text speaks of the project only
	@sh tools/dev/check_words.sh

check-options:  ## the variables in the code, in the README and in tests/contract are the same
	@sh tools/dev/options_table.sh tests/contract/options.txt README.md
check-cases:  ## each case of the table in docs/TESTING.md has tests that exist
	@sh tools/dev/check_cases.sh docs/TESTING.md

C_FILES = $(sort $(shell find core preload tools tests -name '*.[ch]'))
format:  ## lay the source out with clang-format 14
	$(Q)clang-format-14 -i $(C_FILES)
check-format:  ## would `make format` change anything?
	@clang-format-14 --dry-run -Werror $(C_FILES) && echo "check-format: $(words $(C_FILES)) files, 0 failed"

# ---- the long targets ----------------------------------------------------------------------------

.PHONY: check demo bench accuracy interop interop-profcheck parity roots faults stress fleet install deb clean help
check: test-deps  ## install what the tests need, then run all tests and gates
	@MAKE='$(MAKE)' UNITS='$(UNIT_BIN)' sh tools/dev/check.sh $(GATES)
demo: deps all  ## profile a real program; leave a profile and a flame graph
	@sh tools/dev/demo.sh
bench: all  ## measure the cost
	@sh tests/bench/run.sh
accuracy interop parity roots faults stress fleet: all  ## the named suite
	@sh tests/$@/run.sh
interop-profcheck: all  ## the checker of PROFCHECK_DIR over what tests look at
	@sh tests/interop/profcheck.sh

install: all  ## install to DESTDIR and PREFIX
	$(Q)install -d $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include \
	    $(DESTDIR)$(PREFIX)/share/doc/libotelprof
	$(Q)install -m 755 $(BUILD)/libotelprof.so $(DESTDIR)$(PREFIX)/lib/
	$(Q)install -m 755 $(BUILD)/otelprof $(DESTDIR)$(PREFIX)/bin/
	$(Q)install -d $(addprefix $(DESTDIR)$(PREFIX)/,lib/pkgconfig share/man/man1 share/man/man7 \
	    share/bash-completion/completions share/zsh/site-functions)
	$(Q)$(BUILD)/otelprof man 1 > $(DESTDIR)$(PREFIX)/share/man/man1/otelprof.1
	$(Q)$(BUILD)/otelprof man 7 > $(DESTDIR)$(PREFIX)/share/man/man7/libotelprof.7
	$(Q)$(BUILD)/otelprof completion bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/otelprof
	$(Q)$(BUILD)/otelprof completion zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_otelprof
	$(Q)install -m 644 $(BUILD)/libotelprofile.a $(DESTDIR)$(PREFIX)/lib/
	$(Q)install -m 644 $(BUILD)/otelprofile.h $(DESTDIR)$(PREFIX)/include/
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e "s|@VERSION@|$$(sed -n 's/.*OTP_VERSION "\(.*\)".*/\1/p' core/base/version.h)|" \
	    tools/dev/otelprofile.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/otelprofile.pc
	$(Q)for h in $(wildcard core/*/otelprof.h); do \
	    install -m 644 $$h $(DESTDIR)$(PREFIX)/include/ || exit 1; done
	$(Q)for d in $(wildcard README.md LICENSE NOTICE docs/*.md); do \
	    install -m 644 $$d $(DESTDIR)$(PREFIX)/share/doc/libotelprof/ || exit 1; done

deb: all  ## a Debian package of the library and the tool, in BUILD
	@sh tools/dev/apt_packages.sh dpkg-dev
	@MAKE='$(MAKE)' sh tools/dev/make_deb.sh $(BUILD)

clean:  ## remove everything that was built
	$(Q)rm -rf $(BUILD)

help:  ## this list
	@awk -F ':[^#]*## ' '/^[a-z][a-z -]*:.*## / { printf "  %-24s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
