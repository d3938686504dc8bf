/** Warnings of analysis, from changes as they come over the bus. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConfigChange, KubeObject, Service, ServiceChange } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import { MeshReviews } from "./mesh-reviews.ts";

const servers = [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["*"] }];
const front = { kind: "Gateway", namespace: "shop", name: "front" };
const put: ConfigChange = {
  ...{ type: "config", op: "put", key: front },
  value: { key: front, labels: {}, annotations: {}, creationTimeMs: 0, spec: { servers } },
};
const remove: ConfigChange = { type: "config", op: "delete", key: front };

function service(name: string, shard = "Kubernetes/one"): ServiceChange & { readonly op: "put" } {
  const key = { shard, hostname: `${name}.shop.svc.cluster.local`, namespace: "shop", name };
  const value: Service = {
    ...{ hostname: key.hostname, namespace: "shop", name, labels: {}, meshExternal: false, defaultAddress: "10.0.0.1" },
    ...{ clusterVips: {}, creationTimeMs: 0, serviceAccounts: [], definedBy: "" },
    registry: "Kubernetes",
    resolution: "client-side",
    exportTo: ["*"],
    ports: [{ name: "http", number: 80, protocol: "HTTP" }],
  };
  return { type: "service", op: "put", key, value };
}

function route(annotations: Readonly<Record<string, string>> = {}): KubeObject {
  return {
    ...{ apiVersion: "networking.istio.io/v1", kind: "VirtualService" },
    metadata: { name: "a", namespace: "shop", annotations },
    spec: { hosts: ["a.example.com"], gateways: ["front"], http: [{ route: [{ destination: { host: "a" } }] }] },
  };
}

function reviewsOf(maxObjects: number) {
  const logged: string[] = [];
  const log = { ...noopLogger, warn: (event: string) => void logged.push(event) };
  // Time stands still: on a busy machine a review may take longer than its budget.
  return { reviews: new MeshReviews(maxObjects, log, () => 0), logged };
}

describe("warnings of analysis", () => {
  it("begin when the whole configuration was received, and follow it", () => {
    const { reviews } = reviewsOf(10);
    assert.deepEqual(reviews.warningsOf(route()), []);
    reviews.begin();
    const [first = ""] = reviews.warningsOf(route());
    assert.match(first, /^spec\.gateways\[0\]: .*front.* \[IST0101\]$/);
    reviews.note(put);
    assert.deepEqual(reviews.warningsOf(route()), []);
    reviews.note(remove);
    assert.equal(reviews.warningsOf(route())[0], first);
  });

  it("leave out what the object suppresses, and what is no object of a known kind", () => {
    const { reviews } = reviewsOf(10);
    reviews.begin();
    assert.deepEqual(reviews.warningsOf(route({ "galley.istio.io/analyze-suppress": "*" })), []);
    assert.deepEqual(reviews.warningsOf({ apiVersion: "v1", kind: "Unknown", metadata: { name: "a" } }), []);
  });

  it("end, with a line in the log, where the mesh is larger than the bound", () => {
    const { reviews, logged } = reviewsOf(1);
    reviews.begin();
    reviews.note(put);
    const other = { ...front, name: "other" };
    reviews.note({ ...put, key: other, value: { ...put.value, key: other } });
    assert.deepEqual([reviews.warningsOf(route()), logged.length], [[], 1]);
    reviews.note(remove);
    assert.deepEqual([reviews.warningsOf(route()), logged.length], [[], 1]);
  });

  it("look hosts up once services are published", () => {
    const { reviews } = reviewsOf(10);
    const codes = () => reviews.warningsOf(route()).map((text) => text.replace(/:.*\[/, ": ["));
    const host = "spec.http[0].route[0].destination.host: [IST0101]";
    reviews.begin();
    reviews.note(put);
    reviews.beginServices();
    assert.deepEqual(codes(), []);
    reviews.noteService(service("b"));
    assert.deepEqual(codes(), [host]);
    reviews.noteService(service("a"));
    assert.deepEqual(codes(), []);
    reviews.noteService(service("a", "Kubernetes/two"));
    const removeFrom = (shard: string) =>
      reviews.noteService({ type: "service", op: "delete", key: service("a", shard).key });
    removeFrom("Kubernetes/one");
    assert.deepEqual(codes(), [], "the other cluster has it");
    removeFrom("Kubernetes/two");
    assert.deepEqual(codes(), [host]);
  });

  it("are off with a bound of 0", () => {
    const { reviews } = reviewsOf(0);
    reviews.begin();
    reviews.note(put);
    assert.deepEqual(reviews.warningsOf(route()), []);
  });
});
