import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TemplateError } from "./errors.ts";
import { sprigFunctions } from "./sprig/index.ts";
import { parseTemplate } from "./template.ts";
import { zero } from "./values.ts";

const struct = (fields: Readonly<Record<string, unknown>>) => ({ field: (name: string) => fields[name] });
const data = {
  name: "reviews",
  port: 9080,
  empty: "",
  on: true,
  nothing: null,
  list: ["a", "b", "c"],
  map: { z: 1, a: 2 },
  nested: { deep: { text: "x" } },
  pod: struct({ Name: "p", Labels: { app: "web" }, Unset: zero }),
  greet: (who: unknown) => `hello ${who}`,
};

const cases: readonly { name: string; text: string; want: string }[] = [
  { name: "text alone", text: "a\nb", want: "a\nb" },
  { name: "fields", text: "{{.name}}:{{ .nested.deep.text }}", want: "reviews:x" },
  { name: "trims blanks on both sides", text: "a \n {{- .name -}} \n b", want: "areviewsb" },
  { name: "a minus without a blank is a sign", text: "a {{-3}} b", want: "a -3 b" },
  { name: "comments", text: "a{{/* no */}}b {{- /* no\nnot here */ -}} c", want: "abc" },
  { name: "pipelines give their value as last argument", text: '{{ "b" | printf "%s-%s" "a" }}', want: "a-b" },
  { name: "raw texts and escapes", text: '{{ `a"b` }}{{ "\\t\\u0041\\x42" }}', want: 'a"b\tAB' },
  {
    name: "variables end with their block",
    text: "{{ $x := 1 }}{{ if true }}{{ $x := 2 }}{{ $x }}{{ end }}{{ $x }}",
    want: "21",
  },
  {
    name: "assignment reaches the outer variable",
    text: "{{ $x := 1 }}{{ if true }}{{ $x = 2 }}{{ end }}{{ $x }}",
    want: "2",
  },
  {
    name: "the dollar stays the root",
    text: "{{ with .nested }}{{ .deep.text }}{{ $.name }}{{ end }}",
    want: "xreviews",
  },
  { name: "if, else if, else", text: "{{ if .empty }}1{{ else if .nothing }}2{{ else }}3{{ end }}", want: "3" },
  { name: "with, else with", text: "{{ with .empty }}1{{ else with .name }}{{ . }}{{ end }}", want: "reviews" },
  { name: "range over a list", text: "{{ range $i, $x := .list }}{{ $i }}{{ $x }} {{ end }}", want: "0a 1b 2c " },
  {
    name: "range over a map, in order",
    text: "{{ range $k, $v := .map }}{{ $k }}={{ $v }} {{ end }}",
    want: "a=2 z=1 ",
  },
  { name: "range with one variable has the values", text: "{{ range $v := .map }}{{ $v }}{{ end }}", want: "21" },
  { name: "range over a number", text: "{{ range 3 }}{{ . }}{{ end }}", want: "012" },
  { name: "range over nothing", text: "{{ range .missing }}x{{ else }}none{{ end }}", want: "none" },
  {
    name: "break and continue",
    text: '{{ range .list }}{{ if eq . "a" }}{{ continue }}{{ end }}{{ . }}{{ break }}{{ end }}',
    want: "b",
  },
  {
    name: "define and template",
    text: '{{ define "t" }}<{{ . }}>{{ end }}{{ template "t" .name }}',
    want: "<reviews>",
  },
  { name: "block", text: '{{ block "t" .port }}[{{ . }}]{{ end }}', want: "[9080]" },
  {
    name: "missing keys, also of missing maps",
    text: "{{ .missing }} {{ .missing.more }}",
    want: "<no value> <no value>",
  },
  { name: "parenthesised fields", text: "{{ (.nested.deep).text }}{{ (index .list 1) }}", want: "xb" },
  {
    name: "and, or give the deciding value",
    text: '{{ and .name .empty }}|{{ or .empty .name }}|{{ or .empty "" }}',
    want: "|reviews|",
  },
  { name: "and looks no further than it must", text: '{{ and false (fail "no") }}', want: "false" },
  {
    name: "comparison",
    text: '{{ eq .port 1 9080 }}{{ ne 1 2 }}{{ lt "a" "b" }}{{ ge 2 2 }}{{ eq .missing nil }}',
    want: "truetruetruetruetrue",
  },
  {
    name: "index of lists, maps and missing keys",
    text: '{{ index .list 1 }}{{ index .map "z" }}[{{ index .map "no" }}]',
    want: "b1[]",
  },
  { name: "len and slice", text: '{{ len .list }}{{ len .map }}{{ len "é" }}{{ slice "abcd" 1 3 }}', want: "322bc" },
  {
    name: "structs",
    text: '{{ .pod.Name }}{{ index .pod.Labels "app" }}[{{ .pod.Unset }}{{ .pod.Unset.Any }}]',
    want: "pweb[]",
  },
  {
    name: "unset fields equal every zero",
    text: '{{ eq .pod.Unset "" }}{{ eq .pod.Unset false }}{{ not .pod.Unset }}',
    want: "truetruetrue",
  },
  { name: "functions in the data", text: '{{ .greet "you" }}{{ call .greet "me" }}', want: "hello youhello me" },
  {
    name: "printf",
    text: '{{ printf "%05d|%-4s|%4s|%q|%t|%.2f|%x|%v%%" 42 "a" "b" "c" true 1.5 255 .list }}',
    want: '00042|a   |   b|"c"|true|1.50|ff|[a b c]%',
  },
  { name: "printing lists and maps", text: "{{ .list }} {{ .map }} {{ .on }}", want: "[a b c] map[a:2 z:1] true" },
  { name: "html and urlquery", text: '{{ html "<a>" }} {{ urlquery "a b&c" }}', want: "&lt;a&gt; a+b%26c" },
];

