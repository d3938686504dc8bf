/** The parts of Consul that are to be read: the datacenters that are stated, or that the agent lists now, by namespaces. */
import { type CatalogScope, type ConsulClient, readDatacenters } from "@flotilla/consul";
import { aborted, backoff, delay } from "@flotilla/runtime";

export interface ConsulScopesOptions {
  readonly client: ConsulClient;
  /** Empty: the agent's own; `*`: all that the agent lists. */
  readonly datacenters: readonly string[];
  /** Empty: Consul without namespaces. */
  readonly namespaces: readonly string[];
  readonly partition: string;
  /** How often the list of datacenters is read again, with `*`. */
  readonly datacentersEveryMs?: number | undefined;
  readonly random: () => number;
  /** `problem` may have changed. */
  readonly onState: () => void;
}

const usualEveryMs = 30_000;

export class ConsulScopes {
  readonly #options: ConsulScopesOptions;
  #problem: string | undefined;

  constructor(options: ConsulScopesOptions) {
    this.#options = options;
  }

  /** Why the datacenters cannot be listed. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** All that are to be read, and again from time to time where they may come and go. Ends with `stop`. */
  async *lists(stop: AbortSignal): AsyncGenerator<readonly CatalogScope[], void, undefined> {
    const { datacenters, datacentersEveryMs = usualEveryMs } = this.#options;
    while (!stop.aborted) {
      const scopes = await this.#scopes(stop);
      if (stop.aborted) return;
      yield scopes;
      // Consul has no blocking query for this list.
      await (datacenters.includes("*") ? delay(datacentersEveryMs, stop) : aborted(stop));
    }
  }

  async #scopes(stop: AbortSignal): Promise<readonly CatalogScope[]> {
    const { datacenters, namespaces, partition } = this.#options;
    const isStated = datacenters.length > 0 && !datacenters.includes("*");
    const names = isStated ? datacenters : await this.#known(stop);
    const spaces = namespaces.length === 0 ? [""] : namespaces;
    return names.flatMap((datacenter) => spaces.map((namespace) => ({ datacenter, namespace, partition })));
  }

  async #known(stop: AbortSignal): Promise<readonly string[]> {
    const { client, datacenters, random, onState } = this.#options;
    for (const wait of backoff({ firstMs: 100, maxMs: 10_000, random })) {
      try {
        const all = await readDatacenters(client, stop);
        this.#problem = undefined;
        onState();
        return datacenters.includes("*") ? all : all.slice(0, 1);
      } catch (cause) {
        if (stop.aborted) return [];
        this.#problem = cause instanceof Error ? cause.message : String(cause);
        onState();
        await delay(wait, stop);
      }
    }
    return [];
  }
}

/** For people, and to distinguish scopes. */
export function scopeText({ datacenter, namespace, partition }: CatalogScope): string {
  return [datacenter, partition, namespace].filter((part) => part !== "").join("/");
}
