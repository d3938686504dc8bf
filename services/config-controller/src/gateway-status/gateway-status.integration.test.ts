/** The status of many routes in a real API server: each is written once, and that of their Gateway a few times. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { defaultClassSettings } from "@flotilla/gateway-api";
import type { KubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { aLoadBalancer, anObject, publishMesh } from "./gateway-status.fixture.ts";
import { GatewayStatus } from "./gateway-status.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

const group = "gateway.networking.k8s.io";
const root = `/apis/${group}/v1`;
const home = `${root}/namespaces/default`;
const routes = 100;
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 50 });

/** The definitions, as far as this test needs them: any field is taken. */
async function defineKinds(api: KubeApi): Promise<void> {
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  for (const [kind, plural] of [
    ["Gateway", "gateways"],
    ["HTTPRoute", "httproutes"],
  ] as const)
    await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.${group}`, annotations: { "api-approved.kubernetes.io": "unapproved, for tests" } },
      spec: {
        ...{ group, scope: "Namespaced", names: { kind, plural, singular: kind.toLowerCase() } },
        versions: [{ name: "v1", served: true, storage: true, schema, subresources: { status: {} } }],
      },
    });
  for (const plural of ["gateways", "httproutes"])
    await until(async () => (await api.get(`${root}/${plural}`)) !== undefined, soon(`${plural} are served`));
}

interface Stored {
  readonly status?: {
    readonly listeners?: readonly { readonly attachedRoutes: number }[];
    readonly parents?: readonly unknown[];
  };
}

describe("the status of Gateways and routes", { skip: server === undefined && whyNoApiserver }, () => {
  it("is written once for each route, and a few times for their Gateway", { timeout: 180_000 }, async () => {
    assert.ok(server !== undefined);
    const { api } = server;
    await defineKinds(api);
    const listeners = [{ name: "http", port: 80, protocol: "HTTP" }];
    const gateway = { gatewayClassName: "istio", listeners };
    const route = { parentRefs: [{ name: "edge" }], rules: [{ backendRefs: [{ name: "web", port: 80 }] }] };
    const names = Array.from({ length: routes }, (_, index) => `route-${index}`);
    const create = (kind: string, plural: string, name: string, spec: object) =>
      api.create(`${home}/${plural}`, { apiVersion: `${group}/v1`, kind, metadata: { name }, spec });
    await create("Gateway", "gateways", "edge", gateway);
    for (const name of names) await create("HTTPRoute", "httproutes", name, route);

    await using mesh = await publishMesh("gateway-status-of-many");
    await mesh.put(anObject("KubernetesGateway", "default", "edge", gateway));
    await mesh.put(
      ...aLoadBalancer("default", "edge-istio", "192.0.2.7"),
      ...aLoadBalancer("default", "web", "192.0.2.8"),
    );
    const stop = new AbortController();
    const classes = defaultClassSettings;
    const options = {
      api,
      domain: "cluster.local",
      classes,
      namespaces: [],
      onWritten: () => undefined,
      log: noopLogger,
    };
    const running = new GatewayStatus({ ...options, ...mesh, nowMs: Date.now }).run(stop.signal);
    try {
      for (const name of names) await mesh.put(anObject("HTTPRoute", "default", name, route));
      const attached = async () => {
        const { status } = (await api.get<Stored>(`${home}/gateways/edge`)) ?? {};
        return status?.listeners?.[0]?.attachedRoutes === routes;
      };
      await until(attached, soon("all routes are counted"));
      for (const name of names)
        await until(
          async () => (await api.get<Stored>(`${home}/httproutes/${name}`))?.status?.parents?.length === 1,
          soon(`${name} has a status`),
        );
    } finally {
      stop.abort();
      await running;
    }
    const writes = (await server.writes()).filter(({ verb }) => verb === "patch");
    const ofRoutes = writes.filter(({ resource }) => resource.startsWith("httproutes"));
    assert.equal(ofRoutes.length, routes);
    const ofGateway = writes.filter(({ resource }) => resource.startsWith("gateways"));
    assert.ok(
      ofGateway.length > 0 && ofGateway.length <= routes / 4,
      `the Gateway was written ${ofGateway.length} times`,
    );
  });
});
