/** Holdups of a phase of a rotation, by name and with the reason. Pure. */
import type { ProxyTrust } from "@flotilla/auth";
import { certificatesInUse, type Holders, isAt, nameOf, proxyOf, renewalMs } from "./holders.ts";
import type { Holding } from "./ledger.ts";
import type { Roots, RotationState } from "./rotation-state.ts";

/** A replica of ca, as it reports itself. */
export interface Replica {
  readonly name: string;
  /** By its own clock. */
  readonly seenMs: number;
  /** The state that it has applied: the rotation's id and phase. */
  readonly applied: string;
  /** Id of the root of the material in use there, apart from rotations. */
  readonly root: string;
}

export interface Evidence extends Holders {
  readonly replicas: readonly Replica[];
  /** Certificates from before are not in the ledger. Undefined: all are. */
  readonly recordedSinceMs: number | undefined;
  /** The longest that a certificate may live. */
  readonly maxTtlMs: number;
  readonly nowMs: number;
}

export interface Holdup {
  /** The name that the operator gives to go on without it. */
  readonly name: string;
  readonly reason: string;
  /** Of holders of certificates: a proxy of theirs has a stream of discovery. */
  readonly isConnected?: boolean;
  /** `NAME.NAMESPACE` of the proxy, if it is known. */
  readonly proxy?: string;
}

const silentMs = 15_000;

export function appliedText({ id, phase }: RotationState): string {
  return `${id} ${phase}`;
}

/** Those that the operator does not wait for are left out. Sorted by name. */
export function holdupsOf(state: RotationState, evidence: Evidence): readonly Holdup[] {
  const { roots, phase } = state;
  if (roots === undefined || phase === "idle") return [];
  const all = [...replicasBehind(state, evidence), ...holdersBehind(state, roots, evidence)];
  const wanted = all.filter(({ name }) => !state.without.includes(name));
  return wanted.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function holdersBehind({ phase }: RotationState, roots: Roots, evidence: Evidence): readonly Holdup[] {
  switch (phase) {
    case "trusting":
      return [...unrecorded(evidence), ...notTrusting(roots.next, evidence)];
    case "issuing":
      return [...unrecorded(evidence), ...stillOf(roots.old, evidence)];
    case "reverting":
      return stillOf(roots.next, evidence);
    case "finishing":
      return roots.origin === "plugged-in" ? notPluggedIn(roots.next, evidence) : [];
    case "idle":
      return [];
  }
}

/** Holders of live certificates, and connected proxies, that are not known to trust a root. */
function notTrusting(root: string, evidence: Evidence): readonly Holdup[] {
  const { proxies } = evidence;
  const acknowledged = proxies.filter(({ roots }) => roots?.includes(root) === true);
  const inUse = certificatesInUse(evidence);
  const behind = inUse.filter(
    (holding) => !holding.roots.includes(root) && !acknowledged.some((proxy) => isAt(proxy, holding)),
  );
  const foreign = proxies.filter(
    (proxy) =>
      proxy.identities.length > 0 &&
      proxy.roots?.includes(root) !== true &&
      !inUse.some((holding) => isAt(proxy, holding)),
  );
  const texts: Texts = {
    // Agents that do not subscribe to PCDS take roots from the answer to their next request for a certificate.
    ofConnected: (proxy) =>
      proxy.roots === undefined ? "takes the new root with its next certificate" : "has not taken the new root",
    ofDisconnected: "has not taken the new root",
  };
  return [
    ...onePerHolder(behind, evidence, texts),
    ...foreign.map(({ proxy, identities }) => ({
      ...{ name: proxy, proxy, isConnected: true },
      reason: `is connected as ${identities.join(", ")} and is not known to trust the new root`,
    })),
  ];
}

function stillOf(root: string, evidence: Evidence): readonly Holdup[] {
  const old = certificatesInUse(evidence).filter(({ issuer }) => issuer === root);
  const text = "holds a certificate of the root that goes";
  return onePerHolder(old, evidence, { ofConnected: () => text, ofDisconnected: text });
}

interface Texts {
  readonly ofConnected: (proxy: ProxyTrust) => string;
  readonly ofDisconnected: string;
}

/** One line for each holder: the certificate that ends last. */
function onePerHolder(holdings: readonly Holding[], { proxies, nowMs }: Evidence, texts: Texts): readonly Holdup[] {
  const last = new Map<string, Holding>();
  for (const holding of holdings) {
    const name = nameOf(holding);
    if ((last.get(name)?.notAfterMs ?? 0) < holding.notAfterMs) last.set(name, holding);
  }
  return [...last].map(([name, holding]) => {
    const connected = proxies.find((proxy) => isAt(proxy, holding));
    const proxy = connected?.proxy ?? proxyOf(holding);
    const dueMs = renewalMs(holding);
    const when = dueMs > nowMs ? `expected at ${isoTime(dueMs)}` : `overdue since ${isoTime(dueMs)}`;
    // Services of the control plane have no stream of discovery: they renew when the file of roots that they read changes.
    if (holding.place.startsWith("instance "))
      return {
        name,
        reason: `${texts.ofDisconnected}; it renews when its root-cert.pem changes, and at ${isoTime(dueMs)}`,
      };
    const reason =
      connected === undefined
        ? `is not connected and ${texts.ofDisconnected}; its certificate ends at ${isoTime(holding.notAfterMs)}`
        : `is connected and ${texts.ofConnected(connected)}; its renewal is ${when}`;
    return { name, reason, isConnected: connected !== undefined, ...(proxy !== undefined && { proxy }) };
  });
}

function unrecorded({ recordedSinceMs, maxTtlMs, nowMs }: Evidence): readonly Holdup[] {
  if (recordedSinceMs === undefined || nowMs >= recordedSinceMs + maxTtlMs) return [];
  const since = isoTime(recordedSinceMs);
  const reason = `certificates issued before ${since} are not known; the last may end at ${isoTime(recordedSinceMs + maxTtlMs)}`;
  return [{ name: "unrecorded", reason }];
}

function replicasBehind(state: RotationState, { replicas, nowMs }: Evidence): readonly Holdup[] {
  const wanted = appliedText(state);
  return replicas.flatMap(({ name, seenMs, applied }) => {
    if (nowMs - seenMs > silentMs)
      return [
        {
          name,
          reason: `the last report of this replica of ca was at ${isoTime(seenMs)}; it may go on with the old state`,
        },
      ];
    return applied === wanted ? [] : [{ name, reason: "this replica of ca has not followed yet" }];
  });
}

function notPluggedIn(root: string, { replicas }: Evidence): readonly Holdup[] {
  const behind = replicas.filter((replica) => replica.root !== root);
  const reason = "ROOT_CA_DIR holds the old signing material: replace it by that of ROOT_CA_NEXT_DIR";
  return behind.map(({ name }) => ({ name, reason }));
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
