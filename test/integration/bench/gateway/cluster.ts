/** A real API server with the Gateway API's kinds, and what the bench writes into it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type KubeApi, KubeError, type KubeObject, mirror } from "@flotilla/kube-api";
import { until } from "@flotilla/runtime";
import { parseAllDocuments } from "yaml";

const istioKinds = fileURLToPath(new URL("../../../../packages/kinds/crds/istio.yaml", import.meta.url));
const group = "gateway.networking.k8s.io";
const root = `/apis/${group}/v1`;
export const namespace = "bench";
const home = `${root}/namespaces/${namespace}`;
/** Requests at a time. */
const lanes = 32;

/** `directory`: the definitions of the Gateway API, a YAML file each. */
export async function defineKinds(api: KubeApi, directory: string): Promise<void> {
  const files = readdirSync(directory).filter((file) => file.startsWith("gateway.networking.") && file.includes("_"));
  const texts = [istioKinds, ...files.map((file) => join(directory, file))].map((file) => readFileSync(file, "utf8"));
  const definitions = texts
    .flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as KubeObject | null))
    .filter((one) => one?.kind === "CustomResourceDefinition");
  for (const definition of definitions)
    if (definition !== null) await api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  for (const name of [namespace, "istio-system"]) await api.create("/api/v1/namespaces", { metadata: { name } });
  const places = [`${home}/httproutes`, `${home}/gateways`, serviceEntries];
  for (const place of places)
    await until(async () => (await api.get(`${place}?limit=1`)) !== undefined, {
      ...{ withinMs: 60_000, what: `${place} to be served`, everyMs: 200 },
    });
}

const serviceEntries = `/apis/networking.istio.io/v1/namespaces/${namespace}/serviceentries`;
const backendHost = "backend.example";

export async function createGateway(api: KubeApi, listenPort: number, backendPort: number): Promise<void> {
  await api.create(serviceEntries, {
    ...{ apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", metadata: { name: "backend" } },
    spec: {
      ...{ hosts: [backendHost], location: "MESH_INTERNAL", resolution: "STATIC" },
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      endpoints: [{ address: "127.0.0.1", ports: { http: backendPort } }],
    },
  } as KubeObject);
  await api.create(serviceEntries, otherService(0));
  await api.create(`${home}/gateways`, {
    ...{ apiVersion: `${group}/v1`, kind: "Gateway", metadata: { name: "edge" } },
    spec: { gatewayClassName: "istio", listeners: [{ name: "http", port: listenPort, protocol: "HTTP" }] },
  } as KubeObject);
}

/** A service that no route leads to; `turn` moves its endpoint. */
function otherService(turn: number, resourceVersion?: string): KubeObject {
  return {
    ...{ apiVersion: "networking.istio.io/v1", kind: "ServiceEntry" },
    metadata: { name: "other", namespace, ...(resourceVersion !== undefined && { resourceVersion }) },
    spec: {
      ...{ hosts: ["other.example"], location: "MESH_INTERNAL", resolution: "STATIC" },
      ports: [{ number: 80, name: "http", protocol: "HTTP" }],
      endpoints: [{ address: `192.0.2.${(turn % 200) + 1}` }],
    },
  } as KubeObject;
}

export async function changeEndpoints(api: KubeApi, turn: number): Promise<void> {
  const path = `${serviceEntries}/other`;
  await api.replace(path, otherService(turn, (await api.metadata(path))?.metadata.resourceVersion));
}

/** `revision` is a header of its answers. */
function route(name: string, revision: number, resourceVersion?: string): KubeObject {
  return {
    apiVersion: `${group}/v1`,
    kind: "HTTPRoute",
    metadata: { name, namespace, ...(resourceVersion !== undefined && { resourceVersion }) },
    spec: {
      parentRefs: [{ name: "edge" }],
      hostnames: [`${name}.example`],
      rules: [
        {
          matches: [{ path: { type: "PathPrefix", value: "/" } }],
          filters: [
            {
              type: "ResponseHeaderModifier",
              responseHeaderModifier: { set: [{ name: "x-revision", value: String(revision) }] },
            },
          ],
          backendRefs: [{ group: "networking.istio.io", kind: "Hostname", name: backendHost, port: 80 }],
        },
      ],
    },
  } as KubeObject;
}

/** `onCreated` takes the name of each, once the API server has it. */
export async function createRoutes(
  api: KubeApi,
  names: readonly string[],
  onCreated: (name: string) => void = () => undefined,
): Promise<void> {
  await inLanes(names, async (name) => {
    await api.create(`${home}/httproutes`, route(name, 0));
    onCreated(name);
  });
}

async function inLanes(names: readonly string[], work: (name: string) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let name = names[next++]; name !== undefined; name = names[next++]) await work(name);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** The status that a control plane gives each of these routes, by as many writes and as many at a time. */
export async function writeStatuses(api: KubeApi, names: readonly string[]): Promise<void> {
  await inLanes(names, (name) => writeStatus(api, name));
}

export async function writeStatus(api: KubeApi, name: string): Promise<void> {
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const condition = { status: "True", observedGeneration: 1, lastTransitionTime: now };
  const conditions = [
    { type: "Accepted", reason: "Accepted", message: "Route was valid", ...condition },
    { type: "ResolvedRefs", reason: "ResolvedRefs", message: "All references resolved", ...condition },
  ];
  const parentRef = { group, kind: "Gateway", name: "edge" };
  const body = {
    ...{ apiVersion: `${group}/v1`, kind: "HTTPRoute", metadata: { name, namespace } },
    status: { parents: [{ parentRef, controllerName: "istio.io/gateway-controller", conditions }] },
  };
  await api.apply(`${home}/httproutes/${name}/status`, body, { fieldManager: "bench", force: true });
}

/** Again while its status is written in between. */
export async function changeRoute(api: KubeApi, name: string, revision: number): Promise<void> {
  const path = `${home}/httproutes/${name}`;
  for (;;) {
    try {
      await api.replace(path, route(name, revision, (await api.metadata(path))?.metadata.resourceVersion));
      return;
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== "KUBE_CONFLICT") throw error;
    }
  }
}

