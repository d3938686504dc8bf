/** Single fields of resources that follow from what a proxy reports of itself, or from a service outside of the routes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeObject } from "@flotilla/model";
import { type JsonObject, type TypeUrl, typeUrl } from "@flotilla/proto";
import { aKubeMesh, anEntry, anObject, fieldAt, inShort } from "../../testing/kube-mesh.ts";
import { aSidecar, resourceOf } from "../../testing/mesh.ts";

interface Given {
  readonly metadata?: JsonObject;
  readonly mesh?: JsonObject;
  readonly objects?: readonly KubeObject[];
}

function field({ metadata, mesh = {}, objects = [] }: Given, type: TypeUrl, name: string, at: string): string {
  const core = aKubeMesh([anEntry("a"), ...objects], { mesh });
  return inShort(fieldAt(resourceOf(core, aSidecar("shop", metadata), type, name), at));
}

const manager = "filterChains.0.filters.0.typedConfig";

describe("the name that OpenTelemetry gives a workload", () => {
  const collector = anEntry("collector", { ports: [{ number: 4317, name: "grpc", protocol: "GRPC" }] });
  const telemetry = anObject("Telemetry", "shop/all", { tracing: [{ providers: [{ name: "p" }] }] });
  const opentelemetry = { service: "collector.shop.example", port: 4317 };
  const tracing = (
    metadata: JsonObject,
    more: JsonObject = { serviceAttributeEnrichment: "OTEL_SEMANTIC_CONVENTIONS" },
  ) =>
    field(
      {
        metadata,
        mesh: { extensionProviders: [{ name: "p", opentelemetry: { ...opentelemetry, ...more } }] },
        objects: [collector, telemetry],
      },
      typeUrl.listener,
      "0.0.0.0_80",
      `${manager}.tracing.provider.typedConfig.serviceName`,
    );
  const labels = { "app.kubernetes.io/instance": "one", "app.kubernetes.io/name": "name" };
  const cases: readonly (readonly [string, JsonObject, string])[] = [
    ["is that of its instance", { LABELS: labels, WORKLOAD_NAME: "w", NAME: "pod" }, "one"],
    [
      "else of its application",
      { LABELS: { "app.kubernetes.io/name": "name" }, WORKLOAD_NAME: "w", NAME: "pod" },
      "name",
    ],
    ["else of its workload", { WORKLOAD_NAME: "w", NAME: "pod" }, "w"],
    [
      "is what an annotation of its pod states",
      { ANNOTATIONS: { "resource.opentelemetry.io/service.name": "stated" }, LABELS: labels },
      "stated",
    ],
    ["else of its pod, which its id names", { NAME: "other" }, "app"],
  ];
  for (const [name, metadata, want] of cases) it(name, () => assert.equal(tracing(metadata), want));
  it("is that of its cluster of nodes where the conventions are not asked for", () => {
    assert.notEqual(tracing({ LABELS: labels, NAME: "pod" }, {}), "one");
  });
});

describe("a service of a provider", () => {
  const telemetry = anObject("Telemetry", "shop/all", { tracing: [{ providers: [{ name: "p" }] }] });
  const provider = (service: string) =>
    field(
      { mesh: { extensionProviders: [{ name: "p", opentelemetry: { service, port: 80 } }] }, objects: [telemetry] },
      typeUrl.listener,
      "0.0.0.0_80",
      `${manager}.tracing.provider.typedConfig.grpcService.envoyGrpc.clusterName`,
    );
  const cluster = "outbound|80||a.shop.example";
  const cases: readonly (readonly [string, string, string])[] = [
    ["is found by its host", "a.shop.example", cluster],
    ["is found by namespace and host", "shop/a.shop.example", cluster],
    ["is none of another namespace", "bank/a.shop.example", "none"],
    ["is none that exists", "x.shop.example", "none"],
  ];
  for (const [name, service, want] of cases) it(name, () => assert.equal(provider(service), want));
});

describe("a port of a Sidecar's own", () => {
  const sidecar = (number: number, protocol: string) =>
    anObject("Sidecar", "shop/s", {
      egress: [{ port: { number, name: "own", protocol }, bind: "127.0.0.1", hosts: ["./a.shop.example"] }],
    });
  const two = anEntry("a", {
    ports: [
      { number: 80, name: "http", protocol: "HTTP" },
      { number: 9000, name: "tcp", protocol: "TCP" },
    ],
  });
  const clusterOf = (objects: readonly KubeObject[], port: number) =>
    field({ objects }, typeUrl.listener, `127.0.0.1_${port}`, `${manager}.cluster`);

  it("leads nowhere for a service without that port", () => {
    const one = anEntry("a", { ports: [{ number: 7000, name: "tcp", protocol: "TCP" }] });
    assert.equal(clusterOf([one, sidecar(9090, "TCP")], 9090), "none");
  });
  it("leads to the port of its number where a service has several", () => {
    assert.equal(clusterOf([two, sidecar(9000, "TCP")], 9000), "outbound|9000||a.shop.example");
  });
});

describe("requests for unknown hosts", () => {
  const cases: readonly (readonly [string, JsonObject, string])[] = [
    ["they pass", { outboundTrafficPolicy: { mode: "ALLOW_ANY" } }, "allow_any"],
    ["they are refused", { outboundTrafficPolicy: { mode: "REGISTRY_ONLY" } }, "block_all"],
  ];
  for (const [name, mesh, want] of cases)
    it(name, () => {
      const core = aKubeMesh([anEntry("a")], { mesh });
      const route = resourceOf(core, aSidecar("shop"), typeUrl.route, "80");
      const hosts = (fieldAt(route, "virtualHosts") ?? []) as readonly JsonObject[];
      assert.equal(hosts.at(-1)?.["name"], want);
      assert.deepEqual(hosts.at(-1)?.["domains"], ["*"]);
    });
});
