import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, type JsonObject } from "@flotilla/proto";
import { HTTPMatchRequestSchema, HTTPRouteSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { conflicts, mergeDelegateRoutes } from "./delegate.ts";

const conflictCases: readonly { name: string; root: JsonObject; leaf: JsonObject; want: boolean }[] = [
  {
    name: "a longer prefix narrows a shorter one",
    root: { uri: { prefix: "/api" } },
    leaf: { uri: { prefix: "/api/v1" } },
    want: false,
  },
  {
    name: "a shorter prefix does not",
    root: { uri: { prefix: "/api/v1" } },
    leaf: { uri: { prefix: "/api" } },
    want: true,
  },
  {
    name: "an expression cannot be compared with anything",
    root: { uri: { prefix: "/api" } },
    leaf: { uri: { regex: "/api.*" } },
    want: true,
  },
  { name: "what one side leaves open never conflicts", root: { port: 80 }, leaf: { uri: { exact: "/" } }, want: false },
  { name: "ports must agree", root: { port: 80 }, leaf: { port: 81 }, want: true },
  {
    name: "a delegate may not add gateways",
    root: { gateways: ["a"] },
    leaf: { gateways: ["a", "mesh"] },
    want: true,
  },
];

for (const { name, root, leaf, want } of conflictCases) {
  test(name, () => {
    const [a, b] = [fromJson(HTTPMatchRequestSchema, root), fromJson(HTTPMatchRequestSchema, leaf)];
    assert.equal(conflicts(a, b), want);
  });
}

test("a delegate's route inherits what it leaves open and keeps what it says", () => {
  const root = fromJson(HTTPRouteSchema, {
    name: "root",
    match: [{ uri: { prefix: "/api" } }],
    timeout: "5s",
    retries: { attempts: 3 },
    delegate: { name: "leaf" },
  });
  const leaf = fromJson(HTTPRouteSchema, {
    name: "leaf",
    match: [{ uri: { prefix: "/api/v1" }, method: { exact: "GET" } }],
    timeout: "1s",
    route: [{ destination: { host: "v1" } }],
  });
  const [merged] = mergeDelegateRoutes(root, [leaf]);
  assert.equal(merged?.name, "root-leaf");
  assert.equal(merged?.timeout?.seconds, 1n);
  assert.equal(merged?.retries?.attempts, 3);
  assert.equal(merged?.match[0]?.uri?.matchType.value, "/api/v1");
});

test("a route whose match the root excludes is left out", () => {
  const root = fromJson(HTTPRouteSchema, { match: [{ uri: { prefix: "/a" } }], delegate: { name: "leaf" } });
  const leaf = fromJson(HTTPRouteSchema, { match: [{ uri: { prefix: "/b" } }] });
  assert.deepEqual(mergeDelegateRoutes(root, [leaf]), []);
});
