/**
 * Certificates and roots of the TLS port. ca issues an identity, with which requests are passed on to it; the port shows that too, or a
 * certificate from files or from a signer of the cluster, beside the same roots.
 */
import { type OwnCluster, requestFromSigner, type SignerCall } from "@flotilla/auth/cluster";
import {
  followKeyPair,
  type KeyPair,
  keyPairSourceOf,
  type OwnCertificate,
  type TlsMaterial,
} from "@flotilla/auth/serving";
import { type Health, type Logger, orAborted, untilStopped } from "@flotilla/runtime";
import type { Settings } from "../settings.ts";

/** The service account under which ca accepts this service. */
export const serviceAccount = "flotilla-xds-server";
const pollMs = 1000;

export interface ServingMaterialOptions {
  readonly settings: Settings;
  readonly caAddress: string;
  /** From ca. */
  readonly certificate: OwnCertificate;
  readonly cluster: OwnCluster | undefined;
  readonly health: Health;
  readonly log: Logger;
}

export interface ServingMaterial extends AsyncDisposable {
  /** From ca. */
  readonly identity: TlsMaterial;
  /** For the port. */
  readonly shown: TlsMaterial;
  /** Called when one of the two has changed; one listener. */
  onChange(listener: () => void): void;
}

/** Waits as long as it takes. @throws AuthError AUTH_BAD_PROVIDER; the reason of `stop` */
export async function openServingMaterial(
  options: ServingMaterialOptions,
  stop: AbortSignal,
): Promise<ServingMaterial> {
  const { settings, caAddress, certificate, cluster, health, log } = options;
  const sign = cluster && ((call: SignerCall) => requestFromSigner(cluster.api, call, log));
  const source = keyPairSourceOf(settings, { names: servingNames(settings), pollMs, sign });
  let changed = (): void => undefined;
  let [identity, pair]: [TlsMaterial | undefined, KeyPair | undefined] = [undefined, undefined];
  const first = Promise.withResolvers<TlsMaterial>();
  const take = (): void => {
    if (identity !== undefined && (source === undefined || pair !== undefined)) first.resolve(identity);
    changed();
  };
  const onIdentity = (next: TlsMaterial): void => {
    identity = next;
    health.setCondition("identity", undefined);
    take();
  };
  const onKeyPair = (next: KeyPair): void => {
    pair = next;
    take();
  };
  const onTrouble = (reason: string | undefined) => health.setCondition("certificate", reason, { blocks: false });
  if (source?.type === "signer") onTrouble(`waiting for the signer of ${settings.certProvider}`);
  health.setCondition("identity", `waiting for ca at ${caAddress}`, { blocks: false });
  const ended = new AbortController();
  const signal = AbortSignal.any([stop, ended.signal]);
  const following = Promise.all([
    source && followKeyPair(source, { log, onKeyPair, onTrouble }, signal),
    untilStopped(() => certificate.follow(onIdentity, signal), signal),
  ]);
  following.catch(first.reject);
  const firstIdentity = await orAborted(first.promise, stop);
  return {
    get identity() {
      return identity ?? firstIdentity;
    },
    get shown() {
      return { ...(identity ?? firstIdentity), ...pair };
    },
    onChange: (listener) => {
      changed = listener;
    },
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await following;
    },
  };
}

/** Of the TLS port. */
export function servingNames({ namespace }: Pick<Settings, "namespace">): readonly string[] {
  return [`istiod.${namespace}.svc`, `istiod.${namespace}.svc.cluster.local`];
}
