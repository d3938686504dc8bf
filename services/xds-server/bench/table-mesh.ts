/** The mesh that istiod's figures were measured on, and the changes that are made to it. */
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KubeObject } from "@flotilla/model";

/** Files of a directory source; changes are written beside them and moved into place. */
export interface MeshFiles {
  /** Shell commands that change one object; `{}` becomes a text that reaches the proxies. */
  readonly routeEdit: string;
  readonly endpointEdit: string;
  /** The same change of a VirtualService as `routeEdit`. */
  editRoute(token: string): void;
  /** Gives `count` objects another annotation, which changes nothing for any proxy. */
  annotate(round: number, count: number): void;
}

export function writeMesh(directory: string, work: string, services: number, views: number): MeshFiles {
  const put = (name: string, ...objects: readonly KubeObject[]): void => {
    const file = join(directory, name);
    writeFileSync(`${file}.new`, objects.map((object) => JSON.stringify(object)).join("\n---\n"));
    renameSync(`${file}.new`, file);
  };
  const template = (name: string, object: KubeObject): string => {
    writeFileSync(join(work, name), JSON.stringify(object));
    const target = join(directory, name);
    return `sed 's/TOKEN/{}/' '${join(work, name)}' > '${target}.new' && mv '${target}.new' '${target}'`;
  };
  put("services.yaml", ...Array.from({ length: services - 1 }, (_, i) => serviceEntry(i + 1)));
  put("edited-service.yaml", serviceEntry(0, "first"));
  put("route.yaml", virtualService("first"));
  if (views > 1) put("views.yaml", ...Array.from({ length: views }, (_, i) => sidecar(i)));
  return {
    routeEdit: template("route.yaml", virtualService("TOKEN")),
    endpointEdit: template("edited-service.yaml", serviceEntry(0, "TOKEN")),
    editRoute: (token) => put("route.yaml", virtualService(token)),
    annotate: (round, count) =>
      put("services.yaml", ...Array.from({ length: services - 1 }, (_, i) => annotated(i + 1, i < count ? round : 0))),
  };
}

const hostOf = (i: number): string => `svc-${i}.default.svc.cluster.local`;

function serviceEntry(i: number, zone?: string): KubeObject {
  const [a, b] = [i >> 8, i & 255];
  const endpoint = (n: number) => ({
    address: `10.${20 + a}.${b}.${n}`,
    labels: { app: `svc-${i}`, version: `v${n}` },
  });
  const endpoints = [endpoint(1), { ...endpoint(2), ...(zone !== undefined && { locality: `region/${zone}` }) }];
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "ServiceEntry",
    metadata: { name: `svc-${i}`, namespace: "default" },
    spec: {
      hosts: [hostOf(i)],
      addresses: [`10.${100 + a}.${b}.1`],
      location: "MESH_INTERNAL",
      resolution: "STATIC",
      ports: [{ number: 80, name: "http", protocol: "HTTP", targetPort: 8080 }],
      endpoints,
    },
  };
}

function annotated(i: number, round: number): KubeObject {
  const entry = serviceEntry(i);
  return { ...entry, metadata: { ...entry.metadata, annotations: { "bench/round": String(round) } } };
}

function virtualService(token: string): KubeObject {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "VirtualService",
    metadata: { name: "trigger", namespace: "default" },
    spec: {
      hosts: [hostOf(0)],
      http: [
        {
          headers: { request: { set: { "x-token": token } } },
          route: [{ destination: { host: hostOf(0) } }],
        },
      ],
    },
  };
}

/** One label set sees everything through a Sidecar of its own. */
function sidecar(i: number): KubeObject {
  return {
    apiVersion: "networking.istio.io/v1",
    kind: "Sidecar",
    metadata: { name: `view-${i}`, namespace: "default" },
    spec: { workloadSelector: { labels: { view: `v${i}` } }, egress: [{ hosts: ["*/*"] }] },
  };
}

/** Nodes for `xdsprobe --template`, which fills in `{i}` and `{ip}`; each view has labels of its own. */
export function nodes(views: number): readonly unknown[] {
  return Array.from({ length: views }, (_, i) => ({
    name: "client",
    id: "sidecar~{ip}~client-{i}.default~default.svc.cluster.local",
    metadata: {
      NAMESPACE: "default",
      INSTANCE_IPS: "{ip}",
      CLUSTER_ID: "Kubernetes",
      LABELS: { app: "client", ...(views > 1 && { view: `v${i}` }) },
    },
  }));
}
