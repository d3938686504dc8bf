import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Config, ConfigChange, ConfigKey } from "@flotilla/model";
import { until } from "@flotilla/runtime";
import { createTestAuthority, type KeyPair, type TestAuthority } from "@flotilla/testkit";
import { AggregateStore } from "../aggregate/aggregate-store.ts";
import type { AggregateGroup } from "../aggregate/merge-sources.ts";
import { Credentials, credentialsName } from "./credentials.ts";

const secretKey = (name: string, namespace = "shop"): ConfigKey => ({ kind: "Secret", namespace, name });
const object = (key: ConfigKey, spec: unknown): Config => ({
  key,
  labels: {},
  annotations: {},
  creationTimeMs: 0,
  spec,
});
const secret = ({ certificatePem, keyPem }: KeyPair, name: string, namespace = "shop"): Config =>
  object(secretKey(name, namespace), {
    data: {
      "tls.crt": Buffer.from(certificatePem).toString("base64"),
      "tls.key": Buffer.from(keyPem).toString("base64"),
    },
  });
const gateway = (name: string, ...credentials: readonly string[]): Config =>
  object(
    { kind: "Gateway", namespace: "infra", name },
    { servers: credentials.map((credentialName) => ({ tls: { mode: "SIMPLE", credentialName } })) },
  );
const put = (value: Config): ConfigChange => ({ type: "config", op: "put", key: value.key, value });
const gone = (key: ConfigKey): ConfigChange => ({ type: "config", op: "delete", key });

/** A store of one source; what of its changes is published. */
async function aStage(...first: readonly Config[]) {
  const store = new AggregateStore(["source", credentialsName]);
  store.apply("source", first.map(put));
  const clock = { nowMs: Date.now() };
  let noted = 0;
  const credentials = new Credentials({ store, nowMs: () => clock.nowMs, onProblems: () => noted++ });
  const waiting: AggregateGroup[] = [];
  async function* groups(): AsyncGenerator<AggregateGroup> {
    yield { snapshot: true, changes: [], counts: new Map(), keep: () => false };
    for (;;) yield waiting.shift() ?? { snapshot: true, changes: [], counts: new Map(), keep: () => false };
  }
  const published = credentials.published(groups());
  await published.next();
  const source = credentials.asSource();
  return {
    ...{ credentials, clock, source, noted: () => noted },
    problems: () =>
      source.problems().map(({ object, field, reason }) => [object, field, reason].filter(Boolean).join(" ")),
    apply: async (...changes: readonly ConfigChange[]): Promise<readonly string[]> => {
      const view = store.apply("source", changes);
      waiting.push({ snapshot: false, changes: view, eventTimeMs: 0, source: "source" });
      const { value } = await published.next();
      return [...(value?.changes ?? [])].map(({ op, key }) => `${op} ${key.kind}/${key.namespace}/${key.name}`);
    },
  };
}

