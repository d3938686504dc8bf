/** The mesh that this replica serves: the core, the streams' view of it, and whether it has been complete once. */

import type { Settings } from "../settings.ts";
import { Core } from "./core.ts";
import { type CoreSource, createCoreSource } from "./core-source.ts";

export class ServedMesh {
  readonly core: Core;
  readonly source: CoreSource;
  readonly #trustDomain: string | undefined;
  readonly #completed = Promise.withResolvers<void>();
  #isComplete = false;

  constructor(settings: Settings) {
    this.core = new Core({ features: settings });
    this.source = createCoreSource(this.core);
    this.#trustDomain = settings.trustDomain;
  }

  /** The first whole mesh is in force: before that nothing is served, and the trust domain is unknown. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  get completed(): Promise<void> {
    return this.#completed.promise;
  }

  complete(): void {
    this.#isComplete = true;
    this.#completed.resolve();
  }

  /** Its own one first, then the aliases. */
  trustDomains(): readonly [string, ...string[]] {
    const { trustDomain, trustDomainAliases } = this.core.mesh;
    return [this.#trustDomain ?? (trustDomain || "cluster.local"), ...trustDomainAliases];
  }
}
