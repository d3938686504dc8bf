/** For tests: a bus with objects of the Gateway API and services on it, as config-controller and service-controller publish them. */
import { type Bus, connectBus, createPublisher, type Publisher } from "@flotilla/bus";
import type { Change, Config, Endpoint } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import { PublishedConfig } from "../follow/published-config.ts";

export interface PublishedMesh extends AsyncDisposable {
  readonly bus: Bus;
  readonly published: PublishedConfig;
  put(...changes: readonly Change[]): Promise<void>;
}

/** Runs until it is disposed of. */
export async function publishMesh(name: string): Promise<PublishedMesh> {
  const stop = new AbortController();
  const bus = await connectBus({ url: `embedded:${name}`, clientName: "test", log: noopLogger }, stop.signal);
  const publisher: Publisher = createPublisher({
    ...{ bus, publisher: "test", seal: undefined, log: noopLogger, nowMs: Date.now },
  });
  const published = new PublishedConfig({ bus, seal: undefined, log: noopLogger });
  await published.begin();
  const following = published.follow(stop.signal);
  return {
    bus,
    published,
    put: async (...changes) => {
      await publisher.publish(changes);
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await following;
      await bus[Symbol.asyncDispose]();
    },
  };
}

export function anObject(kind: string, namespace: string, name: string, spec: object): Change {
  const key = { kind, namespace, name };
  const value: Config = { key, labels: {}, annotations: {}, creationTimeMs: 0, generation: 3, spec };
  return { type: "config", op: "put", key, value };
}

/** A load balancer with an endpoint behind port 80. */
export function aLoadBalancer(namespace: string, name: string, address: string): readonly Change[] {
  const hostname = `${name}.${namespace}.svc.cluster.local`;
  const shard = "Kubernetes/Kubernetes";
  const ports = [{ name: "http", number: 80, protocol: "HTTP" }];
  const service = {
    ...{ hostname, namespace, name, registry: "Kubernetes", ports, resolution: "client-side", meshExternal: false },
    ...{
      defaultAddress: "10.0.0.1",
      clusterVips: {},
      creationTimeMs: 0,
      labels: {},
      exportTo: [],
      serviceAccounts: [],
    },
    kubernetes: {
      type: "LoadBalancer",
      nodeLocal: false,
      publishNotReadyAddresses: false,
      headless: false,
      targetPorts: {},
    },
    clusterExternalAddresses: { Kubernetes: [address] },
    definedBy: `Service/${namespace}/${name}`,
  } as const;
  const endpoint: Endpoint = {
    ...{ addresses: ["10.1.0.1"], servicePortName: "http", port: 8080, health: "healthy", weight: 0 },
    ...{ labels: {}, serviceAccount: "", network: "", locality: "", clusterId: "Kubernetes", tlsMode: "disabled" },
    ...{ namespace, workloadName: name },
  };
  return [
    { type: "service", op: "put", key: { shard, namespace, hostname, name }, value: service as never },
    {
      ...{ type: "endpoints", op: "put", key: { shard, namespace, hostname } },
      value: [endpoint],
    },
  ];
}
