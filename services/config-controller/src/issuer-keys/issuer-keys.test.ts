/** Keys that are fetched, when they are fetched again, which ones stay in force, and the replica that fetches them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type IssuerKeysSpec, issuerKeysKey } from "@flotilla/auth";
import type { Config, ConfigChange, ConfigKey, JsonObject } from "@flotilla/model";
import { noopLogger as log, until } from "@flotilla/runtime";
import { IssuerKeys, type IssuerKeysOptions } from "./issuer-keys.ts";
import { unreachable, unusable } from "./key-errors.ts";

const uri = "https://idp.test/keys";
const key: ConfigKey = { kind: "RequestAuthentication", namespace: "shop", name: "a" };
const put = (spec: JsonObject, name = "a"): ConfigChange => {
  const own = { ...key, name };
  return {
    type: "config",
    op: "put",
    key: own,
    value: { key: own, labels: {}, annotations: {}, creationTimeMs: 0, spec },
  };
};
const ruleOf = (...uris: readonly string[]) => put({ jwtRules: uris.map((jwksUri) => ({ issuer: "i", jwksUri })) });

type Answer = string | Error;

/** One replica, with a clock of its own and answers by URI. */
class Replica implements AsyncDisposable {
  nowMs = 1_000_000;
  readonly answers = new Map<string, Answer>();
  readonly asked: string[] = [];
  failures = 0;
  readonly keys: IssuerKeys;
  /** The view after its changes. */
  readonly objects = new Map<string, IssuerKeysSpec>();
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>[] = [];

  constructor(options: Partial<IssuerKeysOptions> = {}, view: readonly ConfigChange[] = []) {
    this.keys = new IssuerKeys({
      fetch: async (source) => {
        this.asked.push(source);
        const answer = this.answers.get(source) ?? unreachable("is unknown");
        if (typeof answer !== "string") throw answer;
        return answer;
      },
      view: { list: () => view.flatMap((change) => (change.op === "put" ? change.value : [])) },
      published: { get: () => undefined },
      ...{ proxiesFetch: false, refreshMs: 1_200_000, nowMs: () => this.nowMs, random: () => 0.5, log },
      failed: { add: () => void this.failures++ },
      ...options,
    });
    this.#running.push(this.#follow());
    this.keys.listener.onLoaded();
  }

  apply(...changes: ConfigChange[]): void {
    for (const change of changes)
      this.keys.listener.onChange(change.key, change.op === "put" ? change.value : undefined);
  }

  lead(): AbortController {
    const term = new AbortController();
    this.#stop.signal.addEventListener("abort", () => term.abort(), { once: true });
    this.#running.push(this.keys.lead(term.signal));
    return term;
  }

  spec(source = uri): IssuerKeysSpec | undefined {
    return this.objects.get(issuerKeysKey(source).name);
  }

