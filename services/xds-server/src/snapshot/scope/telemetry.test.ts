import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Graph } from "@flotilla/incremental";
import type { Config } from "@flotilla/model";
import type { JsonObject } from "@flotilla/proto";
import { aConfig, aSidecar, put } from "../../testing/mesh.ts";
import { decodeSpec } from "../config-specs.ts";
import { rowIndexes } from "../indexes/index.ts";
import type { Subject } from "../subject.ts";
import type { ViewQuery } from "../view.ts";
import { World } from "../world.ts";
import {
  effectiveAccessLogging,
  effectiveMetrics,
  effectiveTracing,
  type TelemetryScope,
  type TrafficSide,
  telemetryScope,
} from "./telemetry.ts";

const mesh = (defaultProviders: JsonObject = {}) =>
  aConfig("MeshConfig", "istio-system", "istio", {
    rootNamespace: "istio-system",
    extensionProviders: [{ name: "prom", prometheus: {} }],
    defaultProviders,
  });

/** The answer for a sidecar of namespace shop whose workload has the label `app: web`. */
function answer<Result>(
  query: ViewQuery<TelemetryScope, Result>,
  side: TelemetryScope,
  configs: readonly Config[],
): Result {
  const graph = new Graph<Subject>();
  const world = new World(graph, { indexes: rowIndexes, decode: decodeSpec });
  assert.deepEqual(world.apply(put(...configs)), []);
  return graph.evaluate(query, side, { proxy: aSidecar("shop"), targets: [] });
}

const providers = (...names: readonly string[]) => ({ providers: names.map((name) => ({ name })) });
const ofMesh = (spec: JsonObject) => aConfig("Telemetry", "istio-system", "mesh", spec);
const ofNamespace = (spec: JsonObject) => aConfig("Telemetry", "shop", "namespace", spec);
const ofWorkload = (spec: JsonObject) =>
  aConfig("Telemetry", "shop", "workload", { ...spec, selector: { matchLabels: { app: "web" } } });

describe("access logs", () => {
  const namesOf = (...configs: readonly Config[]) =>
    answer(effectiveAccessLogging, telemetryScope("inbound"), [mesh(), ...configs])?.map(
      ({ name, filter }) => name + filter,
    );
  const cases: readonly { name: string; configs: readonly Config[]; want: readonly string[] | undefined }[] = [
    { name: "no Telemetry", configs: [], want: undefined },
    {
      name: "the narrowest that names providers decides which",
      configs: [ofMesh({ accessLogging: [providers("a")] }), ofNamespace({ accessLogging: [providers("c", "b")] })],
      want: ["b", "c"],
    },
    {
      name: "a narrower one switches off what a wider one names",
      configs: [ofMesh({ accessLogging: [providers("a")] }), ofWorkload({ accessLogging: [{ disabled: true }] })],
      want: [],
    },
    {
      name: "what is said of the other side does not count",
      configs: [ofMesh({ accessLogging: [{ ...providers("a"), match: { mode: "CLIENT" } }] })],
      want: undefined,
    },
    {
      name: "a filter belongs to the providers beside it",
      configs: [ofNamespace({ accessLogging: [{ ...providers("a"), filter: { expression: "x" } }, providers("b")] })],
      want: ["ax", "b"],
    },
  ];
  for (const { name, configs, want } of cases) it(name, () => assert.deepEqual(namesOf(...configs), want));

  it("rules for the other side alone put the mesh's file in the place of default providers", () => {
    const defaults = mesh({ accessLogging: ["als"] });
    const ofServer = ofWorkload({ accessLogging: [{ ...providers("json"), match: { mode: "SERVER" } }] });
    assert.equal(answer(effectiveAccessLogging, telemetryScope("outbound"), [defaults, ofServer]), undefined);
    assert.deepEqual(
      answer(effectiveAccessLogging, telemetryScope("outbound"), [defaults])?.map(({ name }) => name),
      ["als"],
    );
  });
});

