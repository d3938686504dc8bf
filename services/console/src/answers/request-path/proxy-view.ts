/** A proxy and its configuration, as far as a way meets it: resources are asked for by name once the evaluator needs them. */
import type { ProxyDetail } from "@flotilla/console/contract";
import type { JsonObject } from "@flotilla/proto";
import {
  type Arrival,
  at,
  objectsAt,
  type ProxyConfiguration,
  resolveHost,
  type Trace,
  traceCall,
} from "@flotilla/traffic";
import { type Answer, expectAnswer, type Services } from "../../upstream/services.ts";

/** As `/debug/proxy` of xds-server describes a proxy. */
type Described = Pick<ProxyDetail, "proxy" | "namespace" | "type" | "metadata">;

type NamedType = "rds" | "cds" | "eds";

/** A trace asks for a route, then for its clusters, then for their endpoints. */
const maxRounds = 6;

export class ProxyView {
  readonly node: Described;
  readonly listeners: readonly JsonObject[];
  readonly #services: Services;
  readonly #token: string;
  readonly #scopes: readonly JsonObject[];
  readonly #known = new Map<string, JsonObject | undefined>();
  readonly #missing = new Map<string, { readonly type: NamedType; readonly name: string }>();

  private constructor(services: Services, token: string, node: Described, dump: unknown) {
    this.#services = services;
    this.#token = token;
    this.node = node;
    const parts = objectsAt(dump as JsonObject, "configs");
    this.listeners = parts
      .flatMap((part) => objectsAt(part, "dynamicListeners"))
      .flatMap((one) => {
        const listener = at(one, "activeState", "listener");
        return listener === undefined ? [] : [listener as JsonObject];
      });
    this.#scopes = parts
      .flatMap((part) => objectsAt(part, "dynamicScopedRouteConfigs"))
      .flatMap((one) => objectsAt(one, "scopedRouteConfigs"));
  }

  /** @throws RequestRefused for a proxy that is not connected, or not shown to the caller */
  static async load(services: Services, token: string, proxyID: string): Promise<ProxyView> {
    const [node, dump] = await Promise.all([
      services.first<Described>("xds-server", { path: "/debug/proxy", query: { proxyID }, token }),
      services.first<unknown>("xds-server", {
        path: "/debug/config_dump",
        query: { proxyID, types: "lds,srds" },
        token,
      }),
    ]);
    return new ProxyView(services, token, expectAnswer(node), expectAnswer(dump));
  }

  /** @throws RequestRefused when xds-server stops answering */
  async trace(arrival: Arrival): Promise<Trace> {
    for (let round = 1; ; round++) {
      this.#missing.clear();
      const trace = traceCall(this.#configuration(), arrival);
      if (this.#missing.size === 0 || round === maxRounds) return trace;
      await Promise.all([...this.#missing].map(([key, { type, name }]) => this.#fetch(key, type, name)));
    }
  }

  /** The address of a host, by the name table that the proxy has. */
  async resolve(host: string): Promise<string | undefined> {
    const { namespace, proxy } = this.node;
    const answer = await this.#ask<JsonObject>("/debug/ndsz", { proxyID: proxy });
    const [table] = answer.isAnswered ? objectsAt(answer.value, "configs") : [];
    return resolveHost(table, namespace, host);
  }

  /** Objects that a resource was made from; empty where xds-server has no explanation. */
  async madeFrom(type: string, name: string): Promise<readonly string[]> {
    const query = { proxyID: this.node.proxy, type, name };
    const answer = await this.#ask<{ readonly madeFrom: readonly { readonly object: string }[] }>(
      "/debug/explain",
      query,
    );
    return answer.isAnswered ? answer.value.madeFrom.map(({ object }) => object) : [];
  }

  #ask<T>(path: string, query: Readonly<Record<string, string>>): Promise<Answer<T>> {
    return this.#services.first<T>("xds-server", { path, query, token: this.#token });
  }

  #configuration(): ProxyConfiguration {
    const of = (type: NamedType) => (name: string) => this.#find(type, name);
    return {
      ...{ listeners: this.listeners, scopes: this.#scopes },
      ...{ routes: of("rds"), clusters: of("cds"), endpoints: of("eds") },
    };
  }

  #find(type: NamedType, name: string): JsonObject | undefined {
    const key = `${type} ${name}`;
    if (name !== "" && !this.#known.has(key)) this.#missing.set(key, { type, name });
    return this.#known.get(key);
  }

  async #fetch(key: string, type: NamedType, name: string): Promise<void> {
    const query = { proxyID: this.node.proxy, type, name };
    const answer = await this.#ask<{ readonly content: JsonObject }>("/debug/resource", query);
    const isUnknown = !answer.isAnswered && answer.status === 404;
    this.#known.set(key, isUnknown ? undefined : expectAnswer(answer).content);
  }
}