const sprigCases: readonly { text: string; want: string }[] = [
  { text: '{{ "" | default "x" }}{{ "y" | default "x" }}', want: "xy" },
  { text: '{{ trunc 3 "abcdef" }}{{ trunc -2 "abcdef" }}', want: "abcef" },
  { text: '{{ "-a-." | trimAll "-." }}', want: "a" },
  { text: '{{ quote 1 "b" nil }}{{ squote "c" }}', want: `"1" "b"'c'` },
  { text: '{{ "a\\nb" | indent 2 }}{{ "c" | nindent 1 }}', want: "  a\n  b\n c" },
  { text: '{{ list 1 2 | join "," }}{{ append (list 1) 2 | len }}', want: "1,22" },
  { text: '{{ $d := dict "a" 1 }}{{ $d = set $d "b" 2 }}{{ keys $d | join "" }}{{ get $d "no" }}', want: "ab" },
  { text: '{{ omit (dict "a" 1 "b" 2) "a" | toJson }}', want: '{"b":2}' },
  { text: '{{ merge (dict "a" 1) (dict "a" 2 "b" 3) | toJson }}', want: '{"a":1,"b":3}' },
  { text: '{{ mergeOverwrite (dict "a" 1) (dict "a" 2) | toJson }}', want: '{"a":2}' },
  { text: '{{ ternary "y" "n" (contains "b" "abc") }}{{ coalesce "" "z" }}', want: "yz" },
  // biome-ignore lint/suspicious/noTemplateCurlyInString: it is Go's syntax
  { text: '{{ regexReplaceAll "a(x*)b" "-axxb-" "${1}W" }}', want: "-xxW-" },
  { text: '{{ splitList "/" "a/b" | last }}{{ (split "/" "a/b")._0 }}', want: "ba" },
  { text: '{{ add 1 2 3 }}{{ sub 5 2 }}{{ div 7 2 }}{{ max 1 9 }}{{ int "12" }}', want: "633912" },
  { text: '{{ (fromJson `{"a":[1]}`).a }}{{ b64enc "é" | b64dec }}', want: "[1]é" },
  { text: "{{ until 3 }}{{ uniq (list 1 1 2) }}{{ has 2 (list 1 2) }}", want: "[0 1 2][1 2]true" },
];

