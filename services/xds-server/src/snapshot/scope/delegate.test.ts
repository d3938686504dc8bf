import assert from "node:assert/strict";
import { test } from "node:test";
import { fromJson, type JsonObject } from "@flotilla/proto";
import { HTTPMatchRequestSchema, HTTPRouteSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { conflicts, mergeDelegateRoutes, mergeMatches } from "./delegate.ts";

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

const inherited: readonly (readonly [field: string, root: JsonObject, leaf: JsonObject])[] = [
  ["rewrite", { uri: "/root" }, { uri: "/leaf" }],
  ["timeout", "5s" as never, "1s" as never],
  ["retries", { attempts: 3 }, { attempts: 1 }],
  ["fault", { abort: { httpStatus: 500 } }, { abort: { httpStatus: 400 } }],
  ["mirror", { host: "root" }, { host: "leaf" }],
  ["mirrorPercentage", { value: 10 }, { value: 20 }],
  ["mirrors", [{ destination: { host: "root" } }] as never, [{ destination: { host: "leaf" } }] as never],
  ["corsPolicy", { allowMethods: ["GET"] }, { allowMethods: ["PUT"] }],
  ["headers", { request: { set: { a: "root" } } }, { request: { set: { a: "leaf" } } }],
];
for (const [field, ofRoot, ofLeaf] of inherited)
  test(`${field} of a delegate's route is its own, else the root's`, () => {
    const merged = (leaf: JsonObject) => {
      const [route] = mergeDelegateRoutes(fromJson(HTTPRouteSchema, { delegate: { name: "l" }, [field]: ofRoot }), [
        fromJson(HTTPRouteSchema, { route: [{ destination: { host: "v1" } }], ...leaf }),
      ]);
      return route?.[field as "timeout"];
    };
    const read = (value: JsonObject) => fromJson(HTTPRouteSchema, { [field]: value })[field as "timeout"];
    assert.deepEqual(merged({}), read(ofRoot));
    assert.deepEqual(merged({ [field]: ofLeaf }), read(ofLeaf));
  });

test("names of root and delegate are joined where both have one", () => {
  const named = (root: string, leaf: string) =>
    mergeDelegateRoutes(fromJson(HTTPRouteSchema, { name: root, delegate: { name: "l" } }), [
      fromJson(HTTPRouteSchema, { name: leaf }),
    ])[0]?.name;
  assert.deepEqual([named("a", "b"), named("a", ""), named("", "b"), named("", "")], ["a-b", "a", "b", ""]);
});

const [api, deep, other] = [{ uri: { prefix: "/api" } }, { uri: { prefix: "/api/v1" } }, { uri: { prefix: "/x" } }];
const matchCases: readonly { name: string; roots: JsonObject[]; leaves: JsonObject[]; want: string[] | undefined }[] = [
  { name: "all of the delegate's, where the root has none", roots: [], leaves: [deep], want: ["/api/v1"] },
  { name: "all of the root's, where the delegate has none", roots: [api], leaves: [], want: ["/api"] },
  { name: "each pair that can be met", roots: [api, other], leaves: [deep], want: ["/api/v1"] },
  {
    name: "none, where one of the delegate's can be met with none",
    roots: [api],
    leaves: [deep, other],
    want: undefined,
  },
];
for (const { name, roots, leaves, want } of matchCases)
  test(`matches of a delegate: ${name}`, () => {
    const read = (list: readonly JsonObject[]) => list.map((one) => fromJson(HTTPMatchRequestSchema, one));
    const merged = mergeMatches(read(roots), read(leaves));
    assert.deepEqual(
      merged?.map(({ uri }) => uri?.matchType.value),
      want,
    );
  });
