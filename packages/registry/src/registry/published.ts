/** What the registry has said so far: turns the current value of a key into a change, or into none. */
import {
  type Endpoint,
  type EndpointsChange,
  type EndpointsKey,
  endpointsKeyText,
  equalJson,
  type Service,
  type ServiceChange,
  type ServiceKey,
  serviceKeyText,
} from "@flotilla/model";

/** A change of a service or of the endpoints of one shard. */
export type RegistryChange = ServiceChange | EndpointsChange;

/** The last value of every key, so that equal values produce no change. */
export class Published {
  readonly #services = new Map<string, { readonly key: ServiceKey; readonly value: Service }>();
  readonly #endpoints = new Map<string, { readonly key: EndpointsKey; readonly value: readonly Endpoint[] }>();

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
    ];
  }
}

/** Does a caller that still has `before` send requests to where nobody answers any more? */
export function losesEndpoints(before: readonly Endpoint[], after: readonly Endpoint[]): boolean {
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
