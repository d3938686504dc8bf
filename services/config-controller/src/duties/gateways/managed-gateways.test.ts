/** When what is deployed for a Gateway is rendered anew, which takes tens of milliseconds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type InjectionConfig, injectionConfigSource, valueOverrides } from "@flotilla/injection";
import type { KubeObject } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { defaultMeshConfig } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { readSettings } from "../../settings.ts";
import { deployedClasses } from "./gateway-settings.ts";
import { ManagedGateways } from "./managed-gateways.ts";

const gatewayPath = "/apis/gateway.networking.k8s.io/v1/namespaces/shop/gateways/edge";
const servicePath = "/api/v1/namespaces/shop/services/edge-istio";
const listenerOn = (port: number) => ({ name: "http", port, protocol: "HTTP" });
const gateway = (port: number, attachedRoutes: number) => ({
  ...{ apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway", metadata: {} },
  spec: { gatewayClassName: "istio", listeners: [listenerOn(port)] },
  status: { listeners: [{ name: "http", attachedRoutes }] },
});

/** Counts how often its templates are read: rendering reads them, and nothing else does. */
function counted(config: InjectionConfig): { readonly config: InjectionConfig; reads: number } {
  const counter = {
    reads: 0,
    config: new Proxy(config, {
      get: (target, field) => {
        counter.reads++;
        return Reflect.get(target, field);
      },
    }),
  };
  return counter;
}

test("routes that attach and an equal MeshConfig that is read anew render no Gateway, another listener does", async () => {
  const stop = new AbortController();
  const settings = readSettings({});
  const { injectionConfigFile: configFile, injectionValuesFile: valuesFile, filePollMs: pollMs } = settings;
  const files = { configFile, valuesFile, adjust: valueOverrides(settings), pollMs };
  const injection = injectionConfigSource({ ...files, log: noopLogger, onStale: () => undefined }, stop.signal);
  await injection.first();
  const templates = counted(injection.current());
  const memory = createMemoryApi({ "/api/v1/namespaces/shop": { metadata: {} }, [gatewayPath]: gateway(80, 0) });
  let looks = 0;
  const mesh = () => {
    looks++;
    return structuredClone(defaultMeshConfig);
  };
  const managed = new ManagedGateways({
    ...{ api: memory.api, log: noopLogger, random: Math.random, namespace: "istio-system", namespaces: [], mesh },
    ...{ classes: deployedClasses(settings), allowsManual: true, isOurs: () => true, proxyConfigs: () => [] },
    rendering: {
      ...{ revision: "default", platform: "", compliancePolicy: "", clusterId: "Kubernetes", copiesMetadata: true },
      ...{ nativeSidecars: true, kubernetesVersion: 133, quic: false, waypoints: true },
    },
    injection: () => templates.config,
  });
  const running = managed.run(stop.signal);
  const soon = (what: string) => ({ withinMs: 20_000, everyMs: 2, what });
  const portsOf = () => memory.read<KubeObject & { spec: { ports: { port: number }[] } }>(servicePath)?.spec.ports;
  const isOn = (port: number) => portsOf()?.some((one) => one.port === port) === true;
  try {
    await until(() => isOn(80), soon("the Gateway is deployed"));
    // The version that is marked on a Gateway when it is taken over changes it once.
    const settled = looks;
    await until(() => looks > settled, soon("the Gateway is looked at again"));
    const before = templates.reads;
    for (const attached of [1, 2, 3]) {
      const seen = looks;
      memory.put(gatewayPath, { ...memory.read(gatewayPath), status: gateway(80, attached).status });
      await until(() => looks > seen, soon("the Gateway's status is looked at"));
    }
    assert.equal(templates.reads, before);
    memory.put(gatewayPath, { ...memory.read(gatewayPath), spec: gateway(8080, 3).spec });
    await until(() => isOn(8080), soon("the new listener is deployed"));
    assert.ok(templates.reads > before);
  } finally {
    stop.abort();
    await Promise.all([running, injection.following]);
  }
});
