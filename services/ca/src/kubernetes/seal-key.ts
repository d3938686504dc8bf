/**
 * The key that Secrets are sealed with on the bus and in the snapshot, as a Secret that the other services mount. ca creates it with
 * a random key where there is none; one that exists is never read or changed.
 */
import { randomBytes } from "node:crypto";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import { delay, type Health, type Logger } from "@flotilla/runtime";

export interface SealKeyOptions {
  readonly api: KubeApi;
  readonly namespace: string;
  /** Of the Secret; its key is `seal.key`. */
  readonly name: string;
  readonly health: Pick<Health, "setCondition">;
  readonly log: Logger;
  readonly retryMs?: number;
}

const condition = "seal key";

/** Resolves when the Secret exists, or when `stop` fires. An API server that is away or refuses is asked again. */
export async function ensureSealKey(options: SealKeyOptions, stop: AbortSignal): Promise<void> {
  const { namespace, name, health, log, retryMs = 2_000 } = options;
  let reported = "";
  while (!stop.aborted) {
    try {
      await create(options);
      health.setCondition(condition, undefined);
      return;
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      health.setCondition(condition, error.message, { blocks: false });
      if (error.message !== reported)
        log.warn("seal key cannot be created, trying again", { secret: `${namespace}/${name}`, reason: error.message });
      reported = error.message;
    }
    await delay(retryMs, stop);
  }
}

async function create({ api, namespace, name, log }: SealKeyOptions): Promise<void> {
  const data = { "seal.key": randomBytes(32).toString("base64") };
  const metadata = { namespace, name, labels: { "app.kubernetes.io/part-of": "flotilla" } };
  try {
    await api.create(`/api/v1/namespaces/${namespace}/secrets`, { apiVersion: "v1", kind: "Secret", metadata, data });
    log.info("seal key created", { secret: `${namespace}/${name}` });
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== "KUBE_CONFLICT") throw error;
    log.debug("seal key exists", { secret: `${namespace}/${name}` });
  }
}
