/**
 * Secrets that the other services and Redis mount: ca creates each with random values where there is none. One that exists is never
 * changed.
 */
import { randomBytes } from "node:crypto";
import { type KubeApi, KubeError, type Secret } from "@flotilla/kube-api";
import { delay, type Health, type Logger } from "@flotilla/runtime";
import { storeUsers } from "@flotilla/state/access";

export interface InitialSecretOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  readonly name: string;
  /** Its values. */
  readonly data: () => Readonly<Record<string, Buffer>>;
  /** Its content, for the readiness page and the log. */
  readonly what: string;
  readonly health: Pick<Health, "setCondition">;
  readonly log: Logger;
  readonly retryMs?: number;
}

/** The key that Secrets are sealed with on the bus and in the snapshot. */
export const sealKey = { what: "seal key", data: () => ({ "seal.key": randomBytes(32) }) };

/** A password for each user of Redis. */
export const storePasswords = {
  what: "passwords of Redis",
  data: () => Object.fromEntries(storeUsers.map((user) => [user, Buffer.from(randomBytes(32).toString("hex"))])),
};

/** Resolves when the Secret exists, or when `stop` fires. An API server that is away or refuses is asked again. */
export async function ensureSecret(options: InitialSecretOptions, stop: AbortSignal): Promise<void> {
  await untilDone(options, () => create(options), stop);
}

/** The value of a field, or nothing when `stop` fires. An API server that is away or refuses is asked again. */
export function readSecret(
  options: InitialSecretOptions & { readonly field: string },
  stop: AbortSignal,
): Promise<Uint8Array | undefined> {
  return untilDone(options, () => read(options), stop);
}

async function untilDone<T>(
  options: InitialSecretOptions,
  work: () => Promise<T>,
  stop: AbortSignal,
): Promise<T | undefined> {
  const { namespace, name, what, health, log, retryMs = 2_000 } = options;
  let reported = "";
  while (!stop.aborted) {
    try {
      const result = await work();
      health.setCondition(what, undefined);
      return result;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      health.setCondition(what, error.message, { blocks: false });
      if (error.message !== reported)
        log.warn("secret cannot be created or read, trying again", {
          what,
          secret: `${namespace}/${name}`,
          reason: error.message,
        });
      reported = error.message;
    }
    await delay(retryMs, stop);
  }
  return undefined;
}

/** @throws KubeError when it cannot be read, or has no such field */
async function read({
  api,
  namespace,
  name,
  field,
}: InitialSecretOptions & { readonly field: string }): Promise<Uint8Array> {
  const found = await api.get<Secret>(`/api/v1/namespaces/${namespace}/secrets/${name}`);
  // own key: one of our fields
  const text = found?.data?.[field];
  if (text !== undefined && text !== "") return Buffer.from(text, "base64");
  throw new KubeError("KUBE_REFUSED", `Secret ${namespace}/${name} has no ${field}`);
}

async function create({ api, namespace, name, data, what, log }: InitialSecretOptions): Promise<void> {
  const encoded = Object.fromEntries(Object.entries(data()).map(([key, value]) => [key, value.toString("base64")]));
  const metadata = { namespace, name, labels: { "app.kubernetes.io/part-of": "flotilla" } };
  try {
    await api.create(`/api/v1/namespaces/${namespace}/secrets`, {
      ...{ apiVersion: "v1", kind: "Secret", metadata, data: encoded },
    });
    log.info("secret created", { what, secret: `${namespace}/${name}` });
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== "KUBE_CONFLICT") throw error;
    log.debug("secret already exists", { what, secret: `${namespace}/${name}` });
  }
}