describe("tags of traces", () => {
  const tag = (name: string) => ({ customTags: { [name]: { literal: { value: "v" } } } });
  const rules = (...tracing: JsonObject[]) => ({ tracing });
  const none = { customTags: {} };
  const cases: readonly {
    name: string;
    configs: readonly Config[];
    side?: TrafficSide;
    want: readonly string[] | undefined;
  }[] = [
    { name: "of the narrowest that has any", configs: [ofMesh(rules(tag("a"))), ofNamespace(rules({}))], want: ["a"] },
    {
      name: "of the narrowest alone",
      configs: [ofMesh(rules(tag("a"))), ofNamespace(rules(tag("b")))],
      want: ["b"],
    },
    {
      name: "none where a narrower one has an empty map",
      configs: [ofMesh(rules(tag("a"))), ofWorkload(rules(none))],
      want: undefined,
    },
    {
      name: "none where the empty map has the field's older spelling",
      configs: [ofMesh(rules(tag("a"))), ofWorkload(rules({ custom_tags: {} }))],
      want: undefined,
    },
    {
      name: "of wider ones where a narrower one has null",
      configs: [ofMesh(rules(tag("a"))), ofWorkload(rules({ customTags: null }))],
      want: ["a"],
    },
    {
      name: "of wider ones on the side that the empty map is not for",
      configs: [
        ofMesh(rules(tag("a"))),
        ofWorkload(rules({ match: { mode: "CLIENT" } }, { match: { mode: "SERVER" }, ...none })),
      ],
      side: "outbound",
      want: ["a"],
    },
    {
      name: "those of a still narrower one",
      configs: [ofMesh(rules(tag("a"))), ofNamespace(rules(none)), ofWorkload(rules(tag("c")))],
      want: ["c"],
    },
  ];
  for (const { name, configs, side = "inbound", want } of cases)
    it(name, () => {
      const { customTags } = answer(effectiveTracing, telemetryScope(side), [mesh(), ...configs]);
      assert.deepEqual(customTags && Object.keys(customTags), want);
    });
});

describe("metrics", () => {
  const found = (side: TrafficSide, ...overrides: readonly JsonObject[]) =>
    answer(effectiveMetrics, telemetryScope(side), [
      mesh(),
      ofNamespace({ metrics: [{ ...providers("prom"), overrides: [...overrides] }] }),
    ]);

  it("there are none without a provider", () => {
    assert.equal(answer(effectiveMetrics, telemetryScope("inbound"), [mesh()]), undefined);
    assert.deepEqual(answer(effectiveMetrics, telemetryScope("inbound"), [mesh({ metrics: ["prom"] })])?.metrics, []);
  });
  it("all of them off leaves nothing, one of them on again leaves them", () => {
    const off = { match: { metric: "ALL_METRICS" }, disabled: true };
    assert.equal(found("inbound", off), undefined);
    const on = { match: { metric: "REQUEST_COUNT" }, disabled: false };
    assert.deepEqual(
      found("inbound", off, on)?.metrics.map(({ key }) => key),
      ["REQUEST_COUNT"],
    );
  });
  it("the last word on a tag counts", () => {
    const match = { metric: "REQUEST_COUNT" };
    const set = { match, tagOverrides: { a: { value: "1" }, b: { value: "2" } } };
    const unset = { match, tagOverrides: { a: { operation: "REMOVE" } } };
    const [metric] = found("outbound", set, unset)?.metrics ?? [];
    assert.deepEqual(metric, { key: "REQUEST_COUNT", isDropped: false, tags: { b: "2" }, removedTags: ["a"] });
  });
  it("overrides for one side leave the other as it is", () => {
    const drop = { match: { metric: "REQUEST_SIZE", mode: "SERVER" }, disabled: true };
    assert.equal(found("inbound", drop)?.metrics[0]?.isDropped, true);
    assert.deepEqual(found("outbound", drop)?.metrics, []);
  });
});
