/** Meshes, changes and proxies at random, from a seed: the same seed gives the same history. */
import { type KubeObject, type Proxy, parseNode } from "@flotilla/model";

export type Random = () => number;

const namespaces = ["shop", "bank", "istio-system"];
const apps = ["a", "b", "c"];

export function randomMesh(next: Random): RandomMesh {
  return new RandomMesh(next);
}

/** Objects by kind and name; `change` replaces, adds or removes one. */
export class RandomMesh {
  readonly #next: Random;
  readonly #objects = new Map<string, KubeObject>();

  constructor(next: Random) {
    this.#next = next;
    for (let i = 0; i < 14; i++) this.change();
  }

  objects(): readonly KubeObject[] {
    return [...this.#objects.values()];
  }

  change(): void {
    const make = this.#pick([
      ...[this.#serviceEntry, this.#serviceEntry, this.#virtualService, this.#destinationRule],
      ...[this.#sidecar, this.#peerAuthentication, this.#authorizationPolicy, this.#telemetry],
    ]);
    const object = make.call(this);
    const key = `${object.kind}/${object.metadata?.namespace}/${object.metadata?.name}`;
    if (this.#objects.has(key) && this.#next() < 0.4) this.#objects.delete(key);
    else this.#objects.set(key, object);
  }

  proxy(index: number): Proxy {
    const namespace = this.#pick(namespaces.slice(0, 2));
    const address = `10.0.0.${(index % 250) + 1}`;
    return parseNode({
      id: `sidecar~${address}~p${index}.${namespace}~${namespace}.svc.cluster.local`,
      locality: { region: "r", zone: this.#pick(["z1", "z2"]), subzone: "" },
      metadata: {
        NAMESPACE: namespace,
        CLUSTER_ID: "Kubernetes",
        INSTANCE_IPS: address,
        LABELS: { app: this.#pick(apps), ...(this.#next() < 0.3 && { version: "v1" }) },
      },
    });
  }

  #serviceEntry(): KubeObject {
    const [name, namespace] = [this.#pick(["s1", "s2", "s3", "s4"]), this.#pick(namespaces.slice(0, 2))];
    const endpoint = () => ({
      address: `10.0.0.${Math.floor(this.#next() * 6) + 1}`,
      labels: { app: this.#pick(apps), ...(this.#next() < 0.5 && { version: "v1" }) },
      ...(this.#next() < 0.3 && { locality: `r/${this.#pick(["z1", "z2"])}` }),
    });
    return this.#object("networking.istio.io/v1", "ServiceEntry", namespace, name, {
      hosts: [`${name}.${namespace}.example`],
      addresses: [`10.9.${namespaces.indexOf(namespace)}.${name.slice(1)}`],
      ports: [
        this.#pick([
          { number: 80, name: "http", protocol: "HTTP" },
          { number: 90, name: "tcp", protocol: "TCP" },
        ]),
      ],
      location: "MESH_INTERNAL",
      resolution: this.#pick(["STATIC", "STATIC", "DNS"]),
      endpoints: [endpoint(), endpoint()],
      ...(this.#next() < 0.2 && { exportTo: ["."] }),
    });
  }

  #virtualService(): KubeObject {
    const [host, to] = [this.#host(), this.#host()];
    return this.#object("networking.istio.io/v1", "VirtualService", this.#pick(namespaces.slice(0, 2)), this.#name(), {
      hosts: [host],
      http: [
        {
          ...(this.#next() < 0.4 && { match: [{ sourceLabels: { app: this.#pick(apps) } }] }),
          route: [{ destination: { host: to, ...(this.#next() < 0.3 && { subset: "v1" }) } }],
          timeout: this.#pick(["1s", "2s"]),
        },
      ],
    });
  }

  #destinationRule(): KubeObject {
    const selected = this.#next() < 0.3 && { workloadSelector: { matchLabels: { app: this.#pick(apps) } } };
    return this.#object("networking.istio.io/v1", "DestinationRule", this.#pick(namespaces), this.#name(), {
      host: this.#host(),
      ...selected,
      trafficPolicy: { connectionPool: { tcp: { maxConnections: Math.floor(this.#next() * 5) + 1 } } },
      subsets: [{ name: "v1", labels: { version: "v1" } }],
    });
  }

  #sidecar(): KubeObject {
    const selected = this.#next() < 0.6 && { workloadSelector: { labels: { app: this.#pick(apps) } } };
    const hosts = this.#pick([["*/*"], ["./*"], ["shop/*"], ["bank/*", "./*"]]);
    return this.#object("networking.istio.io/v1", "Sidecar", this.#pick(namespaces.slice(0, 2)), this.#name(), {
      ...selected,
      egress: [{ hosts }],
    });
  }

  #peerAuthentication(): KubeObject {
    const selected = this.#next() < 0.5 && { selector: { matchLabels: { app: this.#pick(apps) } } };
    return this.#object("security.istio.io/v1", "PeerAuthentication", this.#pick(namespaces), this.#name(), {
      ...selected,
      mtls: { mode: this.#pick(["STRICT", "PERMISSIVE", "DISABLE"]) },
    });
  }

  #authorizationPolicy(): KubeObject {
    const selected = this.#next() < 0.5 && { selector: { matchLabels: { app: this.#pick(apps) } } };
    return this.#object("security.istio.io/v1", "AuthorizationPolicy", this.#pick(namespaces), this.#name(), {
      ...selected,
      action: this.#pick(["ALLOW", "DENY"]),
      rules: [{ to: [{ operation: { paths: [this.#pick(["/x", "/y"])] } }] }],
    });
  }

  #telemetry(): KubeObject {
    return this.#object("telemetry.istio.io/v1", "Telemetry", this.#pick(namespaces), this.#name(), {
      accessLogging: [{ providers: [{ name: "envoy" }], disabled: this.#next() < 0.5 }],
    });
  }

  #object(apiVersion: string, kind: string, namespace: string, name: string, spec: object): KubeObject {
    return { apiVersion, kind, metadata: { name, namespace }, spec } as KubeObject;
  }

  #host(): string {
    return `${this.#pick(["s1", "s2", "s3", "s4"])}.${this.#pick(namespaces.slice(0, 2))}.example`;
  }

  #name(): string {
    return this.#pick(["x", "y"]);
  }

  #pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.#next() * items.length)];
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }
}
