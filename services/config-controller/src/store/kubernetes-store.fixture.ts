/** A yardstick for the suite of stores, used by no service: the objects of a Kubernetes API as a store, which holds nothing itself. */
import { apiVersionOf, type Kind } from "@flotilla/kinds";
import { type KubeApi, KubeError, listAll } from "@flotilla/kube-api";
import {
  type Config,
  type ConfigKey,
  type ConfigStore,
  configStore,
  creationTimeMs,
  expectVersion,
  type KubeObject,
  StoreError,
} from "@flotilla/model";
import { configOf } from "@flotilla/registry/config";
import { contentOf } from "./manifest-of.ts";

export interface KubernetesStoreOptions {
  readonly api: KubeApi;
  /** For provenance: which cluster. */
  readonly name: string;
  /** Those that are served, each with the version to use first among its versions. */
  readonly kinds: readonly Kind[];
}

export function kubernetesStore({ api, name, kinds }: KubernetesStoreOptions): ConfigStore {
  const kindOf = ({ kind }: Pick<ConfigKey, "kind">): Kind => {
    const found = kinds.find((one) => one.name === kind);
    if (found === undefined) throw new StoreError("STORE_BAD_KEY", undefined, `${kind} is no kind of ${name}`);
    return found;
  };
  const read = (key: ConfigKey): Promise<KubeObject | undefined> =>
    reported(key, () => api.get<KubeObject>(pathOf(kindOf(key), key)));
  const config = (object: KubeObject): Config => stored(object, name);

  const update = async (changed: Config): Promise<Config> => {
    const { key, resourceVersion } = changed;
    const current = await read(key);
    expectVersion(key, current && config(current), resourceVersion, name);
    // Metadata outside the configuration stays: owners, finalizers.
    const { status, metadata } = current as KubeObject;
    const { labels, annotations } = changed;
    const object = { ...manifest(kindOf(key), changed), metadata: { ...metadata, labels, annotations } };
    const given = status === undefined ? object : { ...object, status };
    return config(await reported(key, () => api.replace<KubeObject>(pathOf(kindOf(key), key), given)));
  };

  const updateStatus = async ({ key, resourceVersion, status }: Config): Promise<Config> => {
    const current = await read(key);
    expectVersion(key, current && config(current), resourceVersion, name);
    const path = `${pathOf(kindOf(key), key)}/status`;
    return config(await reported(key, () => api.replace<KubeObject>(path, { ...current, status })));
  };

  return configStore({
    name,
    isWritable: true,
    schemas: () => kinds,
    get: async (key) => {
      const object = await read(key);
      return object && config(object);
    },
    list: async (kind, namespace) => {
      const path = collectionOf(kindOf({ kind }), namespace);
      const { objects } = await reported(undefined, () => listAll<KubeObject>(api, path));
      return objects.map(config);
    },
    create: async (made) => {
      const kind = kindOf(made.key);
      const path = collectionOf(kind, made.key.namespace);
      try {
        return config(await reported(made.key, () => api.create<KubeObject>(path, manifest(kind, made))));
      } catch (error) {
        if (!(error instanceof StoreError && error.code === "STORE_CONFLICT")) throw error;
        throw new StoreError("STORE_ALREADY_EXISTS", made.key, `is in ${name} already`, { cause: error });
      }
    },
    update: (changed) => retried(changed, update),
    updateStatus: (changed) => retried(changed, updateStatus),
    delete: async (key, { resourceVersion }) => {
      expectVersion(key, await read(key).then((object) => object && config(object)), resourceVersion, name);
      const options = resourceVersion === undefined ? {} : { resourceVersion };
      const wasThere = await reported(key, () => api.delete(pathOf(kindOf(key), key), options));
      if (!wasThere) throw new StoreError("STORE_NOT_FOUND", key, `is not in ${name}`);
    },
  });
}

const maxAttempts = 10;

/** A write that names no version means the last one, whichever writer was faster. */
async function retried(config: Config, write: (config: Config) => Promise<Config>): Promise<Config> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write(config);
    } catch (error) {
      const isOvertaken = error instanceof StoreError && error.code === "STORE_CONFLICT";
      if (!isOvertaken || config.resourceVersion !== undefined || attempt === maxAttempts) throw error;
    }
  }
}

function manifest(kind: Kind, config: Config): Record<string, unknown> {
  const { key, labels, annotations } = config;
  const place = { name: key.name, ...(key.namespace !== "" && { namespace: key.namespace }) };
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { ...place, labels, annotations },
    ...contentOf(config),
  };
}

function collectionOf({ group, storageVersion, plural }: Kind, namespace: string): string {
  const root = group === "" ? `/api/${storageVersion}` : `/apis/${group}/${storageVersion}`;
  return namespace === "" ? `${root}/${plural}` : `${root}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
}

function pathOf(kind: Kind, { namespace, name }: ConfigKey): string {
  return `${collectionOf(kind, namespace)}/${encodeURIComponent(name)}`;
}

/** `managedFields` hold when the object was changed last, and go no further. */
function stored(object: KubeObject, source: string): Config {
  const { managedFields, ...metadata } = object.metadata as KubeObject["metadata"] & {
    readonly managedFields?: readonly { readonly time?: string }[];
  };
  const times = (managedFields ?? []).map(({ time = "" }) => Date.parse(time)).filter((time) => time > 0);
  const eventTimeMs = Math.max(creationTimeMs(object), ...times);
  const location = `version ${metadata.resourceVersion ?? ""}`;
  const config = configOf({ ...object, metadata }, { source, location, eventTimeMs });
  if (config === undefined) throw new StoreError("STORE_BAD_KEY", undefined, `${object.kind} is no configuration`);
  return config;
}

/** Translates errors of the API server into those of a store. */
async function reported<T>(key: ConfigKey | undefined, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    if (!(cause instanceof KubeError)) throw cause;
    throw new StoreError(codeOf(cause), key, cause.message.replace(/^\[\w+\] /, ""), { cause });
  }
}

function codeOf({ code, status }: KubeError): StoreError["code"] {
  if (code === "KUBE_CONFLICT") return "STORE_CONFLICT";
  if (status === 404) return "STORE_NOT_FOUND";
  if (status === 403) return "STORE_READ_ONLY";
  if (status === 413) return "STORE_TOO_LARGE";
  return code === "KUBE_REFUSED" ? "STORE_INVALID" : "STORE_AWAY";
}
