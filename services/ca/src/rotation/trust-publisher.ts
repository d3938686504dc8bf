/** Tells the roots that the mesh trusts on the bus, from where xds-server sends them to the proxies. */
import { trustBundleKind, trustBundleOf } from "@flotilla/auth";
import { type Bus, createPublisher } from "@flotilla/bus";
import type { Logger } from "@flotilla/runtime";

export interface TrustPublisherOptions {
  readonly bus: Bus;
  readonly namespace: string;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** One for each time that this replica becomes the one that tells: what others told meanwhile is read again. */
export function createTrustPublisher({ bus, namespace, nowMs, log }: TrustPublisherOptions) {
  const publisher = createPublisher({ bus, publisher: "ca", seal: undefined, log, nowMs });
  let told = "";
  return async (rootsPem: string): Promise<void> => {
    if (rootsPem === told) return;
    const key = { kind: trustBundleKind, namespace, name: "mesh" };
    const value = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: trustBundleOf(rootsPem) };
    await publisher.synchronize([{ type: "config", op: "put", key, value }]);
    told = rootsPem;
  };
}
