/** A source for tests: sets that a test replaces, without proxies and views. */
import { checksum } from "@flotilla/model";
import { type FailedResources, type NameSet, type Resource, type ResourceSet, rulesOf } from "@flotilla/xds";
import type { ProxySession, ResourceSource, Urgency } from "../resource-source.ts";

export class StaticSource implements ResourceSource {
  position = 0;
  readonly latest = undefined;
  /** Resources of this type cannot be made. */
  failing: string | undefined;
  /** Resources of any type that cannot be made. */
  failed: FailedResources | undefined;
  readonly #sets = new Map<string, ResourceSet>();
  readonly #parts = new WeakMap<ResourceSet, Map<string, ResourceSet>>();
  readonly #listeners = new Set<(typeUrl: string, urgency: Urgency) => void>();

  get sessions(): number {
    return this.#listeners.size;
  }

  put(typeUrl: string, resources: readonly Resource[], urgency: Urgency = "normal"): void {
    this.#sets.set(typeUrl, setOf(typeUrl, resources));
    this.position++;
    for (const listener of [...this.#listeners]) listener(typeUrl, urgency);
  }

  open(_client: unknown, onStale: (typeUrl: string, urgency: Urgency) => void): ProxySession {
    const listener = (typeUrl: string, urgency: Urgency): void => onStale(typeUrl, urgency);
    this.#listeners.add(listener);
    return {
      resources: (typeUrl, names) => {
        const set = this.#resources(typeUrl, names);
        return set && this.failed ? { ...set, failed: this.failed } : set;
      },
      watched: () => [],
      forget: () => undefined,
      close: () => void this.#listeners.delete(listener),
    };
  }

  #resources(typeUrl: string, names: NameSet | undefined): ResourceSet | undefined {
    if (typeUrl === this.failing) throw new Error(`no ${typeUrl}: set to fail by the test`);
    const all = this.#sets.get(typeUrl);
    if (all === undefined) return rulesOf(typeUrl).order > 8 ? undefined : this.#empty(typeUrl);
    if (names === undefined) return all;
    const parts = this.#parts.get(all) ?? new Map<string, ResourceSet>();
    this.#parts.set(all, parts);
    const part =
      parts.get(names.key) ??
      setOf(
        typeUrl,
        [...all.byName.values()].filter(({ name }) => names.has(name)),
      );
    parts.set(names.key, part);
    return part;
  }

  #empty(typeUrl: string): ResourceSet {
    const set = setOf(typeUrl, []);
    this.#sets.set(typeUrl, set);
    return set;
  }
}

function setOf(typeUrl: string, resources: readonly Resource[]): ResourceSet {
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  return { typeUrl, byName, version: checksum(resources.map(({ name, version }) => `${name} ${version}`).join("\n")) };
}
