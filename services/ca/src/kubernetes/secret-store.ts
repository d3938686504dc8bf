/** Self-signed roots in a Secret, as istiod keeps its own (`istio-ca-secret`, type `istio.io/ca-root`), so that all replicas have the same. */
import { type KubeApi, KubeError, type Secret } from "@flotilla/kube-api";
import { CaError } from "../errors.ts";
import { type DocumentData, documentStore, rootOf, type SharedDocument } from "../roots/document-store.ts";
import type { MaterialFiles } from "../roots/material.ts";
import type { SelfSignedStore } from "../roots/self-signed-store.ts";

export interface SecretStoreOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  /** A root from before there was a Secret: proxies trust it. */
  readonly seed?: () => Promise<MaterialFiles | undefined>;
  /** Further texts of the Secret. */
  readonly marks?: DocumentData;
}

export function secretStore(options: SecretStoreOptions): SelfSignedStore {
  return documentStore(secretDocument(options), options.seed);
}

/** The root of a Secret; undefined where there is none. @throws CaError CA_BAD_MATERIAL when it cannot be read */
export async function rootInSecret(options: SecretStoreOptions): Promise<MaterialFiles | undefined> {
  return rootOf((await secretDocument(options).read()).data);
}

function secretDocument({ api, namespace, name, marks = {} }: SecretStoreOptions): SharedDocument {
  const collection = `/api/v1/namespaces/${namespace}/secrets`;
  const title = `the Secret ${namespace}/${name}`;
  const trouble = (cause: unknown): unknown =>
    cause instanceof KubeError ? new CaError("CA_BAD_MATERIAL", `${title}: ${cause.message}`, { cause }) : cause;
  const read = async (): Promise<Secret | undefined> => {
    try {
      return await api.get<Secret>(`${collection}/${name}`);
    } catch (cause) {
      throw trouble(cause);
    }
  };
  const write = async (secret: Secret | undefined, texts: DocumentData): Promise<boolean> => {
    const entries = Object.entries({ ...texts, ...marks }).map(([key, text]) => [
      key,
      Buffer.from(text).toString("base64"),
    ]);
    const data = Object.fromEntries(entries);
    try {
      if (secret === undefined) await api.create(collection, newSecret(namespace, name, data));
      else await api.replace(`${collection}/${name}`, { ...secret, data });
      return true;
    } catch (cause) {
      if (cause instanceof KubeError && cause.code === "KUBE_CONFLICT") return false;
      throw trouble(cause);
    }
  };
  return {
    name: title,
    read: async () => {
      const secret = await read();
      return { data: textsOf(secret), exists: secret !== undefined, write: (data) => write(secret, data) };
    },
  };
}

function newSecret(namespace: string, name: string, data: DocumentData): unknown {
  return { apiVersion: "v1", kind: "Secret", type: "istio.io/ca-root", metadata: { namespace, name }, data };
}

function textsOf(secret: Secret | undefined): DocumentData {
  const entries = Object.entries(secret?.data ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, "base64").toString()]));
}