  /** The clock goes on, and those that wait look at it: a change of the view wakes them. */
  advance(ms: number): void {
    this.nowMs += ms;
    this.apply(put({}, `tick-${this.nowMs}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  async #follow(): Promise<void> {
    for await (const { changes } of this.keys.asSource().groups(this.#stop.signal))
      for (const change of changes) {
        if (change.op === "put") this.objects.set(change.key.name, change.value.spec as IssuerKeysSpec);
        else this.objects.delete(change.key.name);
      }
  }
}

const soon = { withinMs: 5_000 };

describe("keys of issuers", () => {
  it("are fetched once for all objects that name them, and forgotten with the last", async () => {
    await using replica = new Replica({}, [ruleOf(uri)]);
    replica.answers.set(uri, "one");
    replica.lead();
    await until(() => replica.spec() !== undefined, { ...soon, what: "the keys" });
    assert.deepEqual(replica.spec(), { source: uri, jwks: "one" });
    replica.apply(put({ jwtRules: [{ issuer: "j", jwksUri: uri }] }, "b"));
    replica.apply({ type: "config", op: "delete", key });
    replica.apply(put({ jwtRules: [{ issuer: "j", jwksUri: uri, fromParams: ["t"] }] }, "b"));
    replica.advance(1);
    assert.equal(replica.asked.length, 1);
    replica.apply(put({ jwtRules: [{ issuer: "j", jwks: "{}", jwksUri: uri }] }, "b"));
    await until(() => replica.spec() === undefined, { ...soon, what: "their end" });
  });

  it("are fetched again before they are old, and stay while that fails", async () => {
    await using replica = new Replica({}, [ruleOf(uri)]);
    replica.answers.set(uri, "one");
    replica.lead();
    await until(() => replica.spec()?.jwks === "one", { ...soon, what: "the keys" });
    replica.answers.set(uri, "two");
    replica.advance(1_199_000);
    replica.advance(1_000);
    await until(() => replica.spec()?.jwks === "two", { ...soon, what: "the next keys" });
    assert.equal(replica.asked.length, 2);
    replica.answers.set(uri, unusable("answers with status 500"));
    replica.advance(1_200_000);
    await until(() => replica.spec()?.error !== undefined, { ...soon, what: "the failure" });
    assert.deepEqual(replica.spec(), { source: uri, jwks: "two", error: "answers with status 500" });
    replica.advance(7 * 86_400_000);
    await until(() => replica.spec()?.jwks === undefined, { ...soon, what: "the end of old keys" });
  });

  it("that cannot be fetched are asked for with growing waits", async () => {
    await using replica = new Replica({}, [ruleOf(uri)]);
    replica.lead();
    await until(() => replica.spec()?.isUnreachable === true, { ...soon, what: "the failure" });
    assert.deepEqual(replica.spec(), { source: uri, error: "is unknown", isUnreachable: true });
    for (const [waitMs, asked] of [
      [740, 1],
      [10, 2],
      [1_490, 2],
      [10, 3],
    ] as const) {
      replica.advance(waitMs);
      await until(() => replica.failures >= asked, { ...soon, what: `attempt ${asked}` });
      assert.equal(replica.failures, asked);
    }
    replica.answers.set(uri, "late");
    replica.advance(3_600_000);
    await until(() => replica.spec()?.jwks === "late", { ...soon, what: "the keys" });
  });

  it("of an issuer that is no URL, or that proxies fetch, are not asked for", async () => {
    const rules = [{ issuer: "plain" }, { issuer: "https://i.test" }, { issuer: "i", jwksUri: uri }];
    await using replica = new Replica({ proxiesFetch: true }, [put({ jwtRules: rules })]);
    replica.lead();
    await until(() => replica.objects.size > 0, { ...soon, what: "the answer" });
    assert.deepEqual(replica.asked, ["openid:https://i.test"]);
  });

  it("are fetched by the replica that publishes only, which goes on from what is published", async () => {
    const published = new Map<string, Config>();
    const own = issuerKeysKey(uri);
    const config = (jwks: string) => ({
      ...{ key: own, labels: {}, annotations: {}, creationTimeMs: 0 },
      spec: { source: uri, jwks },
    });
    published.set(own.name, config("from before"));
    const get = ({ name }: ConfigKey) => {
      const found = published.get(name);
      return found && { config: found };
    };
    await using replica = new Replica({ published: { get } }, [ruleOf(uri)]);
    const source = replica.keys.asSource();
    replica.advance(1);
    await until(() => !source.isIncomplete?.(issuerKeysKey("https://other.test")), { ...soon, what: "the view" });
    assert.deepEqual([source.isIncomplete?.(own), replica.keys.isPublished(own), replica.asked], [true, false, []]);
    const term = replica.lead();
    await until(() => replica.spec()?.jwks === "from before", { ...soon, what: "the published keys" });
    assert.deepEqual([source.isIncomplete?.(own), replica.keys.isPublished(own)], [false, true]);
    await until(() => replica.spec()?.error !== undefined, { ...soon, what: "the first attempt" });
    term.abort();
    await until(() => !replica.keys.isPublished(own), { ...soon, what: "the end of the term" });
    published.set(own.name, config("from another replica"));
    replica.lead();
    await until(() => replica.spec()?.jwks === "from another replica", { ...soon, what: "the newer keys" });
  });
});
