/** Small objects for the tests of the registry. */
import type { ConfigChange, KubeObject } from "@flotilla/model";
import { endpointsKeyText, serviceKeyText } from "@flotilla/model";
import { defaultRegistrySettings } from "../settings.ts";
import type { RegistryChange } from "./published.ts";
import { Registry } from "./registry.ts";
import type { RegistryInput } from "./registry-input.ts";

export function put(object: KubeObject): RegistryInput {
  return { type: "object", op: "put", object };
}

export function gone(kind: string, name: string, namespace = "n"): RegistryInput {
  return { type: "object", op: "delete", key: { kind, namespace, name } };
}

export function service(name: string, spec: object = {}): KubeObject {
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "n" },
    spec: { clusterIP: "10.0.0.1", ports, selector: { app: name }, ...spec },
  };
}

export function pod(
  name: string,
  address: string,
  labels: Readonly<Record<string, string>> = {},
  node = "n1",
): KubeObject {
  const conditions = [{ type: "Ready", status: "True" }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "n", labels },
    spec: { nodeName: node, serviceAccountName: "sa" },
    status: { phase: "Running", podIP: address, conditions },
  };
}

export function slice(name: string, of: string, pods: Readonly<Record<string, string>>, ready = true): KubeObject {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name, namespace: "n", labels: { "kubernetes.io/service-name": of } },
    addressType: "IPv4",
    endpoints: Object.entries(pods).map(([pod, address]) => ({
      addresses: [address],
      conditions: { ready, serving: ready, terminating: false },
      targetRef: { kind: "Pod", name: pod, namespace: "n" },
    })),
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

export function node(name: string, region: string): KubeObject {
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels: { "topology.kubernetes.io/region": region } } };
}

export function config(
  kind: string,
  name: string,
  spec: unknown,
  labels: Readonly<Record<string, string>> = {},
): ConfigChange {
  const key = { kind, namespace: kind.startsWith("Mesh") ? "" : "n", name };
  return { type: "config", op: "put", key, value: { key, labels, annotations: {}, creationTimeMs: 0, spec } };
}

export function registry(): Registry {
  return new Registry(defaultRegistrySettings);
}

export function keyOf(change: RegistryChange): string {
  if (change.type === "workload") return `w|${change.key.uid}`;
  return change.type === "service" ? `s|${serviceKeyText(change.key)}` : `e|${endpointsKeyText(change.key)}`;
}

export function sorted(changes: readonly RegistryChange[]): readonly RegistryChange[] {
  return [...changes].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}
