/** Replicas' own reports, in Redis: a summary each, and parts that are replaced one by one. Both end with their writer. */
import { StateError } from "./errors.ts";
import type { RedisLink } from "./redis-link.ts";
import { keys } from "./redis-scripts.ts";
import type { ReplicaReport, UnreadableValues } from "./snapshot-store.ts";

/** More records than these are somebody else's: the first that are found count. */
const maxReplicas = 1_000;

/** Reports of replicas, which expire with their writer. */
export class RedisReports {
  readonly #link: RedisLink;
  readonly #unreadable: UnreadableValues;

  constructor(link: RedisLink, unreadable: UnreadableValues) {
    this.#link = link;
    this.#unreadable = unreadable;
  }

  /** Resolves to the number of parts that stand there. */
  async put(id: string, { summary, parts, isWhole }: ReplicaReport, ttlMs: number): Promise<number> {
    const key = keys.parts(id);
    const put = [...parts].filter(([, part]) => part !== undefined);
    const gone = [...parts.keys()].filter((name) => parts.get(name) === undefined);
    const results = await this.#link.use((redis) => {
      const steps = redis.multi().set(keys.replica(id), JSON.stringify(summary), "PX", ttlMs);
      if (isWhole) steps.del(key);
      if (gone.length > 0) steps.hdel(key, ...gone);
      if (put.length > 0) steps.hset(key, ...put.flatMap(([name, part]) => [name, JSON.stringify(part)]));
      return steps.pexpire(key, ttlMs).hlen(key).exec();
    });
    return Number(results?.at(-1)?.[1] ?? 0);
  }

  async remove(id: string): Promise<void> {
    await this.#link.use((redis) => redis.del(keys.replica(id), keys.parts(id)));
  }

  async summaries(): Promise<ReadonlyMap<string, unknown>> {
    const found = await this.#ids();
    if (found.length === 0) return new Map();
    const texts = await this.#link.use((redis) => redis.mget(...found.map(keys.replica)));
    return new Map(
      found.flatMap((id, i): readonly (readonly [string, unknown])[] => {
        const text = texts[i] ?? undefined;
        const found = text === undefined ? undefined : this.#parse(keys.replica(id), text);
        return found === undefined ? [] : [[id, found]];
      }),
    );
  }

  async parts(except?: string): Promise<ReadonlyMap<string, ReadonlyMap<string, unknown>>> {
    const all = new Map<string, ReadonlyMap<string, unknown>>();
    for (const id of await this.#ids()) {
      if (id === except) continue;
      const parts = await this.#partsOf(id);
      const found = Object.entries(parts).flatMap(([name, text]): readonly (readonly [string, unknown])[] => {
        const part = this.#parse(`${keys.parts(id)} ${name}`, text);
        return part === undefined ? [] : [[name, part]];
      });
      all.set(id, new Map(found));
    }
    return all;
  }

  /** None where the key holds something else: the replica that it is of writes it anew. */
  async #partsOf(id: string): Promise<Readonly<Record<string, string>>> {
    const place = keys.parts(id);
    try {
      const parts = await this.#link.use((redis) => redis.hgetall(place));
      this.#unreadable.heal(place);
      return parts;
    } catch (error) {
      if (!(error instanceof StateError) || !String(error.cause).includes("WRONGTYPE")) throw error;
      this.#unreadable.note(place, error);
      return {};
    }
  }

  /** Undefined: it is no JSON, and as if it were not there. The replica that it is of writes it anew. */
  #parse(place: string, text: string): unknown {
    try {
      const found: unknown = JSON.parse(text);
      this.#unreadable.heal(place);
      return found;
    } catch (error) {
      this.#unreadable.note(place, error);
      return undefined;
    }
  }

  async #ids(): Promise<readonly string[]> {
    const found = await this.#link.keysLike(keys.replica("*"), maxReplicas);
    return found.map((key) => key.slice(keys.replica("").length)).toSorted();
  }
}
