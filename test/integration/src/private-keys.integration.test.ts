/**
 * Key pairs from a directory to a real Envoy, over real NATS and Redis: certificates by SNI, rotation under load, client certificates,
 * bad and deleted Secrets, in both forms of xDS. At the end no byte of a key stands in what was stored, logged or shown.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import { connectBus, filters } from "@flotilla/bus";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import type { Envoy } from "@flotilla/dataplane";
import { noopLogger, until } from "@flotilla/runtime";
import { freePorts, type RunningServer, startNats, startRedis } from "@flotilla/servers";
import { createTestAuthority, type KeyPair, ocspResponse, type TestAuthority } from "@flotilla/testkit";
import { filesBelow, readableForms, tracesOf } from "./secrets/key-traces.ts";
import { fingerprintAt, startSdsEnvoy } from "./secrets/sds-envoy.ts";

const soon = (what: string) => ({ withinMs: 60_000, what });
const workDir = mkdtempSync(join(tmpdir(), "flotilla-keys-"));
/** Beside the work directory, as it holds the keys. */
const config = mkdtempSync(join(tmpdir(), "flotilla-keys-config-"));
const stop = new AbortController();
const owned = new AsyncDisposableStack();
const forms = ["sotw", "delta"] as const;

interface SecretFields {
  readonly name: string;
  readonly data: Readonly<Record<string, string | Buffer>>;
}

/** Written beside and renamed, so that no half of it is read. */
function writeSecret({ name, data }: SecretFields): void {
  const fields = Object.entries(data).map(([field, text]) => [field, Buffer.from(text).toString("base64")]);
  const metadata = { name, namespace: "edge" };
  const object = { apiVersion: "v1", kind: "Secret", metadata, data: Object.fromEntries(fields) };
  writeFileSync(join(config, `.${name}`), JSON.stringify(object));
  renameSync(join(config, `.${name}`), join(config, `${name}.yaml`));
}

const tls = ({ certificatePem, keyPem }: KeyPair) => ({ "tls.crt": certificatePem, "tls.key": keyPem });
const fingerprint = ({ certificatePem }: KeyPair) => new X509Certificate(certificatePem).fingerprint256;

/** A Gateway that refers to the Secrets and is for proxies elsewhere: listeners are the Envoys' own. */
const gateway = `apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: edge, namespace: edge}
spec:
  selector: {app: elsewhere}
  servers:
  - {port: {number: 443, name: one, protocol: HTTPS}, hosts: [one.example], tls: {mode: SIMPLE, credentialName: one}}
  - {port: {number: 443, name: two, protocol: HTTPS}, hosts: [two.example], tls: {mode: MUTUAL, credentialName: two}}
`;

