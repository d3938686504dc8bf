/** Conditions of the ambient mesh on objects of a real API server. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { KubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { defaultMeshConfig } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { keepDefinitions, shippedDefinitions } from "../kind-definitions.ts";
import { AmbientStatus } from "./ambient-status.ts";
import type { ClusterObject } from "./cluster-objects.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

const gatewayApi = "gateway.networking.k8s.io";
const namespaced = (root: string, plural: string) => `${root}/namespaces/default/${plural}`;
const services = namespaced("/api/v1", "services");
const entries = namespaced("/apis/networking.istio.io/v1", "serviceentries");
const policies = namespaced("/apis/security.istio.io/v1", "authorizationpolicies");
const gateways = namespaced(`/apis/${gatewayApi}/v1`, "gateways");
const bound = "istio.io/WaypointBound";
const uses = (waypoint: string) => ({ labels: { "istio.io/use-waypoint": waypoint } });

async function defineGateways(api: KubeApi): Promise<void> {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  for (const [kind, plural, scope] of [
    ["Gateway", "gateways", "Namespaced"],
    ["GatewayClass", "gatewayclasses", "Cluster"],
  ])
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      ...{ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" },
      metadata: {
        name: `${plural}.${gatewayApi}`,
        annotations: { "api-approved.kubernetes.io": "unapproved, for tests" },
      },
      spec: {
        ...{ group: gatewayApi, scope, names: { kind, plural, singular: kind?.toLowerCase() } },
        versions: [{ name: "v1", served: true, storage: true, schema, subresources: { status: {} } }],
      },
    });
}

describe("conditions of the ambient mesh", { skip: server === undefined && whyNoApiserver }, () => {
  it("say to which waypoint objects are bound and who enforces policies", { timeout: 240_000 }, async () => {
    assert.ok(server !== undefined);
    const { api } = server;
    const stop = new AbortController();
    const defining = keepDefinitions(
      { api, definitions: await shippedDefinitions(), version: "1.0.0", log: noopLogger },
      stop.signal,
    );
    await defineGateways(api);
    const soon = (what: string) => ({ withinMs: 60_000, what });
    for (const path of [entries, policies, gateways])
      await until(async () => (await api.get(path)) !== undefined, soon(`${path} to be served`));

    const service = (name: string, metadata: object) =>
      api.create(services, {
        ...{ apiVersion: "v1", kind: "Service", metadata: { name, ...metadata }, spec: { ports: [{ port: 80 }] } },
      });
    const gateway = {
      ...{ apiVersion: `${gatewayApi}/v1`, kind: "Gateway", metadata: { name: "waypoint" } },
      spec: { gatewayClassName: "istio-waypoint", listeners: [{ name: "mesh", port: 15_008, protocol: "HBONE" }] },
    };
    await service("web", { labels: { ...uses("waypoint").labels, "istio.io/ingress-use-waypoint": "true" } });
    await service("free", {});
    await api.create(entries, {
      ...{ apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", metadata: { name: "wild", ...uses("none") } },
      spec: {
        hosts: ["*.example.com"],
        ports: [{ number: 443, name: "tls", protocol: "TLS" }],
        resolution: "DYNAMIC_DNS",
      },
    });
    const policy = (name: string, spec: object, annotations: object = {}) =>
      api.create(policies, {
        ...{ apiVersion: "security.istio.io/v1", kind: "AuthorizationPolicy", metadata: { name, annotations }, spec },
      });
    await policy("plain", { rules: [{ from: [{ source: { namespaces: ["shop"] } }] }] });
    await policy("tried", { rules: [{}] }, { "istio.io/dry-run": "true" });
    await policy("requests", { rules: [{ to: [{ operation: { methods: ["GET"] } }] }] });
    await policy("target", { targetRefs: [{ group: "", kind: "Service", name: "web" }], rules: [{}] });

    const running = new AmbientStatus({
      ...{ api, mesh: () => defaultMeshConfig, log: noopLogger, random: Math.random },
      ...{ nowMs: Date.now, writesPerSecond: 1_000, sendsDryRun: true },
    }).run(stop.signal);
    const condition = async (path: string, name: string, type: string) => {
      const found = await api.get<ClusterObject>(`${path}/${name}`);
      return found?.status?.conditions?.find((one) => one.type === type);
    };
    const becomes = (path: string, name: string, type: string, wanted: string | undefined) =>
      until(
        async () => {
          const found = await condition(path, name, type);
          return (found && `${found.status} ${found.reason}: ${found.message}`) === wanted;
        },
        soon(`${name} to have ${type} ${wanted}`),
      );

    await becomes(services, "web", bound, 'False WaypointIsNotReady: waypoint "default/waypoint" is not ready');
    await becomes(
      ...([entries, "wild", "istio.io/WaypointMissing"] as const),
      "True NoWaypointForWildcardService: ServiceEntry will not apply until it is bound to a valid waypoint.",
    );
    for (const name of ["plain", "tried"])
      await becomes(policies, name, "ZtunnelAccepted", "True Accepted: attached to ztunnel");
    await becomes(
      ...([policies, "target", "WaypointAccepted"] as const),
      "False AncestorNotBound: Service default/web is not bound to a waypoint",
    );
    const left = await until(() => condition(policies, "requests", "ZtunnelAccepted"), soon("the policy of requests"));
    assert.equal(left.reason, "UnsupportedValue");
    assert.match(left.message ?? "", /found: methods/);

    await api.create(gateways, gateway);
    const status = { addresses: [{ type: "Hostname", value: "waypoint.default.svc.cluster.local" }] };
    await api.replace(`${gateways}/waypoint/status`, { ...(await api.get(`${gateways}/waypoint`)), status });
    const attached = "True WaypointAccepted: Successfully attached to waypoint default/waypoint";
    await becomes(services, "web", bound, `${attached}. Ingress traffic will traverse the waypoint`);
    await becomes(policies, "target", "WaypointAccepted", "True Accepted: bound to default/waypoint");

    // Status entries of other writers stay, and are no reason to write.
    const shown = (await api.get<ClusterObject>(`${services}/web`)) as ClusterObject;
    const foreign = { type: "example.com/Checked", status: "True", reason: "Ok", message: "" };
    const own = { ...foreign, lastTransitionTime: "2026-01-01T00:00:00Z" };
    const conditions = [...(shown.status?.conditions ?? []), own];
    await api.replace(`${services}/web/status`, { ...shown, status: { ...shown.status, conditions } });
    const before = (await server.writes()).length;
    await service("later", uses("waypoint"));
    await becomes(services, "later", bound, attached);
    const writes = (await server.writes()).slice(before).filter(({ namespace }) => namespace === "default");
    assert.deepEqual(
      writes.map(({ verb, name }) => `${verb} ${name}`).filter((text) => !text.includes("later")),
      [],
    );

    await api.delete(`${gateways}/waypoint`);
    await becomes(services, "later", bound, 'False WaypointIsNotReady: waypoint "default/waypoint" is not ready');
    const labelled = (await api.get<ClusterObject>(`${services}/web`)) as ClusterObject;
    await api.replace(`${services}/web`, { ...labelled, metadata: { ...labelled.metadata, labels: {} } });
    await becomes(services, "web", bound, undefined);
    assert.equal((await condition(services, "web", foreign.type))?.status, "True");
    assert.equal(await condition(services, "free", bound), undefined);
    stop.abort();
    await Promise.all([running, defining]);
  });
});
