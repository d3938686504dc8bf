/** Functions of sprig, as its documentation has them: an expression of a template and what it prints. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseTemplate } from "../template.ts";
import { sprigFunctions } from "./index.ts";

const data = {
  list: ["b", "a"],
  mixed: ["b", null, 1],
  nothing: null,
  map: { z: 1, a: 2, deep: { x: "y" } },
  empty: {},
};

const render = (expression: string) =>
  parseTemplate(`{{ ${expression} }}`, { functions: sprigFunctions }).execute(data);

const tables: Readonly<Record<string, readonly (readonly [expression: string, prints: string])[]>> = {
  texts: [
    ['title "hello big world"', "Hello Big World"],
    ['untitle "Hello Big World"', "hello big world"],
    ['trimAll "-x" "x-ax-x"', "a"],
    ['trimall "$" "$5.00$"', "5.00"],
    ['trimPrefix "a-" "a-b"', "b"],
    ['trimPrefix "c-" "a-b"', "a-b"],
    ['trimSuffix "-b" "a-b"', "a"],
    ['trimSuffix "-c" "a-b"', "a-b"],
    ['trunc 2 "abc"', "ab"],
    ['trunc -2 "abc"', "bc"],
    ['trunc -3 "abc"', "abc"],
    ['trunc -5 "abc"', "abc"],
    ['substr 1 3 "abcde"', "bc"],
    ['substr 0 2 "abcde"', "ab"],
    ['substr -1 2 "abcde"', "ab"],
    ['substr -1 -2 "abcde"', ""],
    ['substr 2 -1 "abcde"', "cde"],
    ['substr 2 0 "abcde" | len', "0"],
    ['substr 2 9 "abcde"', "cde"],
    ['substr 2 5 "abcde"', "cde"],
    ['repeat 3 "ab"', "ababab"],
    ['repeat -1 "ab"', ""],
    ['nospace " a b\tc "', "abc"],
    ['replace "a" "$&" "banana"', "b$&n$&n$&"],
    ['indent 2 "a\\nb"', "  a\n  b"],
    ['nindent 2 "a"', "\n  a"],
  ],
  "words and lists of texts": [
    ['snakecase "HelloBigWorld"', "hello_big_world"],
    ['kebabcase "HelloBig World_now"', "hello-big-world-now"],
    ['camelcase "hello_big world"', "HelloBigWorld"],
    ['camelcase "_hello-"', "Hello"],
    ['plural "one" "many" 1', "one"],
    ['plural "one" "many" 2', "many"],
    ['plural "one" "many" 0', "many"],
    ["sortAlpha .list", "[a b]"],
    ["toStrings .mixed | len", "3"],
    ['join "," .mixed', "b,1"],
    ['join "," 7', "7"],
    ['splitList "," "a,b" | len', "2"],
    ['(split "," "a,b")._1', "b"],
    ["quote 1 .nothing .list", '"1" "[b a]"'],
    ["squote .nothing 2", "'2'"],
    ["cat .nothing 1 .list", "1 [b a]"],
    ["toString .nothing", ""],
  ],
  "regular expressions": [
    ['regexMatch "^a+$" "aa"', "true"],
    ['regexMatch "^a+$" "ab"', "false"],
    ['regexFind "[0-9]+" "a12b3"', "12"],
    ['regexFind "x" "abc" | len', "0"],
    ['regexFindAll "[0-9]" "1a2b3" -1 | join ","', "1,2,3"],
    ['regexFindAll "[0-9]" "1a2b3" 2 | join ","', "1,2"],
    ['regexFindAll "[0-9]" "1a2b3" 0 | len', "0"],
    [`regexReplaceAll "a(x*)b" "-ab-axxb-" "\${1}W"`, "-W-xxW-"],
    ['regexReplaceAll "a(x*)b" "-ab-axxb-" "$1W"', "---"],
    [`regexReplaceAll "(?P<n>b)" "abc" "<\${n}$$\${m}>"`, "a<b$>c"],
    ['regexReplaceAll "b" "abc" "$7|"', "a|c"],
    ['regexReplaceAllLiteral "b" "abcb" "$1"', "a$1c$1"],
    ['regexSplit "z+" "pizza" -1 | join ","', "pi,a"],
    ['regexSplit "," "a,b,c" 2 | join "|"', "a|b,c"],
    ['regexSplit "," "a,b,c" 1 | join "|"', "a,b,c"],
    ['regexSplit "," "a,b,c" 0 | len', "0"],
    ['regexSplit "," "a,b,c" 9 | join "|"', "a|b|c"],
    ['regexQuoteMeta "1.2.3"', "1\\.2\\.3"],
  ],
  maps: [
    ['get .map "a"', "2"],
    ['get .map "b" | len', "0"],
    ['hasKey .map "z"', "true"],
    ['hasKey .map "b"', "false"],
    ['dict "a" 1 "b" | toJson', '{"a":1,"b":""}'],
    ['pluck "a" .map .empty .map | join ","', "2,2"],
    ['keys .map | join ","', "a,deep,z"],
    ['values (pick .map "a" "z") | join ","', "2,1"],
    ['omit .map "deep" | toJson', '{"a":2,"z":1}'],
    ['dig "deep" "x" "none" .map', "y"],
    ['dig "deep" "q" "none" .map', "none"],
    ['dig "z" "q" "none" .map', "none"],
    ['unset (dict "a" 1 "b" 2) "a" | toJson', '{"b":2}'],
    ['set (dict "a" 1) "a" 2 | toJson', '{"a":2}'],
    [
      'merge (dict "a" 1 "d" (dict "x" 1)) (dict "a" 2 "b" 3 "d" (dict "y" 2)) | toJson',
      '{"a":1,"b":3,"d":{"x":1,"y":2}}',
    ],
    ['mergeOverwrite (dict "a" 1 "b" 2) (dict "a" 3) | toJson', '{"a":3,"b":2}'],
    ['mergeOverwrite (dict "a" 1) (dict "a" "" "b" "") | toJson', '{"a":1,"b":""}'],
    ["deepCopy .map | toJson", '{"a":2,"deep":{"x":"y"},"z":1}'],
  ],
  numbers: [
    ['int "7"', "7"],
    ['int "seven"', "0"],
    ["int true", "1"],
    ["int false", "0"],
    ["int .nothing", "0"],
  ],
};

for (const [area, cases] of Object.entries(tables))
  describe(`sprig's ${area}`, () => {
    for (const [expression, prints] of cases)
      it(`${expression} prints ${JSON.stringify(prints)}`, () => assert.equal(render(expression), prints));
  });

const wrong: readonly (readonly [expression: string, message: RegExp])[] = [
  ["upper 7", /expected string/],
  ["sortAlpha 7", /expected list/],
  ['get 7 "a"', /expected map/],
  ['set 7 "a" 1', /expected map/],
];
describe("values of a wrong type", () => {
  for (const [expression, message] of wrong)
    it(`are refused: ${expression}`, () => assert.throws(() => render(expression), message));
});