describe("private keys", () => {
  let [authority, nats, redis, plane] = [
    ...[undefined as unknown as TestAuthority, undefined as unknown as RunningServer],
    ...[undefined as unknown as RunningServer, undefined as unknown as ControlPlane],
  ] as [TestAuthority, RunningServer, RunningServer, ControlPlane];
  const pairs: KeyPair[] = [];
  const envoys: (readonly [Envoy, port: number])[] = [];

  async function newPair(host: string): Promise<KeyPair> {
    const pair = await authority.keyPair({ hosts: [host] });
    pairs.push(pair);
    return pair;
  }

  before(async () => {
    authority = await createTestAuthority();
    mkdirSync(config, { recursive: true });
    writeFileSync(join(config, "gateway.yaml"), gateway);
    writeSecret({ name: "one", data: tls(await newPair("one.example")) });
    const { certificatePem: cert, keyPem: key } = await newPair("two.example");
    writeSecret({ name: "two", data: { cert, key, cacert: authority.rootPem } });
    writeSecret({ name: "unused", data: tls(await newPair("unused.example")) });
    nats = owned.use(await startNats({ directory: join(workDir, "servers"), env: process.env }));
    redis = owned.use(await startRedis({ directory: join(workDir, "servers"), env: process.env }));
    const settings = { BUS_URL: nats.url, STORE_URL: redis.url, LOG_LEVEL: "debug", CA_SELF_SIGNED_KEY: "ecdsa-p256" };
    const options = { embedded: false, config, mesh: undefined, networks: undefined, settings, workDir };
    const firstPort = await freePorts(12);
    plane = owned.use(
      await startControlPlane({ options: { ...options, firstPort }, logs: "files", onProgress: () => undefined }),
    );
    await allReady(plane, 90_000, () => undefined, stop.signal);
    const port = await freePorts(forms.length);
    for (const [at, form] of forms.entries()) envoys.push([await startEnvoyOf(form, port + at), port + at]);
    await Promise.all(envoys.map(([envoy]) => envoy.ready(60_000)));
  });
  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    for (const directory of [workDir, config]) rmSync(directory, { recursive: true, force: true });
  });

  async function startEnvoyOf(form: (typeof forms)[number], port: number): Promise<Envoy> {
    const issuer = await openLocalIssuer(workDir);
    const account = { namespace: "edge", serviceAccount: "edge" };
    const secure = {
      address: `127.0.0.1:${plane.layout.ports.xdsTls}`,
      rootFile: join(workDir, "root-cert.pem"),
      token: await issuer.mintToken(account),
    };
    const node = {
      type: "router",
      name: `edge-${form}`,
      ...account,
      labels: { app: "edge" },
      address: "127.0.0.1",
    } as const;
    const chains = [
      { host: "one.example", certificate: "kubernetes://one" },
      { host: "two.example", certificate: "kubernetes://two", clientRoots: "kubernetes://two-cacert" },
    ];
    const options = { directory: join(workDir, "envoys"), node, secure, listener: { port, chains } };
    return owned.use(await startSdsEnvoy({ ...options, delta: form === "delta" }));
  }

  const at = (port: number, host: string, client?: KeyPair) =>
    fingerprintAt({ port, host, rootPem: authority.rootPem, ...(client && { client }) });
  const expectEverywhere = async (host: string, expected: string, what: string, client?: KeyPair): Promise<void> => {
    for (const [, port] of envoys) await until(async () => (await at(port, host, client)) === expected, soon(what));
  };
  const problems = async (): Promise<string> => {
    const { healthUrl } = plane.services.find(({ name }) => name === "config-controller") ?? { healthUrl: "" };
    return (await fetch(`${healthUrl}/debug/problems`)).text();
  };

  it("reach Envoy by SNI, and clients are asked for certificates where roots say so", async () => {
    const [one, two] = pairs as [KeyPair, KeyPair];
    const client = await newPair("client.example");
    const stranger = await (await createTestAuthority()).keyPair();
    for (const [, port] of envoys) {
      assert.equal(await at(port, "one.example"), fingerprint(one));
      assert.equal(await at(port, "two.example", client), fingerprint(two));
      await assert.rejects(at(port, "two.example"), "without a certificate");
      await assert.rejects(at(port, "two.example", stranger), "with another root's");
    }
  });

  it("are rotated under load without a failed request, and nothing else is sent", async () => {
    const updates = async () =>
      Promise.all(
        envoys.map(async ([envoy]) => {
          const found = [
            ...(await envoy.stats(/^(sds\..*|listener_manager\.lds|cluster_manager\.cds)\.update_success$/)),
          ];
          return Object.fromEntries(found);
        }),
      );
    const counts = await updates();
    const [failed, stopLoad] = [[] as unknown[], new AbortController()];
    let answered = 0;
    const load = envoys.flatMap(([, port]) =>
      [1, 2, 3].map(async () => {
        while (!stopLoad.signal.aborted)
          await at(port, "one.example").then(
            () => answered++,
            (error: unknown) => failed.push(error),
          );
      }),
    );
    try {
      for (let turn = 0; turn < 3; turn++) {
        const next = await newPair("one.example");
        writeSecret({ name: "one", data: tls(next) });
        await expectEverywhere("one.example", fingerprint(next), "the new certificate");
      }
    } finally {
      stopLoad.abort();
      await Promise.all(load);
    }
    assert.deepEqual([failed, answered > 20], [[], true]);
    for (const [index, now] of (await updates()).entries()) {
      const before = counts[index] ?? {};
      const changed = Object.keys(now).filter((name) => now[name] !== before[name]);
      const [name = "", ...others] = changed;
      assert.match(name, /^sds\..*one\.update_success$/);
      assert.deepEqual([others, now[name]], [[], (before[name] ?? 0) + 3]);
    }
  });

  it("that are not those of their certificate are refused, and the last good one stays", async () => {
    const [good] = pairs.slice(-1) as [KeyPair];
    const other = await newPair("one.example");
    writeSecret({ name: "one", data: tls({ ...good, keyPem: other.keyPem }) });
    await until(async () => (await problems()).includes("Secret/edge/one"), soon("the problem"));
    assert.match(await problems(), /data\[tls\.key\].*is not the key of the certificate in tls\.crt/s);
    await expectEverywhere("one.example", fingerprint(good), "the certificate before");
    const repaired = await newPair("one.example");
    writeSecret({ name: "one", data: tls(repaired) });
    await expectEverywhere("one.example", fingerprint(repaired), "the next certificate");
    await until(async () => !(await problems()).includes("Secret/edge/one"), soon("no problem"));
  });

  it("that expired are refused, and the last good one stays", async () => {
    const [good] = pairs.slice(-1) as [KeyPair];
    const expired = await authority.keyPair({ hosts: ["one.example"], notAfterMs: Date.now() - 1_000 });
    pairs.push(expired);
    writeSecret({ name: "one", data: tls(expired) });
    await until(async () => (await problems()).includes("expired"), soon("the problem"));
    await expectEverywhere("one.example", fingerprint(good), "the certificate before");
    pairs.push(good);
  });

  it("of a deleted Secret stay with the Envoys that have them", async () => {
    const [good] = pairs.slice(-1) as [KeyPair];
    rmSync(join(config, "one.yaml"));
    await until(
      async () => !(await storedSubjects()).includes("flotilla.v1.config.Secret.edge.one"),
      soon("the deletion"),
    );
    const next = await newPair("two.example");
    writeSecret({ name: "two", data: { ...tls(next), "ca.crt": authority.rootPem } });
    const client = await newPair("client.example");
    for (const [envoy, port] of envoys) {
      await until(async () => (await at(port, "two.example", client)) === fingerprint(next), soon("the other one"));
      assert.equal(await at(port, "one.example"), fingerprint(good));
      assert.deepEqual(
        [...(await envoy.stats(/update_rejected/))].filter(([, count]) => count > 0),
        [],
      );
    }
  });

  it("with an OCSP response for another certificate are refused by Envoy, and the last good ones stay", async () => {
    const pair = () => newPair("two.example");
    const [good, next, client] = [await pair(), await pair(), await pair()];
    const write = (own: KeyPair, staple: Buffer) =>
      writeSecret({ name: "two", data: { ...tls(own), "ca.crt": authority.rootPem, "tls.ocsp-staple": staple } });
    write(good, ocspResponse(good.certificatePem));
    await expectEverywhere("two.example", fingerprint(good), "the certificate", client);
    write(next, ocspResponse(good.certificatePem));
    const rejections = async (envoy: Envoy) => [...(await envoy.stats(/two\.update_rejected$/)).values()].some(Boolean);
    for (const [envoy] of envoys) await until(() => rejections(envoy), soon("the rejection"));
    await expectEverywhere("two.example", fingerprint(good), "the certificate before", client);
    write(next, ocspResponse(next.certificatePem));
    await expectEverywhere("two.example", fingerprint(next), "the next certificate", client);
  });

  /** Of objects that are there. */
  async function storedSubjects(): Promise<readonly string[]> {
    const values = await stored();
    return values.filter(({ headers }) => headers["Flotilla-Op"] !== "delete").map(({ subject }) => subject);
  }

  async function stored() {
    await using bus = await connectBus({ url: nats.url, clientName: "test", log: noopLogger }, stop.signal);
    return await bus.lastValues(filters.everything);
  }

  /** All fields of the snapshot, and all other values, as Redis answers. */
  function redisContent(): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const chunks: Buffer[] = [];
    const socket = connect(redis.port, "127.0.0.1");
    socket.on("data", (chunk: Buffer) => void chunks.push(chunk));
    socket.once("error", reject).once("close", () => resolve(Buffer.concat(chunks)));
    socket.write("HGETALL flotilla:v1:snapshot:entries\r\nHGETALL flotilla:v1:snapshot:about\r\nQUIT\r\n");
    return promise;
  }

  async function pages(): Promise<readonly (readonly [url: string, text: string])[]> {
    const asked = plane.services.flatMap(({ name, healthUrl }) => pathsOf(name).map((path) => `${healthUrl}${path}`));
    const xds = plane.services.find(({ name }) => name === "xds-server")?.healthUrl ?? "";
    const listed = (await (await fetch(`${xds}/debug/list`)).json()) as readonly string[];
    const proxies = forms.map((form) => `edge-${form}.edge`);
    const more = listed.flatMap((path) => [
      `${xds}/debug/${path}`,
      ...proxies.map((proxy) => `${xds}/debug/${path}?proxyID=${proxy}&types=sds`),
    ]);
    return Promise.all([...asked, ...more].map(async (url) => [url, await (await fetch(url)).text()] as const));
  }

  it("stand in nothing that is stored, logged or shown", async () => {
    await until(async () => (await redisContent()).includes("Secret/edge/two"), soon("the Secret in the snapshot"));
    // The root's key is of an elliptic curve as the others, whose traces are known.
    const isRootKey = ([path]: readonly [string, Buffer]): boolean => path.endsWith("/ca-key.pem");
    const files = filesBelow(workDir);
    const places: (readonly [place: string, bytes: Buffer])[] = [
      ...(await stored()).flatMap(({ subject, payload }) =>
        readableForms(payload).map((bytes) => [`NATS ${subject}`, bytes] as const),
      ),
      ["Redis", await redisContent()],
      ...files.filter((file) => !isRootKey(file)),
      ...(await pages()).map(([url, text]) => [url, Buffer.from(text)] as const),
    ];
    const rootKeys = files.filter(isRootKey).map(([, bytes]) => bytes.toString());
    assert.ok(rootKeys.length > 0);
    const found = [...pairs.map(({ keyPem }) => keyPem), ...rootKeys].flatMap((keyPem) =>
      tracesOf(keyPem).flatMap((trace) => places.flatMap(([place, bytes]) => (bytes.includes(trace) ? [place] : []))),
    );
    assert.deepEqual([...new Set(found)], []);
    // The search sees what is there: names in the stores and logs, the redacted key on a page, a key in the directory.
    const withText = (text: string, kind: RegExp) =>
      places.some(([place, bytes]) => kind.test(place) && bytes.includes(text));
    for (const [text, kind] of [
      ["one.example", /^NATS/],
      ["Secret/edge/two", /^Redis/],
      ["one.example", /servers\/nats/],
      ["Secret/edge/two", /servers\/redis/],
      ["Secret/edge/one", /\.log$/],
      [Buffer.from("[redacted]").toString("base64"), /config_dump/],
    ] as const)
      assert.ok(withText(text, kind), `${text} in ${kind}`);
    const [, written = Buffer.alloc(0)] = filesBelow(config).find(([path]) => path.endsWith("two.yaml")) ?? [];
    assert.ok(pairs.some(({ keyPem }) => tracesOf(keyPem).some((trace) => written.includes(trace))));
    const subjects = await storedSubjects();
    assert.ok(subjects.includes("flotilla.v1.config.Secret.edge.two"));
    assert.ok(!subjects.includes("flotilla.v1.config.Secret.edge.unused"));
  });
});

function pathsOf(service: string): readonly string[] {
  const own: Readonly<Record<string, readonly string[]>> = {
    "config-controller": ["problems", "configz", "objects", "history", "generation", "diff", "api"],
    "service-controller": ["registryz", "endpointz", "instancesz", "clusterz", "digestz", "problems"],
    ca: ["caz", "rotation"],
  };
  return ["/ready", "/metrics", ...(own[service] ?? []).map((page) => `/debug/${page}`)];
}