interface Condition {
  readonly type: string;
  readonly status: string;
}

interface Stored extends KubeObject {
  readonly status?: {
    readonly listeners?: readonly { readonly attachedRoutes: number }[];
    readonly parents?: readonly { readonly conditions: readonly Condition[] }[];
  };
}

/** The status of the routes and of the Gateway as a watch sees them: asking again and again would keep the API server busy. */
export class SeenStatuses implements AsyncDisposable {
  readonly #stop = new AbortController();
  readonly #accepted = new Set<string>();
  readonly #following: Promise<unknown>;
  #attached: number | undefined;

  constructor(api: KubeApi) {
    this.#following = Promise.all([
      this.#follow(api, `${home}/httproutes`, (name, { status }) => {
        const conditions = status?.parents?.flatMap((parent) => parent.conditions) ?? [];
        if (conditions.some(({ type, status: value }) => type === "Accepted" && value === "True"))
          this.#accepted.add(name);
      }),
      this.#follow(api, `${home}/gateways`, (_, { status }) => {
        this.#attached = status?.listeners?.[0]?.attachedRoutes;
      }),
    ]);
  }

  /** How many routes are accepted. */
  get accepted(): number {
    return this.#accepted.size;
  }

  /** Undefined: the Gateway has no status yet. */
  get attached(): number | undefined {
    return this.#attached;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#following;
  }

  async #follow(api: KubeApi, path: string, note: (name: string, object: Stored) => void): Promise<void> {
    const onState = () => undefined;
    for await (const event of mirror<Stored>(api, { path, random: Math.random, onState }, this.#stop.signal)) {
      const objects = event.type === "list" ? event.objects : event.type === "put" ? [event.object] : [];
      for (const object of objects) note(object.metadata.name ?? "", object);
    }
  }
}
