#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# check.sh: files that break one rule each are caught, by that rule, and by no other one.
. "$(dirname "$0")/../common.sh"

begin "a conforming file is clean"
"$python" "$here/otlp_gen.py" good good.otlp
for option in "" --strict; do
    # shellcheck disable=SC2086
    "$tool" check $option good.otlp > out 2> err
    equal "exit status" 0 $?
    equal "lines" 1 "$(wc -l < out)"
    grep -q '6 profiles, 240 samples, .* looked at: ok$' out || bad "$(cat out)"
done
end

begin "the generator of these tests ends when there are not so many stacks"
timeout 20 "$python" "$here/otlp_gen.py" good never.otlp stacks=40 depth=1 > out 2>&1
equal "exit status" 1 $?
grep -q 'there are 2 different stacks' out || bad "$(cat out)"
[ ! -e never.otlp ] || bad "it wrote something"
end

begin "a file without a dictionary, an empty message"
printf '\012\000' > resource.otlp
"$tool" check resource.otlp > out
equal "exit status" 1 $?
grep -q 'dictionary: it is missing' out || bad "$(cat out)"
printf '\022\000' > dictionary.otlp
"$tool" check dictionary.otlp > out
equal "exit status" 1 $?
grep -q 'resource_profiles: there are none' out || bad "$(cat out)"
end

# The place that a violation has to be reported at, by rule.
place() {
    case $1 in
    no_profiles) echo 'resource_profiles[0].scope_profiles[0].profiles: ' ;;
    no_resource) echo 'resource_profiles: ' ;;
    sample_stack_out_of_range) echo 'profiles[1].samples[3].stack_index: ' ;;
    sample_link_*) echo 'samples[3].link_index: ' ;;
    sample_attribute_out_of_range) echo 'profiles[2].samples[0].attribute_indices: ' ;;
    sample_attribute_key_twice) echo 'profiles[0].samples[0].attribute_indices: ' ;;
    profile_attribute_out_of_range) echo 'profiles[3].attribute_indices: ' ;;
    sample_type_out_of_range) echo 'profiles[3].sample_type.unit_strindex: ' ;;
    period_type_out_of_range) echo 'profiles[3].period_type.type_strindex: ' ;;
    timestamp_*) echo 'profiles[0].samples[2].timestamps_unix_nano[0]: ' ;;
    zero_of_attribute_has_value) echo 'dictionary.attribute_table[0]: ' ;;
    zero_of_*) echo "dictionary.$(echo "${1#zero_of_}" | sed 's/s$//')_table[0]: " ;;
    empty_function_table) echo 'dictionary.function_table: ' ;;
    mapping_filename_out_of_range) echo 'dictionary.mapping_table[2].filename_strindex: ' ;;
    mapping_start_*) echo 'dictionary.mapping_table[2]: ' ;;
    mapping_attribute_out_of_range) echo 'dictionary.mapping_table[1].attribute_indices: ' ;;
    location_mapping_out_of_range) echo 'dictionary.location_table[4].mapping_index: ' ;;
    location_attribute_key_twice) echo 'dictionary.location_table[4].attribute_indices: ' ;;
    line_function_out_of_range) echo 'dictionary.location_table[4].lines[0].function_index: ' ;;
    line_negative) echo 'dictionary.location_table[4].lines[0].line: ' ;;
    column_negative) echo 'dictionary.location_table[4].lines[0].column: ' ;;
    function_name_out_of_range) echo 'dictionary.function_table[4].name_strindex: ' ;;
    function_system_name_out_of_range) echo 'dictionary.function_table[4].system_name_strindex: ' ;;
    function_file_out_of_range) echo 'dictionary.function_table[4].filename_strindex: ' ;;
    function_start_line_negative) echo 'dictionary.function_table[4].start_line: ' ;;
    link_trace_id_short) echo 'dictionary.link_table[1].trace_id: ' ;;
    link_span_id_long) echo 'dictionary.link_table[1].span_id: ' ;;
    attribute_key_out_of_range) echo 'dictionary.attribute_table[1].key_strindex: ' ;;
    attribute_unit_out_of_range) echo 'dictionary.attribute_table[1].unit_strindex: ' ;;
    stack_location_out_of_range) echo 'dictionary.stack_table[1].location_indices[20]: ' ;;
    string_not_utf8) echo 'dictionary.string_table[5]: ' ;;
    sample_without_anything) echo 'profiles[0].samples[0]: ' ;;
    sample_two_values) echo 'profiles[0].samples[0].values: ' ;;
    sample_values_and_times_differ) echo 'profiles[0].samples[0]: ' ;;
    sample_shapes_mixed) echo 'profiles[0].samples[1]: ' ;;
    *_unused) echo 'nothing refers to it' ;;
    sample_identity_*) echo 'profiles[2].samples[40]: ' ;;
    *_twice) echo 'it is equal to entry ' ;;
    address_outside_mapping) echo 'dictionary.location_table[4].address: ' ;;
    mapping_without_build_id) echo 'dictionary.mapping_table[4].attribute_indices: ' ;;
    function_without_names) echo 'dictionary.function_table[20]: ' ;;
    payload_without_format) echo 'profiles[1].original_payload: ' ;;
    payload_format_alone) echo 'profiles[1].original_payload_format: ' ;;
    profile_id_*) echo 'profiles[1].profile_id: ' ;;
    time_ranges_differ) echo 'profiles[1]: ' ;;
    negative_*) echo '.samples[3].values[0]: -5 is negative' ;;
    period_zero) echo 'profiles[1].period: it is zero' ;;
    period_negative) echo 'profiles[4].period: -524288 is negative' ;;
    achieved_period_negative) echo 'profiles[1].attribute_indices: otelprof.cpu.achieved_period is -1' ;;
    period_of_twin) echo 'profiles[0].period: 10000001 is not that of the cpu profile beside it, 10000000' ;;
    unknown_field_on_top) echo ': field 9 at offset ' ;;
    unknown_field_in_sample) echo 'profiles[1].samples[3]: field 14 at offset ' ;;
    unknown_field_in_profile) echo 'profiles[1]: field 20 at offset ' ;;
    *) echo "(no place is known for $1)" ;;
    esac
}

