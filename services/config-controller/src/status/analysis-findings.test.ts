/** The findings of analysis follow the published objects, and are for their status. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Config, Service, ServiceChange } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import type { PublishedListener, PublishedObject } from "../follow/published-config.ts";
import { AnalysisFindings } from "./analysis-findings.ts";

function route(name: string, annotations: Readonly<Record<string, string>> = {}): Config {
  const spec = { hosts: ["reviews"], gateways: ["lost"], http: [{ route: [{ destination: { host: "reviews" } }] }] };
  return { key: { kind: "VirtualService", namespace: "shop", name }, labels: {}, annotations, creationTimeMs: 0, spec };
}

const gateway: Config = {
  key: { kind: "Gateway", namespace: "shop", name: "lost" },
  labels: {},
  annotations: {},
  creationTimeMs: 0,
  spec: { servers: [{ port: { number: 80, name: "http", protocol: "HTTP" }, hosts: ["reviews"] }] },
};

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

/** Published objects that a test changes by hand. */
function publishedBy(baseline: readonly Config[]) {
  const listeners: PublishedListener[] = [];
  const published = {
    *all(): Generator<PublishedObject> {
      for (const config of baseline) yield { key: config.key, config, position: 1 } as unknown as PublishedObject;
    },
    listen: (listener: PublishedListener) => {
      listeners.push(listener);
      return () => undefined;
    },
  };
  return {
    published,
    begin: () => {
      for (const one of listeners) one.onBaseline([]);
    },
    change: (before: Config | undefined, after: Config | undefined) => {
      const key = (after ?? before)?.key;
      assert.ok(key !== undefined);
      const generation = { position: 2, changes: [{ key, before, after }] } as unknown as Parameters<
        PublishedListener["onGeneration"]
      >[0];
      for (const one of listeners) one.onGeneration(generation);
    },
  };
}

const found = (check: () => boolean) => until(check, { withinMs: 10_000, what: "the findings of a change" });

describe("findings of analysis for the status", () => {
  it("follow objects as they come and go", async () => {
    const { published, begin, change } = publishedBy([
      route("a"),
      route("quiet", { "galley.istio.io/analyze-suppress": "*" }),
    ]);
    const findings = new AnalysisFindings({ published, maxServices: 10, log: noopLogger });
    const stop = new AbortController();
    const noted: string[] = [];
    const running = findings.run((objects) => noted.push(...objects), stop.signal);
    begin();
    const reasons = () => findings.of("VirtualService/shop/a").map(({ field, reason }) => `${field}: ${reason}`);
    await found(() =>
      reasons().some((one) => /^spec\.gateways\[0\]: gateway lost does not exist \[IST0101\]$/.test(one)),
    );
    assert.deepEqual(findings.of("VirtualService/shop/quiet"), []);
    noted.length = 0;
    change(undefined, gateway);
    await found(() => !reasons().some((one) => one.includes("IST0101")));
    assert.ok(noted.includes("VirtualService/shop/a"));
    change(route("a"), undefined);
    await found(() => findings.of("VirtualService/shop/a").length === 0);
    stop.abort();
    await running;
  });

  const hosts = (findings: AnalysisFindings) =>
    findings.of("VirtualService/shop/a").flatMap(({ field, reason }) => (field.endsWith(".host") ? [reason] : []));

  it("look hosts up once Services are published", async () => {
    const { published, begin } = publishedBy([route("a"), gateway]);
    const findings = new AnalysisFindings({ published, maxServices: 2, log: noopLogger });
    const stop = new AbortController();
    const running = findings.run(() => undefined, stop.signal);
    begin();
    findings.noteService(service("revews"));
    await found(() => findings.of("VirtualService/shop/a").length === 0);
    findings.beginServices();
    await found(() => /^host reviews does not exist.*revews meant\? \[IST0101\]$/.test(hosts(findings)[0] ?? ""));
    findings.noteService(service("reviews", "Kubernetes/one"));
    await found(() => hosts(findings).length === 0);
    findings.noteService({ ...service("reviews", "Kubernetes/one"), op: "delete" });
    await found(() => hosts(findings).length === 1);
    stop.abort();
    await running;
  });

  it("do not look hosts up in a mesh with more Services than the bound", async () => {
    const { published, begin } = publishedBy([route("a"), gateway]);
    const logged: string[] = [];
    const log = { ...noopLogger, warn: (event: string) => void logged.push(event) };
    const findings = new AnalysisFindings({ published, maxServices: 2, log });
    const stop = new AbortController();
    const running = findings.run(() => undefined, stop.signal);
    begin();
    findings.beginServices();
    for (const name of ["one", "two"]) findings.noteService(service(name));
    await found(() => hosts(findings).length === 1);
    findings.noteService(service("three"));
    findings.noteService(service("four"));
    await found(() => hosts(findings).length === 0);
    assert.equal(logged.length, 1);
    stop.abort();
    await running;
  });
});
