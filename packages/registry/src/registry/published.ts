/**
 * Published state of the registry: turns the current value of a key into a change, or into none. Gathers the results of a change while it
 * is computed: only differences from the state published before. A computation that fails publishes nothing, so that its former results stay.
 */
import {
  type Endpoint,
  type EndpointsChange,
  type EndpointsKey,
  endpointsKeyText,
  equalJson,
  ownValue,
  type Service,
  type ServiceChange,
  type ServiceKey,
  serviceKeyText,
  type Workload,
  type WorkloadChange,
  type WorkloadKey,
  workloadKeyText,
} from "@flotilla/model";
import type { RegistryProblem } from "./problem.ts";

/** A change of a service, of the endpoints of one shard, or of a workload. */
export type RegistryChange = ServiceChange | EndpointsChange | WorkloadChange;

/** The last value of every key, so that equal values produce no change. */
export class Published {
  readonly #services = new Map<string, { readonly key: ServiceKey; readonly value: Service }>();
  readonly #endpoints = new Map<string, { readonly key: EndpointsKey; readonly value: readonly Endpoint[] }>();
  readonly #workloads = new Map<string, { readonly key: WorkloadKey; readonly value: Workload }>();

  service(key: ServiceKey, value: Service | undefined): ServiceChange | undefined {
    const text = serviceKeyText(key);
    const before = this.#services.get(text);
    if (value === undefined) {
      return this.#services.delete(text) ? { type: "service", op: "delete", key } : undefined;
    }
    if (before !== undefined && equalJson(before.value, value)) return undefined;
    this.#services.set(text, { key, value });
    return { type: "service", op: "put", key, value };
  }

  /** A service without endpoints has no entry: an empty list and a removal are the same. */
  endpoints(key: EndpointsKey, value: readonly Endpoint[]): EndpointsChange | undefined {
    const text = endpointsKeyText(key);
    const before = this.#endpoints.get(text);
    if (value.length === 0) {
      return this.#endpoints.delete(text) ? { type: "endpoints", op: "delete", key } : undefined;
    }
    if (before !== undefined && equalJson(before.value, value)) return undefined;
    this.#endpoints.set(text, { key, value });
    return { type: "endpoints", op: "put", key, value };
  }

  workload(key: WorkloadKey, value: Workload | undefined): WorkloadChange | undefined {
    const text = workloadKeyText(key);
    const before = this.#workloads.get(text);
    if (value === undefined) {
      return this.#workloads.delete(text) ? { type: "workload", op: "delete", key } : undefined;
    }
    if (before !== undefined && equalJson(before.value, value)) return undefined;
    this.#workloads.set(text, { key, value });
    return { type: "workload", op: "put", key, value };
  }

  endpointsOf(key: EndpointsKey): readonly Endpoint[] {
    return this.#endpoints.get(endpointsKeyText(key))?.value ?? [];
  }

  services(): Iterable<Service> {
    return Array.from(this.#services.values(), ({ value }) => value);
  }

  /** Everything as puts, for a reader that starts now. */
  all(): readonly RegistryChange[] {
    return [
      ...Array.from(this.#services.values(), ({ key, value }) => ({ type: "service", op: "put", key, value }) as const),
      ...Array.from(
        this.#endpoints.values(),
        ({ key, value }) => ({ type: "endpoints", op: "put", key, value }) as const,
      ),
      ...Array.from(
        this.#workloads.values(),
        ({ key, value }) => ({ type: "workload", op: "put", key, value }) as const,
      ),
    ];
  }
}

/** Does a caller that still has `before` send requests to endpoints that are gone? */
function losesEndpoints(before: readonly Endpoint[], after: readonly Endpoint[]): boolean {
  if (before.length === 0) return false;
  const usable = new Set(after.filter(isUsable).map(addressText));
  return before.some((endpoint) => isUsable(endpoint) && !usable.has(addressText(endpoint)));
}

function isUsable({ health }: Endpoint): boolean {
  return health === "healthy" || health === "unknown";
}

function addressText({ addresses, port, servicePortName }: Endpoint): string {
  return `${addresses[0]}|${port}|${servicePortName}`;
}

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

  workload(key: WorkloadKey, workload: Workload | undefined): void {
    const change = this.#published.workload(key, workload);
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

/** Regardless of their health otherwise; observed at a running istiod. */
function withDraining(endpoints: readonly Endpoint[], label: string): readonly Endpoint[] {
  const drains = ({ labels }: Endpoint) => label !== "" && Boolean(ownValue(labels, label));
  if (!endpoints.some(drains)) return endpoints;
  return endpoints.map((endpoint) => (drains(endpoint) ? { ...endpoint, health: "draining" } : endpoint));
}

/** Objects that a computation failed for. The fault stays theirs, their former results stay in force, and the others go on. */
export class FailedObjects {
  readonly #problems = new Map<string, RegistryProblem>();

  /**
   * The result; undefined when the computation throws, which is a problem of the object until it succeeds.
   * @param part what is computed, as a problem names it
   */
  attempt<Result>(object: string, part: string, compute: () => Result): Result | undefined {
    const text = `${object} ${part}`;
    try {
      const result = compute();
      this.#problems.delete(text);
      return result;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#problems.set(text, { object, field: "", reason: `${part} cannot be computed: ${reason}` });
      return undefined;
    }
  }

  problems(): Iterable<RegistryProblem> {
    return this.#problems.values();
  }
}
