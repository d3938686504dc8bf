/**
 * What the TLS port shows and trusts. ca issues an identity, with which requests are passed on to it; the port shows that too,
 * or a certificate from files or from a signer of the cluster, beside the same roots.
 */
import { hostname } from "node:os";
import { type OwnCluster, requestFromSigner, type SignerCall } from "@flotilla/auth/cluster";
import {
  followKeyPair,
  type KeyPair,
  keyPairSourceOf,
  obtainServingCertificate,
  type ServingCertificate,
  serviceToken,
  type TlsMaterial,
} from "@flotilla/auth/serving";
import { type Health, type Logger, orAborted } from "@flotilla/runtime";
import type { Config } from "./config.ts";

/** The service account that ca knows this service by. */
export const serviceAccount = "flotilla-xds-server";
const pollMs = 1000;

export interface ServingMaterialOptions {
  readonly config: Config;
  readonly caAddress: string;
  readonly cluster: OwnCluster | undefined;
  readonly health: Health;
  readonly log: Logger;
}

export interface ServingMaterial extends AsyncDisposable {
  /** From ca. */
  readonly identity: TlsMaterial;
  /** For the port. */
  readonly shown: TlsMaterial;
  /** Told when one of the two has changed; one listener. */
  onChange(listener: () => void): void;
}

/** Waits as long as it takes. @throws AuthError AUTH_BAD_PROVIDER; the reason of `stop` */
export async function openServingMaterial(
  options: ServingMaterialOptions,
  stop: AbortSignal,
): Promise<ServingMaterial> {
  const { config, cluster, health, log } = options;
  const names = [`istiod.${config.namespace}.svc`, `istiod.${config.namespace}.svc.cluster.local`];
  const sign = cluster && ((call: SignerCall) => requestFromSigner(cluster.api, call, log));
  const source = keyPairSourceOf(config, { names, pollMs, sign });
  let changed = (): void => undefined;
  let pair: KeyPair | undefined;
  const first = Promise.withResolvers<void>();
  const ended = new AbortController();
  const onKeyPair = (next: KeyPair): void => {
    pair = next;
    first.resolve();
    changed();
  };
  const onTrouble = (reason: string | undefined) => health.setCondition("certificate", reason, { blocks: false });
  if (source?.type === "signer") onTrouble(`waiting for the signer of ${config.certProvider}`);
  const signal = AbortSignal.any([stop, ended.signal]);
  const following = source && followKeyPair(source, { log, onKeyPair, onTrouble }, signal);
  following?.catch(first.reject);
  const identity = await obtainIdentity(options, names, () => changed(), stop);
  if (source !== undefined) await orAborted(first.promise, stop);
  return {
    get identity() {
      return identity.material;
    },
    get shown() {
      return { ...identity.material, ...pair };
    },
    onChange: (listener) => {
      changed = listener;
    },
    [Symbol.asyncDispose]: async () => {
      ended.abort();
      await following;
      await identity[Symbol.asyncDispose]();
    },
  };
}

async function obtainIdentity(
  { config, caAddress, health, log }: ServingMaterialOptions,
  names: readonly string[],
  onRenewed: () => void,
  stop: AbortSignal,
): Promise<ServingCertificate> {
  const { caServerName, rootFile, tlsPort } = config;
  health.setCondition("identity", `waiting for ca at ${caAddress}`, { blocks: false });
  const token = () => serviceToken({ ...config, serviceAccount });
  const instance = `${hostname()}:${tlsPort}`;
  const certificate = await obtainServingCertificate(
    {
      ...{ caAddress, caServerName, rootFile, instance, token, names, log },
      onRenewed,
    },
    stop,
  );
  health.setCondition("identity", undefined);
  return certificate;
}
