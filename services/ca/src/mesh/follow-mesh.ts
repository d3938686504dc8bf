/** Follows the mesh configuration over the bus, which may be unreachable at the start and later: the last known state is kept meanwhile. */
import { type Bus, connectWithHealth, type Seal } from "@flotilla/bus";
import { delay, type Health, type Logger, type Metrics, orAborted } from "@flotilla/runtime";
import type { MeshTrust } from "./mesh-trust.ts";

export interface FollowedMesh extends AsyncDisposable {
  /** The mesh is known: received, or read from the copy of an earlier run, or no publisher has published anything for some seconds. */
  readonly known: Promise<void>;
  /** Resolves when the bus has been away for a second, as at the first start, when NATS waits for a certificate of this ca. */
  readonly away: Promise<void>;
  /** Ends with `stop`. */
  readonly following: Promise<void>;
}

/** Long enough for config-controller to publish when all services start together. */
const patienceMs = 5000;
/** A bus that refuses connections is given less: it may just be starting, too. */
const awayMs = 1000;

export interface FollowMeshOptions {
  readonly trust: MeshTrust;
  readonly isRestored: boolean;
  /** Copies of streams and buckets on the bus. */
  readonly replicas: number;
  /** False where the bus takes only callers with a certificate of this ca and there is none yet: it is not awaited. */
  readonly hasBusCertificate: boolean;
  readonly health: Pick<Health, "setCondition">;
  readonly metrics: Metrics;
  /** The bus is followed when it is known; undefined where there is none. */
  readonly seal: Promise<Seal | undefined>;
  readonly log: Logger;
  /** Further work that needs the bus; ends with the signal. */
  readonly onBus: (bus: Bus, stop: AbortSignal) => Promise<void>;
}

export function followMesh(
  url: string | undefined,
  { trust, isRestored, hasBusCertificate, replicas, health, metrics, seal, log, onBus }: FollowMeshOptions,
  stop: AbortSignal,
): FollowedMesh {
  if (url === undefined)
    return {
      known: Promise.resolve(),
      away: Promise.resolve(),
      following: Promise.resolve(),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  const ended = new AbortController();
  const signal = AbortSignal.any([stop, ended.signal]);
  const received = Promise.withResolvers<void>();
  const away = Promise.withResolvers<void>();
  let isConnected = false;
  const onAway = (): void =>
    void delay(awayMs, signal).then(() => {
      if (!isConnected) away.resolve();
    });
  if (!isRestored) health.setCondition("mesh", "no mesh configuration received yet: the defaults hold");
  const onHeard = (): void => {
    health.setCondition("mesh", undefined);
    received.resolve();
  };
  const follow = async (): Promise<void> => {
    const options = { url, replicas, clientName: "ca", log, health, metrics, onAway };
    await using bus = await connectWithHealth({ ...options, seal: await orAborted(seal, signal) }, signal);
    isConnected = true;
    await Promise.all([trust.follow(bus, onHeard, signal), onBus(bus, signal)]);
  };
  const following = follow().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  // It is awaited later; failing before that must not end the process as an unhandled rejection.
  following.catch(() => undefined);
  const first = Promise.race([received.promise, following, away.promise, delay(patienceMs, signal)]);
  return {
    known: isRestored || !hasBusCertificate ? Promise.resolve() : first,
    away: away.promise,
    following,
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await following;
    },
  };
}
