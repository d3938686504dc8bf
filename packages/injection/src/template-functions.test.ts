import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { templateFunctions } from "./template-functions.ts";

type Call = readonly [name: string, args: readonly unknown[], result: unknown];

const containers = [
  { name: "app", ports: [{ containerPort: 80 }, { containerPort: 53, protocol: "UDP" }] },
  { name: "istio-proxy", ports: [{ containerPort: 15090 }] },
];
const multus = '[{"name": "a"}]';
const calls: readonly Call[] = [
  ["annotation", [{ annotations: { a: "own" } }, "a", 7], "own"],
  ["annotation", [{ annotations: { a: "own" } }, "b", 7], "7"],
  ["annotation", [{}, "toString", "no"], "no"],
  ["isset", [{ a: undefined }, "a"], true],
  ["isset", [{}, "toString"], false],
  ["isset", [[], "0"], false],
  ["valueOrDefault", ["", "d"], "d"],
  ["valueOrDefault", [0, "d"], 0],
  ["valueOrDefault", [undefined, "d"], "d"],
  ["valueOrDefault", ["v", "d"], "v"],
  ["toYaml", [{ b: [1], a: "x" }], "a: x\nb:\n  - 1"],
  ["toJSON", [{ b: 1 }], '{"b":1}'],
  ["fromJSON", ['{"b":1}'], { b: 1 }],
  ["fromJSON", [""], null],
  ["fromJSON", [undefined], null],
  ["fromJSON", ["{"], "{}"],
  ["toJSON", [{ b: "<&>", a: 1 }], '{"a":1,"b":"\\u003c\\u0026\\u003e"}'],
  ["toJSON", [undefined], "{}"],
  ["structToJSON", [undefined], "{}"],
  ["structToJSON", [{ a: 1 }], '{"a":1}'],
  ["protoToJSON", [{ drainDuration: "45s", b: 1, a: null, concurrency: 9 }], '{"b":1,"concurrency":9}'],
  ["toJsonMap", [{ b: "1", a: "2" }, { b: "3" }, "no map"], '{"a":"2","b":"3"}'],
  ["indent", [2, "a\nb"], "a\n  b"],
  ["toLower", ["AbC"], "abc"],
  ["strdict", ["a", 1, "b"], { a: 1, b: "" }],
  ["omitNil", [{ a: null, b: { c: null }, d: { e: 1, f: null }, g: [null] }], { d: { e: 1 }, g: [null] }],
  ["omitNil", ["text"], "text"],
  ["omitNil", [null], null],
  ["directory", ["/a/b/c"], "/a/b/"],
  ["directory", ["/c"], "/"],
  ["directory", ["c"], ""],
  ["mergeMaps", [{ a: 1, b: 2 }, { b: 3 }], { a: 1, b: 3 }],
  ["omit", [{ a: 1, b: 2, c: 3 }, "a", "c"], { b: 2 }],
  ["env", ["HOME", "d"], "d"],
  ["formatDuration", ["90s"], "1m30s"],
  ["formatDuration", ["7200.5s"], "2h0m0.5s"],
  ["formatDuration", ["0.25s"], "250ms"],
  ["formatDuration", ["45s"], "45s"],
  ["formatDuration", [undefined], "0s"],
  ["includeInboundPorts", [containers], "80,15090"],
  ["applicationPorts", [containers], "80"],
  ["kubevirtInterfaces", ["eth0"], "eth0"],
  ["excludeInterfaces", [undefined], ""],
  ["excludeInboundPort", [15020, "80, 90"], "80,90,15020"],
  ["excludeInboundPort", [15020, ""], "15020"],
  ["excludeInboundPort", [15020, undefined], "15020"],
  ["excludeInboundPort", [15020, "80,15020"], "80,15020"],
  ["excludeInboundPort", [0, "80"], "80"],
  ["excludeInboundPort", ["", "80"], "80"],
  ["appendMultusNetwork", ["", "istio-cni"], "istio-cni"],
  ["appendMultusNetwork", [undefined, "istio-cni"], "istio-cni"],
  ["appendMultusNetwork", ["a", "istio-cni"], "a, istio-cni"],
  ["appendMultusNetwork", [multus, "istio-cni"], '[{"name": "a"}, {"name": "istio-cni"}]'],
  [
    "appendMultusNetwork",
    [multus, "default/istio-cni"],
    '[{"name": "a"}, {"name": "istio-cni", "namespace": "default"}]',
  ],
  ["appendMultusNetwork", ['[{"name": "istio-cni"}]', "istio-cni"], '[{"name": "istio-cni"}]'],
  ["appendMultusNetwork", [" [open", "istio-cni"], " [open, istio-cni"],
  ["appendMultusNetwork", ["open]", "istio-cni"], "open]"],
  ["appendMultusNetwork", ["a, istio-cni", "istio-cni"], "a, istio-cni"],
  [
    "appendMultusNetwork",
    ['[{"name": "istio-cni", "namespace": "a"}]', "b/istio-cni"],
    '[{"name": "istio-cni", "namespace": "a"}, {"name": "istio-cni", "namespace": "b"}]',
  ],
];

describe("functions of templates", () => {
  for (const [name, args, result] of calls)
    it(`${name} of ${JSON.stringify(args)}`, () => assert.deepEqual(templateFunctions[name]?.(...args), result));
});
