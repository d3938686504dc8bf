/** Reads single Secrets, with retries, until each is read or its read is ended. */
import { type KubeApi, KubeError, objectOf } from "@flotilla/kube-api";
import { type KubeObject, type ObjectName, objectName } from "@flotilla/model";
import { backoff, delay } from "@flotilla/runtime";

export interface PendingReadsOptions {
  /** As it is now; undefined: there is none yet. */
  readonly api: () => KubeApi | undefined;
  readonly random: () => number;
  /** Not called for one that does not exist. */
  readonly onRead: (secret: KubeObject) => void;
}

export class PendingReads {
  readonly #options: PendingReadsOptions;
  readonly #open = new Map<ObjectName, AbortController>();

  constructor(options: PendingReadsOptions) {
    this.#options = options;
  }

  has(object: ObjectName): boolean {
    return this.#open.has(object);
  }

  /** Resolves when it is over. */
  async read(object: ObjectName): Promise<void> {
    const { api, random, onRead } = this.#options;
    const end = new AbortController();
    this.#open.set(object, end);
    const { namespace, name } = objectName.read(object);
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
    const waits = backoff({ firstMs: 100, maxMs: 30_000, random });
    while (!end.signal.aborted) {
      try {
        const server = api();
        const found = await server?.get<unknown>(path, end.signal);
        if (end.signal.aborted) return;
        const secret = found && objectOf(`${path} at ${server?.server}`, found, { namespace, name });
        this.#open.delete(object);
        if (secret !== undefined) onRead(secret as KubeObject);
        return;
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        // The connection that follows the Secrets reports that the cluster is away.
        await delay(waits.next().value, end.signal);
      }
    }
  }

  end(object: ObjectName): void {
    this.#open.get(object)?.abort();
    this.#open.delete(object);
  }

  endAll(): void {
    for (const object of [...this.#open.keys()]) this.end(object);
  }
}
