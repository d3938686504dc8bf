/**
 * Tokens at a real Envoy with keys that the control plane fetches from a real server: accepted and refused, none before the first
 * keys are there, the keys rotated under load, the last good ones kept while the server answers with nonsense.
 */
import assert from "node:assert/strict";
import { createSign, generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { allReady, type ControlPlane, startControlPlane, startProxy } from "@flotilla/cli/testing";
import { startEchoServer } from "@flotilla/dataplane";
import { until } from "@flotilla/runtime";
import { findServer, freePort, freePorts } from "@flotilla/servers";

const soon = (what: string) => ({ withinMs: 60_000, what });
const issuer = "https://issuer.example";
const owned = new AsyncDisposableStack();

interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: object;
}

function newKey(kid: string): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { kid, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid, alg: "RS256", use: "sig" } };
}

function tokenOf({ kid, privateKey }: SigningKey): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const signed = `${part({ alg: "RS256", kid, typ: "JWT" })}.${part({ iss: issuer, sub: "a", exp })}`;
  return `${signed}.${createSign("RSA-SHA256").update(signed).sign(privateKey).toString("base64url")}`;
}

/** The issuer's answer now, and the number of requests to it. */
const issued = { answer: "", asked: 0 };
const publish = (...keys: readonly SigningKey[]) => {
  issued.answer = JSON.stringify({ keys: keys.map(({ jwk }) => jwk) });
};

async function startIssuer(): Promise<number> {
  const server = createServer((_, response) => {
    issued.asked++;
    response.end(issued.answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  owned.defer(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

function meshOf(port: number, backend: number, jwksUri: string): string {
  const object = (apiVersion: string, kind: string, name: string, spec: object) =>
    JSON.stringify({ apiVersion, kind, metadata: { name, namespace: "shop" }, spec });
  const security = (kind: string, spec: object) => object("security.istio.io/v1", kind, "web", spec);
  return [
    object("networking.istio.io/v1", "WorkloadEntry", "web", { address: "127.0.0.1", labels: { app: "web" } }),
    object("networking.istio.io/v1", "Sidecar", "web", {
      workloadSelector: { labels: { app: "web" } },
      ingress: [
        {
          port: { number: port, protocol: "HTTP", name: "http" },
          ...{ bind: "127.0.0.1", captureMode: "NONE", defaultEndpoint: `127.0.0.1:${backend}` },
        },
      ],
      egress: [{ hosts: ["~/*"] }],
    }),
    security("PeerAuthentication", { mtls: { mode: "DISABLE" } }),
    security("RequestAuthentication", { jwtRules: [{ issuer, jwksUri }] }),
    security("AuthorizationPolicy", { rules: [{ from: [{ source: { requestPrincipals: ["*"] } }] }] }),
  ].join("\n---\n");
}

describe("keys of an issuer", () => {
  const [first, second, foreign] = [newKey("first"), newKey("second"), newKey("first")];
  let port = 0;

  /** Each over a connection of its own: one that is open already keeps the listener, and so the keys, that it was opened with. */
  async function status(key: SigningKey | undefined): Promise<number> {
    const token = key === undefined ? undefined : { authorization: `Bearer ${tokenOf(key)}` };
    const headers = { connection: "close", ...token };
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers });
    await response.text();
    return response.status;
  }

  before(async () => {
    const workDir = mkdtempSync(join(tmpdir(), "flotilla-issuer-keys-"));
    owned.defer(() => rmSync(workDir, { recursive: true, force: true }));
    const config = join(workDir, "config");
    mkdirSync(config);
    issued.answer = "no keys";
    port = await freePort();
    const backend = owned.use(await startEchoServer("v1"));
    const uri = `http://127.0.0.1:${await startIssuer()}/keys`;
    writeFileSync(join(config, "mesh.yaml"), meshOf(port, backend.port, uri));
    const controlPlane = owned.use(await startPlane(workDir, config));
    const binary = await findServer("envoy", { env: process.env });
    const node = {
      name: "web",
      namespace: "shop",
      serviceAccount: "web",
      labels: { app: "web" },
      address: "127.0.0.1",
    };
    const envoy = await startProxy(binary, node, controlPlane.layout, owned, true);
    await envoy.ready(60_000);
  });
  after(() => owned.disposeAsync());

  it("that were never there let no token through", async () => {
    await until(async () => (await status(first)) === 401, soon("the token to be refused"));
    assert.equal(await status(undefined), 403);
    publish(first);
  });

  it("judge tokens: its own pass, others do not", async () => {
    await until(async () => (await status(first)) === 200, soon("a token to be accepted"));
    assert.deepEqual([await status(foreign), await status(second), await status(undefined)], [401, 401, 403]);
  });

  it("rotate without a valid token being refused", async () => {
    const refused: string[] = [];
    let [valid, isOver, calls, withFirst] = [[first], false, 0, 0];
    const load = async (): Promise<void> => {
      while (!isOver) {
        for (const key of valid) {
          if (key === first) withFirst++;
          const answer = await status(key);
          if (key === first) withFirst--;
          calls++;
          if (answer !== 200) refused.push(`${key.kid} ${answer}`);
        }
      }
    };
    const running = [load(), load()];
    try {
      publish(first, second);
      await until(async () => (await status(second)) === 200, soon("the second key"));
      valid = [first, second];
      await until(() => calls > 100, soon("calls"));
      valid = [second];
      await until(() => withFirst === 0, soon("the last calls with the first key"));
      publish(second);
      await until(async () => (await status(first)) === 401, soon("the end of the first key"));
    } finally {
      isOver = true;
      await Promise.all(running);
    }
    assert.deepEqual(refused, []);
  });

  it("stay in force while the issuer answers with nonsense", async () => {
    issued.answer = "<html>";
    const { asked } = issued;
    await until(() => issued.asked >= asked + 2, soon("two more attempts"));
    assert.deepEqual([await status(second), await status(first)], [200, 401]);
  });
});

async function startPlane(workDir: string, config: string): Promise<ControlPlane> {
  const own = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const settings = {
    ...Object.fromEntries(own),
    LOG_LEVEL: "error",
    ALLOWED_CIDRS_IN_JWKS_URIS: "127.0.0.0/8",
    PILOT_JWT_PUB_KEY_REFRESH_INTERVAL: "1s",
  };
  const options = { embedded: true, config, mesh: undefined, networks: undefined, settings, workDir };
  const controlPlane = await startControlPlane({
    options: { ...options, firstPort: await freePorts(20) },
    logs: "output",
    onProgress: () => undefined,
  });
  await allReady(controlPlane, 60_000, () => undefined, new AbortController().signal);
  return controlPlane;
}
