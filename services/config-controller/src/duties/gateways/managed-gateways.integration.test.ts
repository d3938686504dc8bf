/** Gateways of a real API server. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { KubeApi, KubeObject } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { defaultMeshConfig } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { readSettings } from "../../settings.ts";
import { runGateways } from "./run-gateways.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

const group = "gateway.networking.k8s.io";
const root = `/apis/${group}/v1`;
const gateways = `${root}/namespaces/default/gateways`;

interface Found extends KubeObject {
  readonly spec: {
    readonly type?: string;
    readonly replicas?: number;
    readonly ports?: readonly { readonly name: string; readonly port: number }[];
    readonly controllerName?: string;
  };
}

/** Of a Deployment; empty while there is none. */
function proxyOf(deployment: Found | undefined) {
  const { metadata, spec } = (deployment?.spec as { readonly template?: PodTemplate } | undefined)?.template ?? {};
  const [container] = spec?.containers ?? [];
  return { args: container?.args ?? [], env: container?.env ?? [], labels: metadata?.labels ?? {} };
}

interface PodTemplate {
  readonly metadata: { readonly labels: Readonly<Record<string, string>> };
  readonly spec: {
    readonly containers: readonly {
      readonly args: readonly string[];
      readonly env: readonly { readonly name: string; readonly value?: string }[];
    }[];
  };
}

