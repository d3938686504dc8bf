/** The control plane as its clients and operators see it. */
import { join } from "node:path";
import type { ControlPlane } from "@flotilla/cli/testing";
import { bytesToJson, create, type JsonObject, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { objectsAt, textAt } from "@flotilla/traffic";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { Caller } from "../caller.ts";
import { writeWhole } from "./embedded.ts";
import { namespace } from "./mesh-builder.ts";

export interface Problem {
  /** `Kind/namespace/name`. */
  readonly object?: string;
  readonly field?: string;
  readonly reason: string;
}

/** Metric → object → finding. */
export type PushStatus = Readonly<Record<string, Readonly<Record<string, { readonly message: string }>>>>;

export class Plane {
  readonly #controlPlane: ControlPlane;
  readonly #config: string;

  /** @param config the directory of its mesh */
  constructor(controlPlane: ControlPlane, config: string) {
    this.#controlPlane = controlPlane;
    this.#config = config;
  }

  /** Writes or replaces a file of the mesh. */
  write(file: string, yaml: string): void {
    writeWhole(join(this.#config, file), yaml);
  }

  pushStatus(): Promise<PushStatus> {
    return this.#json(this.#controlPlane.layout.ports.http, "/debug/push_status");
  }

  /** The value of a metric without labels. */
  async metric(name: string): Promise<number> {
    const text = await this.#text(this.#controlPlane.layout.ports.http, "/metrics");
    const line = text.split("\n").find((one) => one.startsWith(`${name} `));
    if (line === undefined) throw new Error(`there is no metric ${name}`);
    return Number(line.slice(name.length + 1));
  }

  /** Objects that were refused. */
  async problems(): Promise<readonly Problem[]> {
    const page = await this.#json<{ readonly problems: readonly Problem[] }>(
      this.#controlPlane.layout.ports.configHealth,
      "/debug/problems",
    );
    return page.problems;
  }

  /** A simulated proxy of redirected connections, with whatever it is sent. */
  async connectProxy(): Promise<ConnectedProxy> {
    const proxy = new ConnectedProxy(`127.0.0.1:${this.#controlPlane.layout.ports.xds}`);
    await proxy.settled();
    return proxy;
  }

  async #json<Shape>(port: number, path: string): Promise<Shape> {
    return JSON.parse(await this.#text(port, path)) as Shape;
  }

  async #text(port: number, path: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    if (!response.ok) throw new Error(`${path} answers ${response.status}`);
    return response.text();
  }
}

export class ConnectedProxy implements AsyncDisposable {
  readonly #client: XdsClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(address: string) {
    const metadata = { NAMESPACE: namespace, LABELS: { app: "redirected" }, INSTANCE_IPS: "192.0.2.2" };
    this.#client = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address }),
      node: create(NodeSchema, {
        id: `sidecar~192.0.2.2~redirected.${namespace}~${namespace}.svc.cluster.local`,
        metadata,
      }),
      backoffMs: () => 200,
    });
    for (const type of [typeUrl.cluster, typeUrl.listener, typeUrl.nameTable]) this.#client.subscribe(type);
    this.#running = this.#client.run(this.#stop.signal);
  }

  /** Resolves when everything that its listeners name is there. */
  async settled(): Promise<void> {
    const held = (type: string) => this.#client.state.held(type).size;
    const has = (type: string) => ({ withinMs: 5_000, what: `${type} of the simulated proxy` });
    for (const type of [typeUrl.cluster, typeUrl.listener, typeUrl.nameTable])
      await until(() => held(type) > 0, has(type));
    const routes = new Set(this.#resources(typeUrl.listener).flatMap(routeNames));
    this.#client.subscribe(typeUrl.route, [...routes]);
    await until(() => held(typeUrl.route) === routes.size, has(typeUrl.route));
  }

  /** In a line, what becomes of a call. */
  calls(url: string): string {
    return new Caller(namespace, (type, names) => this.#resources(type, names)).calls(url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  #resources(type: string, names?: readonly string[]): readonly JsonObject[] {
    return [...this.#client.state.held(type)]
      .filter(([name]) => names === undefined || names.includes(name))
      .map(([, { bytes }]) => bytesToJson(type, bytes) as JsonObject);
  }
}

function routeNames(listener: JsonObject): readonly string[] {
  const chains = [...objectsAt(listener, "filterChains"), listener["defaultFilterChain"] ?? {}];
  return chains
    .flatMap((chain) => objectsAt(chain, "filters"))
    .map((filter) => textAt(filter, "typedConfig", "rds", "routeConfigName"))
    .filter((name) => name !== "");
}
