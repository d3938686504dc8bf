/** Secrets that ca makes, reads and shares with its replicas, before an API server that conflicts, refuses or is away. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type KubeApi, KubeError, type Secret } from "@flotilla/kube-api";
import { createLogger } from "@flotilla/runtime";
import { storeUsers } from "@flotilla/state/access";
import { ensureSecret, readSecret, sealKey, storePasswords } from "./initial-secret.ts";
import { secretStore } from "./secret-store.ts";

const collection = "/api/v1/namespaces/mesh/secrets";

/** Holds one Secret, and refuses as many requests as a test gives it errors. */
function anApi(initial?: Secret) {
  let secret = initial;
  const errors: Error[] = [];
  const written: string[] = [];
  const refuseOrNot = () => {
    const error = errors.shift();
    if (error !== undefined) throw error;
  };
  const api = {
    get: async (path: string) => {
      assert.equal(path, `${collection}/roots`);
      refuseOrNot();
      return secret;
    },
    create: async (path: string, object: Secret) => {
      assert.equal(path, collection);
      refuseOrNot();
      if (secret !== undefined) throw new KubeError("KUBE_CONFLICT", "exists");
      written.push("create");
      secret = object;
    },
    replace: async (path: string, object: Secret) => {
      assert.equal(path, `${collection}/roots`);
      refuseOrNot();
      written.push("replace");
      secret = object;
    },
  } as unknown as KubeApi;
  return { api, errors, written, secret: () => secret };
}

const given = (api: KubeApi) => {
  const conditions: (string | undefined)[] = [];
  const lines: string[] = [];
  const options = {
    ...{ api, namespace: "mesh", name: "roots", retryMs: 1, ...sealKey },
    health: { setCondition: (_: string, reason: string | undefined) => void conditions.push(reason) },
    log: createLogger("test", "debug", { write: (line) => void lines.push(line) }),
  };
  return { options, conditions, lines };
};
const never = new AbortController().signal;
const away = () => new KubeError("KUBE_REFUSED", "away");

describe("a Secret that ca makes", () => {
  it("has random values, and has a label of the project", async () => {
    const { api, secret, written } = anApi();
    const { options, conditions, lines } = given(api);
    await ensureSecret(options, never);
    assert.deepEqual([written, conditions], [["create"], [undefined]]);
    assert.deepEqual(secret()?.metadata.labels, { "app.kubernetes.io/part-of": "flotilla" });
    assert.equal(Buffer.from(secret()?.data?.["seal.key"] ?? "", "base64").length, 32);
    assert.match(lines.join(""), /secret created/);
  });

  it("stays as it is where there is one", async () => {
    const before = { metadata: { name: "roots" }, data: { "seal.key": "eA==" } } as unknown as Secret;
    const { api, secret } = anApi(before);
    const { options, lines } = given(api);
    await ensureSecret(options, never);
    assert.equal(secret(), before);
    assert.match(lines.join(""), /secret already exists/);
  });

  it("is tried again while the server refuses, with one line for each reason", async () => {
    const { api, errors, written } = anApi();
    errors.push(away(), away(), new KubeError("KUBE_REFUSED", "forbidden"));
    const { options, conditions, lines } = given(api);
    await ensureSecret(options, never);
    assert.deepEqual(
      conditions,
      ["away", "away", "forbidden", undefined].map(
        (text) => text && (conditions.find((one) => one?.includes(text)) ?? text),
      ),
    );
    assert.equal(lines.filter((line) => line.includes("trying again")).length, 2);
    assert.deepEqual(written, ["create"]);
  });

  it("ends with a defect, and with the stop", async () => {
    const { api, errors } = anApi();
    errors.push(new TypeError("defect"));
    await assert.rejects(ensureSecret(given(api).options, never), TypeError);
    const { options, conditions } = given(api);
    await ensureSecret(options, AbortSignal.abort());
    assert.deepEqual(conditions, []);
  });

  it("has a password for each user of Redis, each another", () => {
    const passwords = storePasswords.data();
    assert.deepEqual(Object.keys(passwords), [...storeUsers]);
    const texts = Object.values(passwords).map(String);
    assert.equal(new Set(texts).size, storeUsers.length);
    for (const text of texts) assert.match(text, /^[0-9a-f]{64}$/);
  });
});

describe("a field of a Secret", () => {
  it("is read as soon as it is there", async () => {
    const { api, errors } = anApi({ metadata: { name: "roots" }, data: { a: "aGk=", empty: "" } } as unknown as Secret);
    errors.push(away());
    const { options, conditions } = given(api);
    const value = await readSecret({ ...options, field: "a" }, never);
    assert.equal(String(value), "hi");
    assert.equal(conditions.length, 2);
  });

  it("that is missing or empty is reported and waited for", async () => {
    for (const field of ["empty", "none"]) {
      const { api } = anApi({ metadata: { name: "roots" }, data: { empty: "" } } as unknown as Secret);
      const { options, conditions } = given(api);
      const stop = new AbortController();
      const waiting = readSecret({ ...options, field }, stop.signal);
      while (conditions.length < 2) await new Promise(setImmediate);
      assert.match(conditions[0] ?? "", new RegExp(`Secret mesh/roots has no ${field}`));
      stop.abort();
      assert.equal(await waiting.catch(() => undefined), undefined);
    }
  });
});

describe("roots in a Secret", () => {
  const root = { ttlMs: 3_600_000, keyType: "ecdsa-p256", trustDomain: "cluster.local", organization: "o" } as never;

  it("are made once, of the type that istiod gives them, and found again", async () => {
    const { api, secret, written } = anApi();
    const store = secretStore({ api, namespace: "mesh", name: "roots" });
    const made = await store.open(root, Date.now());
    assert.deepEqual([secret()?.type, written], ["istio.io/ca-root", ["create"]]);
    assert.equal(Buffer.from(secret()?.data?.["ca-cert.pem"] ?? "", "base64").toString(), made.certificatePem);
    const again = await secretStore({ api, namespace: "mesh", name: "roots" }).open(root, Date.now());
    assert.deepEqual([again.certificatePem, written], [made.certificatePem, ["create"]]);
  });

  it("take the next one in the same Secret, and put it into use in one write", async () => {
    const { api, secret, written } = anApi();
    const store = secretStore({ api, namespace: "mesh", name: "roots" });
    const first = await store.open(root, Date.now());
    assert.equal(await store.next(root, Date.now()), undefined);
    const next = await store.makeNext(root, Date.now());
    assert.notEqual(next.certificatePem, first.certificatePem);
    await store.promote();
    assert.equal((await store.open(root, Date.now())).certificatePem, next.certificatePem);
    assert.deepEqual(Object.keys(secret()?.data ?? {}).sort(), ["ca-cert.pem", "ca-key.pem"]);
    assert.deepEqual(written, ["create", "replace", "replace"]);
  });

  it("of a faster replica are taken, and other errors name the Secret", async () => {
    const { api, errors, written } = anApi();
    const store = secretStore({ api, namespace: "mesh", name: "roots" });
    const other = secretStore({ api, namespace: "mesh", name: "roots" });
    const theirs = await other.open(root, Date.now());
    errors.push(away());
    await assert.rejects(store.open(root, Date.now()), {
      code: "CA_BAD_MATERIAL",
      message: /the Secret mesh\/roots: .*away/,
    });
    errors.push(new TypeError("defect"));
    await assert.rejects(store.open(root, Date.now()), TypeError);
    assert.equal((await store.open(root, Date.now())).certificatePem, theirs.certificatePem);
    assert.deepEqual(written, ["create"]);
  });
});
