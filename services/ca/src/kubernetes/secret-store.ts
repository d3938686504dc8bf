/**
 * Self-signed roots in a Secret, as istiod keeps its own (`istio-ca-secret`, type `istio.io/ca-root`), so that all replicas have
 * the same. The next root lies in the same Secret during a rotation: one write puts it into use.
 */
import { type KubeApi, KubeError, type KubeObject } from "@flotilla/kube-api";
import { parseCertificatePem } from "@flotilla/pki";
import { CaError } from "../errors.ts";
import type { MaterialFiles } from "../roots/material.ts";
import { isRenewalDue, makeRoot, newKey, renewedRoot } from "../roots/self-signed.ts";
import type { RootOptions, SelfSignedStore } from "../roots/self-signed-store.ts";

interface Secret extends KubeObject {
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
}

type Data = Readonly<Record<string, string>>;

const current = { certificate: "ca-cert.pem", key: "ca-key.pem" } as const;
const next = { certificate: "next-ca-cert.pem", key: "next-ca-key.pem" } as const;
const attempts = 10;

export interface SecretStoreOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  /** A root from before there was a Secret: proxies trust it. */
  readonly seed?: () => Promise<MaterialFiles | undefined>;
}

/** Its methods @throws CaError CA_BAD_MATERIAL when the Secret cannot be read or written */
export function secretStore(options: SecretStoreOptions): SelfSignedStore {
  return new SecretStore(options);
}

class SecretStore implements SelfSignedStore {
  readonly #options: SecretStoreOptions;

  constructor(options: SecretStoreOptions) {
    this.#options = options;
  }

  open(options: RootOptions, nowMs: number): Promise<MaterialFiles> {
    return this.#make(current, options, nowMs);
  }

  async renew(options: RootOptions, gracePercent: number, nowMs: number): Promise<MaterialFiles> {
    await this.open(options, nowMs);
    const data = await this.#change((found) => {
      const files = filesOf(found, current);
      if (files === undefined || !isRenewalDue(parseCertificatePem(files.certificatePem), gracePercent, nowMs))
        return found;
      return { ...found, [current.certificate]: renewedRoot(files, options.ttlMs, nowMs) };
    });
    return filesOf(data, current) ?? this.open(options, nowMs);
  }

  async next(_options: RootOptions, _nowMs: number): Promise<MaterialFiles | undefined> {
    return filesOf(textsOf(await this.#read()), next);
  }

  makeNext(options: RootOptions, nowMs: number): Promise<MaterialFiles> {
    return this.#make(next, options, nowMs);
  }

  async promote(): Promise<void> {
    await this.#change((found) => {
      const files = filesOf(found, next);
      if (files === undefined) return found;
      return { ...without(found, next), [current.certificate]: files.certificatePem, [current.key]: files.keyPem };
    });
  }

  async dropNext(): Promise<void> {
    await this.#change((found) => without(found, next));
  }

  /** Of several replicas that do so at once, all use what the first one wrote. */
  async #make(names: typeof current | typeof next, options: RootOptions, nowMs: number): Promise<MaterialFiles> {
    const found = filesOf(textsOf(await this.#read()), names);
    if (found !== undefined) return found;
    const seed = names === current ? await this.#options.seed?.() : undefined;
    const keyPem = seed?.keyPem ?? (await newKey(options.keyType));
    const certificate = seed?.certificatePem ?? makeRoot(keyPem, options, nowMs);
    const made = { [names.key]: keyPem, [names.certificate]: certificate };
    const data = await this.#change((there) => (filesOf(there, names) === undefined ? { ...there, ...made } : there));
    return (
      filesOf(data, names) ?? { keyPem, certificatePem: certificate, rootsPem: certificate, origin: "self-signed" }
    );
  }

  async #read(): Promise<Secret | undefined> {
    const { api, namespace, name } = this.#options;
    try {
      return await api.get<Secret>(`/api/v1/namespaces/${namespace}/secrets/${name}`);
    } catch (cause) {
      throw this.#trouble(cause);
    }
  }

  #trouble(cause: unknown): unknown {
    if (!(cause instanceof KubeError)) return cause;
    const { namespace, name } = this.#options;
    return new CaError("CA_BAD_MATERIAL", `the Secret ${namespace}/${name}: ${cause.message}`, { cause });
  }

  /** Writes over what was read only; what others wrote meanwhile is looked at again. */
  async #change(change: (data: Data) => Data): Promise<Data> {
    const { api, namespace, name } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const secret = await this.#read();
      const before = textsOf(secret);
      const after = change(before);
      if (after === before || (secret !== undefined && JSON.stringify(after) === JSON.stringify(before))) return before;
      const data = Object.fromEntries(
        Object.entries(after).map(([key, text]) => [key, Buffer.from(text).toString("base64")]),
      );
      try {
        if (secret !== undefined)
          await api.replace(`/api/v1/namespaces/${namespace}/secrets/${name}`, { ...secret, data });
        else await api.create(`/api/v1/namespaces/${namespace}/secrets`, newSecret(namespace, name, data));
        return after;
      } catch (error) {
        if (!(error instanceof KubeError) || error.code !== "KUBE_CONFLICT" || attempt >= attempts)
          throw this.#trouble(error);
      }
    }
  }
}

function newSecret(namespace: string, name: string, data: Data): unknown {
  return { apiVersion: "v1", kind: "Secret", type: "istio.io/ca-root", metadata: { namespace, name }, data };
}

function textsOf(secret: Secret | undefined): Data {
  const entries = Object.entries(secret?.data ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
}

function filesOf(data: Data, names: typeof current | typeof next): MaterialFiles | undefined {
  const [certificatePem, keyPem] = [data[names.certificate], data[names.key]];
  if (certificatePem === undefined || keyPem === undefined) return undefined;
  return { keyPem, certificatePem, rootsPem: certificatePem, origin: "self-signed" };
}

function without(data: Data, names: typeof current | typeof next): Data {
  const { [names.certificate]: _certificate, [names.key]: _key, ...rest } = data;
  return rest;
}
