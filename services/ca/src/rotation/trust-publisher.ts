/** Publishes the roots that the mesh trusts, which xds-server sends to the proxies, and the revocation lists, which it applies. */
import { trustBundleKind, trustBundleOf } from "@flotilla/auth";
import { type Bus, createPublisher } from "@flotilla/bus";
import type { Logger } from "@flotilla/runtime";

export interface TrustPublisherOptions {
  readonly bus: Bus;
  /** Of the control plane, where the TrustBundle object is. */
  readonly namespace: string;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/** The size of a change beside its lists: roots, keys, headers. */
const otherBytes = 64 * 1024;

/** One for each time that this replica becomes the one that publishes: versions of other publishers are read again. */
export function createTrustPublisher({ bus, namespace, nowMs, log }: TrustPublisherOptions) {
  const publisher = createPublisher({ bus, publisher: "ca", seal: undefined, log, nowMs });
  let published = "";
  return async (rootsPem: string, crlPem: string): Promise<void> => {
    if (rootsPem + crlPem === published) return;
    const fits = crlPem.length + otherBytes <= bus.maxMessageBytes;
    if (!fits)
      log.error("revocation lists are larger than a message: only ca refuses the certificates in them", {
        bytes: crlPem.length,
        maxBytes: bus.maxMessageBytes,
      });
    const key = { kind: trustBundleKind, namespace, name: "mesh" };
    const value = {
      key,
      labels: {},
      annotations: {},
      creationTimeMs: 0,
      spec: trustBundleOf(rootsPem, fits ? crlPem : ""),
    };
    await publisher.synchronize([{ type: "config", op: "put", key, value }]);
    published = rootsPem + crlPem;
  };
}