describe("credentials on their way to the bus", () => {
  let [authority, one, two] = [undefined as unknown as TestAuthority, {} as KeyPair, {} as KeyPair];
  before(async () => {
    authority = await createTestAuthority();
    [one, two] = [await authority.keyPair(), await authority.keyPair()];
  });

  it("are published at the start where something refers to them", async () => {
    const { credentials } = await aStage(
      gateway("g", "a"),
      secret(one, "a"),
      secret(one, "b"),
      secret(two, "a", "other"),
    );
    const asked = [secretKey("a"), secretKey("a", "other"), secretKey("b"), { ...secretKey("b"), kind: "Sidecar" }];
    assert.deepEqual(asked.map(credentials.isPublished), [true, true, false, true]);
  });

  it("come and go with what refers to them", async () => {
    const { apply } = await aStage(secret(one, "a"), secret(one, "a-cacert"), secret(one, "b"));
    assert.deepEqual(await apply(put(gateway("g", "a"))), [
      ...["put Secret/shop/a", "put Secret/shop/a-cacert", "put Gateway/infra/g"],
    ]);
    assert.deepEqual(await apply(put(gateway("h", "a"))), ["put Gateway/infra/h"]);
    assert.deepEqual(await apply(put(secret(two, "b"))), []);
    assert.deepEqual(await apply(gone(gateway("g").key)), ["delete Gateway/infra/g"]);
    assert.deepEqual(await apply(put(gateway("h", "b"))), [
      ...["put Secret/shop/b", "delete Secret/shop/a", "delete Secret/shop/a-cacert", "put Gateway/infra/h"],
    ]);
  });

  it("are published when they come after what refers to them, and when they change or end", async () => {
    const { apply } = await aStage(gateway("g", "a"));
    assert.deepEqual(await apply(put(secret(one, "a"))), ["put Secret/shop/a"]);
    assert.deepEqual(await apply(put(secret(two, "a"))), ["put Secret/shop/a"]);
    assert.deepEqual(await apply(gone(secretKey("a"))), ["delete Secret/shop/a"]);
    assert.deepEqual(await apply(gone(secretKey("b"))), []);
  });

  it("stay as they were last good while they are broken", async () => {
    const { apply, problems, credentials } = await aStage(gateway("g", "a"), secret(one, "a"));
    const mixed = secret({ ...one, keyPem: two.keyPem }, "a");
    assert.deepEqual(await apply(put(mixed)), []);
    assert.deepEqual(problems(), ["Secret/shop/a data[tls.key] is not the key of the certificate in tls.crt"]);
    assert.equal(credentials.isPublished(secretKey("a")), false);
    assert.deepEqual(await apply(put(secret(two, "a"))), ["put Secret/shop/a"]);
    assert.deepEqual(problems(), []);
  });

  it("that are broken and end are gone with what was good before", async () => {
    const { apply, problems } = await aStage(gateway("g", "a"), secret(one, "a"));
    await apply(put(secret({ ...one, keyPem: "none" }, "a")));
    assert.deepEqual(await apply(gone(secretKey("a"))), ["delete Secret/shop/a"]);
    assert.deepEqual(problems(), []);
  });

  it("of another cluster are published where references of proxies mean them, and named with it", async () => {
    const { apply, problems } = await aStage(secret(one, "a"), secret(one, "a%east"), secret(one, "a-cacert%east"));
    const ingress = object({ kind: "Ingress", namespace: "shop", name: "i" }, { tls: [{ secretName: "a" }] });
    assert.deepEqual(await apply(put(ingress)), ["put Secret/shop/a", "put Ingress/shop/i"]);
    assert.deepEqual(await apply(put(gateway("g", "a"))), [
      ...["put Secret/shop/a%east", "put Secret/shop/a-cacert%east", "put Gateway/infra/g"],
    ]);
    await apply(put(secret({ ...one, keyPem: two.keyPem }, "a%east")));
    assert.deepEqual(problems(), [
      "Secret/shop/a%east data[tls.key] is not the key of the certificate in tls.crt, in cluster east",
    ]);
    assert.deepEqual(await apply(gone(secretKey("a%east"))), ["delete Secret/shop/a%east"]);
    assert.deepEqual(await apply(gone(gateway("g").key)), [
      "delete Secret/shop/a-cacert%east",
      "delete Gateway/infra/g",
    ]);
  });

  it("of other clusters are asked for by references, once all are known", async () => {
    const { credentials, apply } = await aStage(gateway("g", "a"));
    const { references } = credentials;
    const heard: unknown[] = [];
    references.listen((reference) => heard.push(reference));
    assert.deepEqual([references.isLoaded, heard], [true, []]);
    const meant = ["a", "a-cacert", "b"].map((name) => references.isReferenced("shop", name));
    assert.deepEqual(meant, [true, true, false]);
    await apply(put(gateway("g", "a", "kubernetes://bank/b", "kubernetes-gateway://bank/c")));
    assert.deepEqual(heard, [{ namespace: "bank", name: "b" }]);
    assert.deepEqual(
      ["shop", "bank"].map((namespace) => references.isReferenced(namespace, "b")),
      [false, true],
    );
    assert.equal(references.isReferenced("bank", "c"), false);
  });

  it("that nothing refers to are not looked at", async () => {
    const { apply, problems } = await aStage(secret({ ...one, keyPem: "none" }, "a"));
    assert.deepEqual(problems(), []);
    assert.deepEqual(await apply(put(gateway("g", "a"))), ["put Gateway/infra/g"]);
    assert.equal(problems().length, 1);
  });

  it("are reported when they expire, without a change", async () => {
    const { source, clock, problems, noted } = await aStage(gateway("g", "a"));
    assert.deepEqual(problems(), []);
    const short = await aStage(
      gateway("g", "a"),
      secret(await authority.keyPair({ notAfterMs: clock.nowMs + 2_000 }), "a"),
    );
    const stop = new AbortController();
    const groups = short.source.groups(stop.signal)[Symbol.asyncIterator]();
    await groups.next();
    const [before, waiting] = [short.noted(), groups.next()];
    short.clock.nowMs += 2_000;
    try {
      await until(() => short.noted() > before, { withinMs: 10_000, what: "the report", everyMs: 2 });
    } finally {
      stop.abort();
      await waiting;
    }
    assert.match(short.problems().join(), /^Secret\/shop\/a its certificate expired on .*, and no other came$/);
    assert.equal(short.credentials.isPublished(secretKey("a")), true);
    assert.deepEqual([source.name, noted() > 0], [credentialsName, true]);
  });
});
