/** Reports to ca, in a shared bucket, which proxies are connected here and which roots each has accepted by PCDS. */
import { randomUUID } from "node:crypto";
import { encodeTrustReport, type ProxyTrust, trustBundleOf, trustReportBucket, trustReportTtlMs } from "@flotilla/auth";
import type { Bus } from "@flotilla/bus";
import { decode, typeUrl } from "@flotilla/proto";
import { ProxyConfigSchema } from "@flotilla/proto/mesh/v1alpha1/proxy_pb";
import { sharedDelay } from "@flotilla/runtime";
import type { Core } from "../app/core.ts";
import type { StreamRecord } from "../serve/stream-record.ts";

export interface TrustReportOptions {
  readonly core: Core;
  readonly streams: () => readonly StreamRecord[];
  /** Between two looks. */
  readonly everyMs?: number;
}

const defaultEveryMs = 1_000;
/** Reported again unchanged after this, well before it vanishes. */
const againMs = trustReportTtlMs / 3;

/**
 * Writes reports until `stop` fires; without one, ca waits for the proxies.
 * @throws BusError when a report is not written; the next run writes it
 */
export function trustReports({
  core,
  streams,
  everyMs = defaultEveryMs,
}: TrustReportOptions): (bus: Bus, stop: AbortSignal) => Promise<void> {
  const bundles = new KnownBundles(core);
  const id = randomUUID();
  return async (bus, stop) => {
    const values = await bus.keyValue(trustReportBucket, { ttlMs: trustReportTtlMs });
    let reported: readonly ProxyTrust[] | undefined;
    let reportedAtMs = 0;
    while (!stop.aborted) {
      const proxies = streams().map((stream) => bundles.trustOf(stream));
      const isDue = reported === undefined || !isSame(reported, proxies) || performance.now() - reportedAtMs > againMs;
      if (isDue && bus.state.connected) {
        await values.put(id, encodeTrustReport(proxies));
        [reported, reportedAtMs] = [proxies, performance.now()];
      }
      await sharedDelay(everyMs, stop);
    }
  };
}

function isSame(before: readonly ProxyTrust[], now: readonly ProxyTrust[]): boolean {
  return before.length === now.length && before.every((trust, i) => trust === now[i]);
}

function trustOf({ proxy, identities, peer }: StreamRecord, roots: readonly string[] | undefined): ProxyTrust {
  const { id, namespace } = proxy;
  const suffix = `.${namespace}`;
  const name = id.endsWith(suffix) ? id.slice(0, -suffix.length) : id;
  return {
    proxy: id,
    identities,
    pod: `${namespace}/${name}`,
    host: peer.replace(/:\d+$/, "").replace(/^\[(.*)\]$/, "$1"),
    ...(roots !== undefined && { roots }),
  };
}

/** Ids of roots by the version of the resource that carried them. */
class KnownBundles {
  readonly #core: Core;
  readonly #rootsByVersion = new Map<string, readonly string[]>();
  readonly #last = new WeakMap<StreamRecord, { readonly version: string | undefined; readonly trust: ProxyTrust }>();

  constructor(core: Core) {
    this.#core = core;
  }

  /** The same object while the stream has accepted nothing else. */
  trustOf(stream: StreamRecord): ProxyTrust {
    const version = stream.acknowledgedVersion(typeUrl.proxyConfig);
    const known = this.#last.get(stream);
    if (known?.version === version && known !== undefined) return known.trust;
    if (version !== undefined && !this.#rootsByVersion.has(version)) this.#learn(stream);
    const roots = version === undefined ? undefined : this.#rootsByVersion.get(version);
    const trust = trustOf(stream, roots);
    // Roots that are not known yet may be the next time.
    if (version === undefined || roots !== undefined) this.#last.set(stream, { version, trust });
    return trust;
  }

  /** The version of now; one that came and went unseen is not known, and its proxy is waited for. */
  #learn({ proxy }: StreamRecord): void {
    const set = this.#core.resources(this.#core.subjectOf(proxy), typeUrl.proxyConfig);
    const resource = set?.byName.get("");
    if (set === undefined || resource === undefined) return;
    const { caCertificatesPem } = decode(ProxyConfigSchema, resource.bytes);
    this.#rootsByVersion.set(
      set.version,
      trustBundleOf(caCertificatesPem.join("")).roots.map(({ id }) => id),
    );
  }
}