/** The definitions, as far as these tests need them: any field is taken. */
async function defineKinds(api: KubeApi): Promise<void> {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const kinds = [
    ["Gateway", "gateways", "Namespaced"],
    ["GatewayClass", "gatewayclasses", "Cluster"],
    ["ListenerSet", "listenersets", "Namespaced"],
  ] as const;
  for (const [kind, plural, scope] of kinds)
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}`, annotations: { "api-approved.kubernetes.io": "unapproved, for tests" } },
      spec: {
        ...{ group, scope, names: { kind, plural, singular: kind.toLowerCase() } },
        versions: [{ name: "v1", served: true, storage: true, schema, subresources: { status: {} } }],
      },
    });
  await until(async () => (await api.get(`${root}/gatewayclasses`)) !== undefined, {
    ...{ withinMs: 60_000, what: "the kinds are served" },
  });
}

function gateway(name: string, spec: object = {}, metadata: object = {}): object {
  const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];
  return {
    ...{ apiVersion: `${group}/v1`, kind: "Gateway", metadata: { name, ...metadata } },
    spec: { gatewayClassName: "istio", listeners, ...spec },
  };
}

describe("Gateways of a cluster", { skip: server === undefined && whyNoApiserver }, () => {
  it("are deployed, as they change, and what is somebody else's is left alone", { timeout: 240_000 }, async () => {
    assert.ok(server !== undefined);
    const { api } = server;
    const at = (kind: "deployments" | "services" | "configmaps", name = "") =>
      `${kind === "deployments" ? "/apis/apps/v1" : "/api/v1"}/namespaces/default/${kind}${name && `/${name}`}`;
    const deployment = (name: string) => api.get<Found>(at("deployments", name));
    const service = (name: string) => api.get<Found>(at("services", name));
    const eventually = (what: string, holds: () => Promise<boolean>) => until(holds, { withinMs: 60_000, what });
    const ports = async (name: string) => (await service(name))?.spec.ports?.map((one) => one.port).join();

    await defineKinds(api);
    await api.create(at("services"), {
      ...{ apiVersion: "v1", kind: "Service", metadata: { name: "taken-istio" } },
      spec: { ports: [{ port: 8080 }] },
    });
    await api.create(gateways, gateway("web"));
    const mesh = { name: "mesh", port: 15_008, protocol: "HBONE" };
    await api.create(gateways, gateway("waypoint", { gatewayClassName: "istio-waypoint", listeners: [mesh] }));
    const betweenNetworks = { gatewayClassName: "istio-east-west", listeners: [mesh] };
    await api.create(gateways, gateway("east-west", betweenNetworks, { labels: { "topology.istio.io/network": "n" } }));
    await api.create(gateways, gateway("taken"));
    await api.create(gateways, gateway("existing", { addresses: [{ type: "Hostname", value: "edge.default.svc" }] }));
    await api.create(gateways, gateway("foreign", { gatewayClassName: "another" }));
    await api.create(gateways, gateway("canary", {}, { labels: { "istio.io/rev": "canary" } }));
    await api.create(gateways, gateway("newer", {}, { annotations: { "gateway.istio.io/controller-version": "9" } }));

    const stop = new AbortController();
    const followed = { mesh: () => defaultMeshConfig, proxyConfigs: () => [] };
    const env = { PILOT_ENABLE_AMBIENT: "true", AMBIENT_ENABLE_MULTI_NETWORK: "true" };
    const options = { api, settings: readSettings(env), ...followed, log: noopLogger };
    const running = runGateways(options, stop.signal);
    await eventually("the class is made", async () => {
      const made = await api.get<Found>(`${root}/gatewayclasses/istio`);
      return made?.spec.controllerName === "istio.io/gateway-controller";
    });
    await eventually("web is deployed", async () => (await ports("web-istio")) === "15021,80");
    await eventually("the waypoint is deployed", async () => (await ports("waypoint")) === "15021,15008");
    assert.equal((await service("waypoint"))?.spec.type, "ClusterIP");
    await eventually("the east-west gateway is deployed", async () => (await ports("east-west")) === "15021,15008");
    assert.equal((await service("east-west"))?.spec.type, "LoadBalancer");
    await eventually("the east-west gateway has a proxy", async () => {
      const { args, env, labels } = proxyOf(await deployment("east-west"));
      const network = env.find(({ name }) => name === "ISTIO_META_REQUESTED_NETWORK_VIEW")?.value;
      const managed = labels["gateway.istio.io/managed"];
      return args[1] === "waypoint" && network === "n" && managed === "istio.io-eastwest-controller";
    });
    const marked = await api.get<KubeObject>(`${gateways}/web`);
    assert.equal(marked?.metadata.annotations?.["gateway.istio.io/controller-version"], "5");

    const uid = (await deployment("web-istio"))?.metadata.uid;
    await api.delete(at("deployments", "web-istio"));
    await eventually("a deleted Deployment is made again", async () => {
      const found = await deployment("web-istio");
      return found !== undefined && found.metadata.uid !== uid;
    });
    const changed = (await service("web-istio")) as Found;
    await api.replace(at("services", "web-istio"), { ...changed, spec: { ...changed.spec, type: "ClusterIP" } });
    await eventually(
      "a changed Service is as it was",
      async () => (await service("web-istio"))?.spec.type === "LoadBalancer",
    );

    const spec = {
      allowedListeners: { namespaces: { from: "Same" } },
      infrastructure: { parametersRef: { group: "", kind: "ConfigMap", name: "options" } },
    };
    const current = (await api.get<KubeObject>(`${gateways}/web`)) as KubeObject;
    await api.replace(`${gateways}/web`, { ...current, ...gateway("web", spec, current.metadata) });
    await api.create(at("configmaps"), {
      ...{ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "options" } },
      data: { deployment: "spec: {replicas: 3}" },
    });
    await api.create(`${root}/namespaces/default/listenersets`, {
      ...{ apiVersion: `${group}/v1`, kind: "ListenerSet", metadata: { name: "more" } },
      spec: { parentRef: { name: "web" }, listeners: [{ name: "more", port: 8443, protocol: "HTTPS" }] },
    });
    await eventually("parameters count", async () => (await deployment("web-istio"))?.spec.replicas === 3);
    await eventually(
      "listeners of a ListenerSet are ports",
      async () => (await ports("web-istio")) === "15021,80,8443",
    );

    const taken = await service("taken-istio");
    assert.deepEqual(
      taken?.spec.ports?.map(({ port }) => port),
      [8080],
    );
    assert.equal(taken?.metadata.labels?.["gateway.istio.io/managed"], undefined);
    for (const name of ["existing-istio", "foreign-another", "canary-istio", "newer-istio"])
      assert.equal(await deployment(name), undefined, name);

    // Objects of one Gateway are written one by one, and the Service need not be the last.
    let before = -1;
    const isQuiet = async () => {
      const count = (await server.writes()).length;
      const wasSame = count === before;
      before = count;
      return wasSame;
    };
    await until(isQuiet, { withinMs: 60_000, what: "no more writes", everyMs: 300 });
    await api.create(gateways, gateway("later"));
    await eventually("a later Gateway is deployed", async () => (await ports("later-istio")) === "15021,80");
    const writes = (await server.writes()).slice(before).filter(({ namespace }) => namespace === "default");
    assert.deepEqual(
      writes.map(({ verb, name }) => `${verb} ${name}`).filter((text) => !text.includes("later")),
      [],
      "nothing is written to Gateways that did not change",
    );
    stop.abort();
    await running;
  });
});
