/** What a change leads to, gathered while it is computed: only what differs from what was said before. */

import type { Endpoint, EndpointsKey, Service, ServiceKey } from "@flotilla/model";
import { ownValue } from "@flotilla/model";
import { losesEndpoints, type Published, type RegistryChange } from "./published.ts";

/** The changes that follow from a group of inputs. */
export interface RegistryUpdate {
  readonly changes: readonly RegistryChange[];
  /** Callers may still send requests to endpoints that are gone. */
  readonly urgent: boolean;
}

/** Collects the changes of one update. */
export class UpdateInProgress {
  readonly changes: RegistryChange[] = [];
  urgent = false;
  readonly #published: Published;
  readonly #drainingLabel: string;

  constructor(published: Published, drainingLabel: string) {
    this.#published = published;
    this.#drainingLabel = drainingLabel;
  }

  /** `undefined`: there is none. */
  service(key: ServiceKey, service: Service | undefined): void {
    const change = this.#published.service(key, service);
    if (change !== undefined) this.changes.push(change);
  }

  endpoints({ shard, namespace, hostname }: EndpointsKey, found: readonly Endpoint[]): void {
    const endpoints = withDraining(found, this.#drainingLabel);
    const key = { shard, namespace, hostname };
    const before = this.#published.endpointsOf(key);
    const change = this.#published.endpoints(key, endpoints);
    if (change === undefined) return;
    this.urgent ||= losesEndpoints(before, endpoints);
    this.changes.push(change);
  }
}

/** Whatever else is known of their health; observed at a running istiod. */
function withDraining(endpoints: readonly Endpoint[], label: string): readonly Endpoint[] {
  const drains = ({ labels }: Endpoint) => label !== "" && Boolean(ownValue(labels, label));
  if (!endpoints.some(drains)) return endpoints;
  return endpoints.map((endpoint) => (drains(endpoint) ? { ...endpoint, health: "draining" } : endpoint));
}
