/** Names of hosts, labels, gateways and namespaces. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  coveringWildcard,
  exportToProblems,
  gatewayNameProblems,
  hostReason,
  isDnsLabel,
  isPartialWildcard,
  labelsProblems,
  portNameProblems,
  protocolProblems,
  quoted,
  scopedHostProblems,
  splitOnce,
  subsetNameProblems,
  wildcardHostReason,
  wildcardsOf,
} from "./names.ts";
import { findings } from "./shared.fixture.ts";

const long = (count: number) => "a".repeat(count);

describe("hosts", () => {
  const labelsOf = (host: string, label: string) =>
    `${JSON.stringify(host)} is no host name: label ${JSON.stringify(label)}`;
  const cases: readonly (readonly [host: string, plain: string | undefined, wildcard?: string | null])[] = [
    ["a", undefined],
    ["a.example.com", undefined],
    ["a.example.com.", undefined],
    ["A-b.c", undefined],
    ["", "must not be empty", "must not be empty"],
    [".", labelsOf(".", ""), labelsOf(".", "")],
    ["a..b", labelsOf("a..b", ""), labelsOf("a..b", "")],
    ["-a.b", labelsOf("-a.b", "-a"), labelsOf("-a.b", "-a")],
    ["a-.b", labelsOf("a-.b", "a-"), labelsOf("a-.b", "a-")],
    ["a_b.c", labelsOf("a_b.c", "a_b"), labelsOf("a_b.c", "a_b")],
    [
      "a.1",
      '"a.1" is no host name: its last label must not be a number',
      '"a.1" is no host name: its last label must not be a number',
    ],
    ["1.a", undefined],
    ["*", labelsOf("*", "*"), null],
    ["*.example.com", labelsOf("*.example.com", "*"), null],
    ["*a.example.com", labelsOf("*a.example.com", "*a"), null],
    ["*-a.example.com", labelsOf("*-a.example.com", "*-a"), null],
    ["a.*.com", labelsOf("a.*.com", "*"), labelsOf("a.*.com", "*")],
    [`${long(63)}.a`, undefined],
    [
      `${long(64)}.a`,
      `a label of a host has at most 63 characters, "${long(64)}" has 64`,
      `a label of a host has at most 63 characters, "${long(64)}" has 64`,
    ],
    [Array(64).fill("aaa").join(".").slice(0, 253), undefined],
    [
      Array(64).fill("aaa").join("."),
      "a host has at most 253 characters, this one has 255",
      "a host has at most 253 characters, this one has 255",
    ],
  ];
  for (const [host, plain, wildcard] of cases)
    it(`${quoted(host)}: ${plain ?? "is good"}`, () => {
      assert.equal(hostReason(host), plain);
      assert.equal(wildcardHostReason(host), wildcard === null ? undefined : (wildcard ?? plain));
    });

  it("have wildcards of whole labels, or parts", () =>
    assert.deepEqual(["*", "*.a", "*a", "a.*", "a"].map(isPartialWildcard), [false, false, true, true, false]));

  const scoped: readonly (readonly [name: string, isGateway: boolean, expected: readonly string[]])[] = [
    ["*", true, []],
    ["*.a.b", true, []],
    ["a.b", false, []],
    ["10.0.0.1", true, []],
    ["10.0.0.1", false, ['x "10.0.0.1" is no host name: its last label must not be a number']],
    ["a", true, ['x "a" is a short name, write the whole one']],
    ["*a.b", true, ['x "*a.b": a wildcard is a whole label, as in *.example.com']],
    ["a_.b", true, ['x "a_.b" is no host name: label "a_"']],
  ];
  for (const [name, isGateway, expected] of scoped)
    it(`${name} ${isGateway ? "of a Gateway" : "of a Sidecar"}: ${expected[0] ?? "is good"}`, () =>
      assert.deepEqual(
        findings((at) => scopedHostProblems(at, name, isGateway), name),
        expected,
      ));

  const wildcards = wildcardsOf(["*.a.com", "*.b.a.com", "x.a.com", "*"]);
  for (const [host, expected] of [
    ["y.a.com", "*.a.com"],
    ["*.a.com", "*"],
    ["*.b.a.com", "*.a.com"],
    ["com", "*"],
    ["*", undefined],
  ] as const)
    it(`${host} is covered by ${expected}`, () => assert.equal(coveringWildcard(wildcards, host), expected));

  it("are covered by none without a wildcard that fits", () => {
    assert.equal(coveringWildcard(wildcardsOf(["*.a.com"]), "y.b.com"), undefined);
    assert.equal(coveringWildcard(wildcardsOf(["*.a.com"]), "a.com"), undefined);
    assert.equal(coveringWildcard(wildcardsOf(["y.a.com"]), "y.a.com"), undefined);
  });
});

describe("labels", () => {
  const cases: readonly (readonly [key: string, value: string, expected: readonly string[]])[] = [
    ["app", "web", []],
    ["app", "", []],
    ["example.com/app", "A-b_c.d", []],
    ["", "x", ['x.l[] "" is no name of a label']],
    ["-a", "x", ['x.l[-a] "-a" is no name of a label']],
    ["a-", "x", ['x.l[a-] "a-" is no name of a label']],
    ["/a", "x", ['x.l[/a] "/a" is no name of a label']],
    ["a/b/c", "x", ['x.l[a/b/c] "a/b/c" is no name of a label']],
    ["a_b/c", "x", ['x.l[a_b/c] "a_b/c" is no name of a label']],
    ["app", "a b", ['x.l[app] "a b" is no value of a label']],
    ["app", "-", ['x.l[app] "-" is no value of a label']],
    [long(63), long(63), []],
  ];
  for (const [key, value, expected] of cases)
    it(`${quoted(key)}: ${quoted(value)}`, () =>
      assert.deepEqual(
        findings((at) => labelsProblems(at, "l"), { l: { [key]: value } }),
        expected,
      ));

  it("have 63 characters at most", () => {
    const count = (key: string, value: string) =>
      findings((at) => labelsProblems(at, "l"), { l: { [key]: value } }).length;
    assert.deepEqual([count(long(64), "x"), count("x", long(64)), count(`${long(64)}/a`, "x")], [1, 1, 1]);
  });
});

describe("gateways of routes", () => {
  const cases: readonly (readonly [gateway: string, expected: readonly string[], isConverted?: boolean])[] = [
    ["mesh", []],
    ["shop/web", []],
    ["web.shop", ["(x.gateways[0] names with dots are an old form, write shop/web)"]],
    ["a_b", ['x.gateways[0] "a_b" is no host name: label "a_b"']],
    ["a_/web", ['x.gateways[0] "a_" is no name of a namespace']],
    ["shop/a_b", ['x.gateways[0] "a_b" is no name of a Gateway']],
    ["shop/a_b", [], true],
    ["shop/a/b", ['x.gateways[0] "a/b" is no name of a Gateway']],
  ];
  for (const [gateway, expected, isConverted] of cases)
    it(`${gateway}: ${expected[0] ?? "is good"}`, () =>
      assert.deepEqual(
        findings((at) => gatewayNameProblems(at, isConverted), { gateways: [gateway] }),
        expected,
      ));
});

describe("namespaces that an object is exported to", () => {
  const cases: readonly (readonly [given: readonly string[], expected: readonly string[], allowsNone?: boolean])[] = [
    [[], []],
    [["*"], []],
    [[".", "bank"], []],
    [[".", "shop"], ['x.exportTo[1] "shop" is exported to twice']],
    [["a_b"], ['x.exportTo[0] "a_b" is no name of a namespace']],
    [["*", "bank"], ["x.exportTo * stands for all namespaces and alone"]],
    [["~"], ['x.exportTo[0] "~" is no name of a namespace']],
    [["~"], [], true],
    [["~", "bank"], ["x.exportTo ~ stands for no namespace and alone"], true],
  ];
  for (const [given, expected, allowsNone] of cases)
    it(`${given.join(", ") || "none"}: ${expected[0] ?? "are good"}`, () =>
      assert.deepEqual(
        findings((at) => exportToProblems(at, "shop", allowsNone), { exportTo: given }),
        expected,
      ));
});

it("names of ports, subsets and protocols are bounded", () => {
  assert.deepEqual(["http-1", "A", "a_b", "", long(63), long(64)].map(isDnsLabel), [
    true,
    true,
    false,
    false,
    true,
    false,
  ]);
  assert.deepEqual(
    [findings(portNameProblems, "http"), findings(portNameProblems, "a b")],
    [[], ['x "a b" is no name of a port']],
  );
  assert.deepEqual(
    [findings(subsetNameProblems, "v1"), findings(subsetNameProblems, "")],
    [[], ['x "" is no name of a subset']],
  );
  assert.deepEqual(
    ["", "HTTP", "tcp", "GRPC-Web"].flatMap((text) => findings(protocolProblems, text)),
    [],
  );
  assert.match(findings(protocolProblems, "SMTP")[0] ?? "", /^x "SMTP" is no protocol such as HTTP/);
});

it("texts are split once, and cut where they are shown", () => {
  assert.deepEqual(
    [splitOnce("a/b/c", "/"), splitOnce("a", "/"), splitOnce("/a", "/")],
    [
      ["a", "b/c"],
      ["a", undefined],
      ["", "a"],
    ],
  );
  assert.deepEqual([quoted(long(80)), quoted(long(81))], [`"${long(80)}"`, `"${long(80)}…"`]);
});