const failures: readonly { name: string; text: string; message: string }[] = [
  { name: "an unclosed action", text: "a\n{{ .name", message: "[TEMPLATE_SYNTAX] t:2: unclosed action" },
  { name: "a missing end", text: "a\n{{ if .name }}\n", message: "[TEMPLATE_SYNTAX] t:2: {{if}} has no {{end}}" },
  { name: "an end too many", text: "\n\n{{ end }}", message: "[TEMPLATE_SYNTAX] t:3: unexpected {{end}}" },
  {
    name: "an unclosed parenthesis",
    text: "{{ (len .list }}",
    message: "[TEMPLATE_SYNTAX] t:1: unclosed left parenthesis",
  },
  { name: "an empty action", text: "{{ if }}{{ end }}", message: "[TEMPLATE_SYNTAX] t:1: missing value for if" },
  {
    name: "break outside of range",
    text: "{{ break }}",
    message: "[TEMPLATE_SYNTAX] t:1: {{break}} outside of {{range}}",
  },
  {
    name: "an unknown function",
    text: "\n{{ nope 1 }}",
    message: '[TEMPLATE_SYNTAX] t:2: function "nope" not defined',
  },
  {
    name: "an unknown function in a branch that is not taken",
    text: "{{ if false }}{{ nope }}{{ end }}",
    message: '[TEMPLATE_SYNTAX] t:1: function "nope" not defined',
  },
  {
    name: "a function that is not supported",
    text: "{{ now }}",
    message: '[TEMPLATE_EXECUTION] t:1: error calling now: function "now" is not supported',
  },
  {
    name: "an unknown template",
    text: '{{ template "no" }}',
    message: '[TEMPLATE_EXECUTION] t:1: template "no" is not defined',
  },
  { name: "an undefined variable", text: "{{ $x }}", message: "[TEMPLATE_EXECUTION] t:1: undefined variable $x" },
  {
    name: "a field of a text",
    text: "{{ .name.x }}",
    message: "[TEMPLATE_EXECUTION] t:1: can't evaluate field x in string at <.name.x>",
  },
  {
    name: "a field that a struct lacks",
    text: "{{ .pod.No }}",
    message: "[TEMPLATE_EXECUTION] t:1: can't evaluate field No at <.pod.No>",
  },
  {
    name: "a failing function, in a later line",
    text: '{{ if\n true }}\n{{ fail "because" }}{{ end }}',
    message: "[TEMPLATE_EXECUTION] t:3: error calling fail: because",
  },
  {
    name: "an index out of range",
    text: "{{ index .list 3 }}",
    message: "[TEMPLATE_EXECUTION] t:1: error calling index: index out of range: 3",
  },
  {
    name: "values of two types compared",
    text: '{{ eq .port "x" }}',
    message: "[TEMPLATE_EXECUTION] t:1: error calling eq: incompatible types for comparison: number and string",
  },
  {
    name: "a template that calls itself",
    text: '{{ define "t" }}{{ template "t" }}{{ end }}{{ template "t" }}',
    message: '[TEMPLATE_EXECUTION] t:1: template "t" calls itself without end',
  },
  {
    name: "a text that is quoted again and again",
    text: `{{ "a" | toJson${" | toJson".repeat(40)} }}`,
    message: "[TEMPLATE_EXECUTION] t:1: toJson makes a text of more than 1000000 characters",
  },
  {
    name: "range over a text",
    text: "{{ range .name }}{{ end }}",
    message: "[TEMPLATE_EXECUTION] t:1: range can't iterate over string",
  },
];

describe("text/template", () => {
  for (const { name, text, want } of cases) {
    it(name, () => assert.equal(parseTemplate(text, { functions: sprigFunctions }).execute(data), want));
  }
});

describe("sprig functions", () => {
  for (const { text, want } of sprigCases) {
    it(text, () => assert.equal(parseTemplate(text, { functions: sprigFunctions }).execute(data), want));
  }
});

describe("mistakes", () => {
  for (const { name, text, message } of failures) {
    it(name, () => {
      const run = () => parseTemplate(text, { name: "t", functions: sprigFunctions }).execute(data);
      assert.throws(run, (error) => error instanceof TemplateError && error.message === message);
    });
  }
});
