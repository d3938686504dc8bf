import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { problemText } from "../problem.ts";
import { validateSemantics } from "./validate-semantics.ts";

function virtualService(spec: object): Readonly<Record<string, unknown>> {
  return { apiVersion: "networking.istio.io/v1", kind: "VirtualService", metadata: { name: "a" }, spec };
}
const matching = (match: object) => virtualService({ hosts: ["a"], http: [{ match: [match] }] });
const to = (host: string, weight?: number) => ({ destination: { host }, ...(weight !== undefined && { weight }) });

const cases: readonly {
  name: string;
  object: Readonly<Record<string, unknown>>;
  problems: readonly RegExp[];
}[] = [
  { name: "an expression that compiles", object: matching({ uri: { regex: "/v[0-9]+(/.*)?" } }), problems: [] },
  {
    name: "an open bracket in a path",
    object: matching({ uri: { regex: "/([" } }),
    problems: [/^spec\.http\[0\]\.match\[0\]\.uri\.regex: is no regular expression of RE2: .*missing closing \]/],
  },
  {
    name: "what backtracking engines have and RE2 lacks",
    object: matching({ headers: { "x-user": { regex: "(?=a)b" } }, queryParams: { q: { regex: "(a)\\1" } } }),
    problems: [/match\[0\]\.headers\[x-user\]\.regex: /, /match\[0\]\.queryParams\[q\]\.regex: /],
  },
  {
    name: "expressions of rewrites and origins",
    object: virtualService({
      http: [
        { rewrite: { uriRegexRewrite: { match: "[", rewrite: "" } }, corsPolicy: { allowOrigins: [{ regex: "*" }] } },
      ],
    }),
    problems: [/corsPolicy\.allowOrigins\[0\]\.regex: /, /rewrite\.uriRegexRewrite\.match: /],
  },
  {
    name: "weights that make more or less than 100",
    object: virtualService({ http: [{ route: [to("a", 300), to("b", 5)] }, { route: [to("a", 1), to("b", 2)] }] }),
    problems: [],
  },
  {
    name: "several destinations of which none gets anything",
    object: virtualService({ http: [{ route: [to("a", 0), to("b")] }], tcp: [{ route: [to("a"), to("b")] }] }),
    problems: [/^spec\.http\[0\]\.route: no destination/, /^spec\.tcp\[0\]\.route: no destination/],
  },
  { name: "one destination needs no weight", object: virtualService({ http: [{ route: [to("a")] }] }), problems: [] },
  {
    name: "another group's kind of that name",
    object: {
      apiVersion: "example.com/v1",
      kind: "VirtualService",
      spec: { http: [{ match: [{ uri: { regex: "[" } }] }] },
    },
    problems: [],
  },
];

describe("validateSemantics", () => {
  for (const { name, object, problems } of cases) {
    it(name, () => {
      const found = validateSemantics(object).map(problemText);
      assert.equal(found.length, problems.length, found.join("\n"));
      for (const [i, pattern] of problems.entries()) assert.match(found[i] ?? "", pattern);
    });
  }
});