mkdir "$work/broken"
"$python" "$here/otlp_gen.py" broken "$work/broken" > "$work/rules"
while read -r kind rule; do
    begin "$kind rule: $rule"
    "$tool" check --strict "$work/broken/$kind.$rule.otlp" > out 2> err
    equal "exit status" 1 $?
    equal "standard error" "" "$(cat err)"
    grep -qF -- "$(place "$rule")" out || bad "$(head -n 3 out | cut -c 1-300)"
    tail -n 1 out | grep -q ' looked at: [0-9]* violations\?$' || bad "the last line is: $(tail -n 1 out)"
    "$tool" check "$work/broken/$kind.$rule.otlp" > out
    status=$?
    # What only --strict asks for is no violation without it.
    equal "exit status without --strict" "$([ "$kind" = strict ] && echo 0 || echo 1)" "$status"
    end
done < "$work/rules"

begin "the reader that the other tests use finds faults of the format, too"
# shellcheck disable=SC2046
judge conform $(find "$work/broken" -name 'base.*' | sort) > out
between "files with a fault" 30 1000 "$(sed -n 's/^\([^ ]*\): .*/\1/p' out | sort -u | wc -l)"
"$python" "$here/otlp_gen.py" good good.otlp
equal "faults of a good file" 1 "$(judge conform good.otlp | wc -l)"
end

begin "rules were checked"
between "number of rules" 60 1000 "$(wc -l < "$work/rules")"
end

begin "older wires are violations, several files, messages of a frame"
"$python" "$here/otlp_gen.py" good old.otlp wire=1.8
"$python" "$here/otlp_gen.py" good good.otlp
"$tool" check old.otlp > out
equal "exit status" 1 $?
grep -q 'proto 1.8' out || bad "$(cat out)"
"$tool" check good.otlp old.otlp good.otlp > out
equal "exit status of three" 1 $?
equal "files that are ok" 2 "$(grep -c ': ok$' out)"
"$python" - << 'P'
import struct
good, old = (open(n, "rb").read() for n in ("good.otlp", "old.otlp"))
open("framed", "wb").write(b"".join(struct.pack(">I", len(x)) + x for x in (good, old)))
P
"$tool" check framed > out
grep -q '^framed: message\[1\]' out || bad "$(cat out)"
end

begin "what cannot be read does not hide the rest"
"$python" "$here/otlp_gen.py" good good.otlp
"$python" "$here/otlp_gen.py" good old.otlp wire=1.8
head -c 100 good.otlp > cut
"$tool" check cut good.otlp missing old.otlp > out 2> err
equal "exit status" 3 $?
equal "files that were looked at" 2 "$(grep -c ' looked at: ' out)"
grep -q '^good.otlp: .*: ok$' out || bad "$(cat out)"
equal "lines on standard error" 2 "$(wc -l < err)"
equal "files that were not" "cut missing" "$(sed -n 's/^otelprof: \([a-z]*\): offset [0-9]*.*: ..*/\1/p' err | xargs)"
end

begin "other formats are checked as what they say in OTLP"
"$python" "$here/otlp_gen.py" good good.otlp
for name in good.jsonl good.pb good.pb.gz good.otep239; do
    "$tool" convert -o $name good.otlp 2> /dev/null
    "$tool" check $name > out 2> err
    equal "exit status of $name" 0 $?
    equal "standard error of $name" "" "$(cat err)"
    case $name in *.jsonl) what=OTLP/JSON ;; *.pb*) what=pprof ;; *) what=OTEP-0239 ;; esac
    grep -q "^$name ($what.*, as OTLP): .*[1-9][0-9]* samples.* looked at: ok\$" out || bad "$(cat out)"
done
"$tool" convert -o bad.jsonl "$work/broken/strict.negative_cpu.otlp" 2> /dev/null
"$tool" check --strict bad.jsonl > out
equal "exit status of a negative value as JSON" 1 $?
grep -q 'values\[0\]: -5 is negative' out || bad "$(cat out)"
head -c 100 good.pb > cut.pb
"$tool" check cut.pb good.pb > out 2> err
equal "exit status of a cut pprof" 3 $?
one_line err "otelprof: cut.pb: offset "
grep -q '^good.pb .*: ok$' out || bad "$(cat out)"
end

begin "only so many violations are shown, all are counted"
"$tool" check -n 2 "$work/broken/base.zero_of_strings.otlp" "$work/broken/base.no_profiles.otlp" > out
equal "violations shown" 2 "$(grep -c 'table\|profiles: ' out)"
grep -q 'not shown' out || bad "$(cat out)"
end
finish
