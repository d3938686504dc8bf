/** The TLS modes of a source, against a server that asks for a client's certificate or not. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { JsonObject } from "@flotilla/model";
import {
  certificatePem,
  generatePrivateKey,
  issueLeaf,
  issueRoot,
  issuerOf,
  privateKeyPem,
  sanOf,
  spkiOf,
} from "@flotilla/pki";
import { grpcTransport } from "@flotilla/xds/grpc";
import { ServerCredentials } from "@grpc/grpc-js";
import { followServer, mcpNode } from "./mcp-client.ts";
import { McpServer } from "./mcp-server.fixture.ts";
import { readSourceAddresses } from "./source-address.ts";
import { tlsCredentials } from "./tls-credentials.ts";

const typeUrl = "networking.istio.io/v1/Sidecar";
const identity = "spiffe://td/ns/istio-system/sa/registry";

describe("TLS of a source", () => {
  let directory: string;
  let root: string;
  let leaf: { readonly key: string; readonly chain: string };
  const file = (name: string) => join(directory, name);

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "mcp-tls-"));
    const [rootKey, key] = [await generatePrivateKey("ecdsa-p256"), await generatePrivateKey("ecdsa-p256")];
    const times = { notBeforeMs: Date.now() - 60_000, notAfterMs: Date.now() + 3_600_000 };
    const made = issueRoot({ serial: randomBytes(16), subject: { commonName: "root" }, ...times }, rootKey);
    const sans = [sanOf("localhost"), sanOf(identity)];
    const request = { serial: randomBytes(16), spki: spkiOf(key), sans, ...times };
    root = certificatePem(made);
    leaf = { key: privateKeyPem(key), chain: certificatePem({ der: issueLeaf(request, issuerOf(made, rootKey)) }) };
    const texts = { root, key: leaf.key, chain: leaf.chain };
    for (const [name, text] of Object.entries(texts)) await writeFile(file(name), text);
  });
  after(() => rm(directory, { recursive: true }));

  /** Undefined when the server answered, else why it could not be spoken to. */
  async function failureOf(tlsSettings: JsonObject, asksForCertificate: boolean): Promise<string | undefined> {
    const pair = [{ private_key: Buffer.from(leaf.key), cert_chain: Buffer.from(leaf.chain) }];
    const tls = ServerCredentials.createSsl(Buffer.from(root), pair, asksForCertificate);
    await using server = await McpServer.start({ delta: "spoken", tls });
    server.set(typeUrl, []);
    const entry = { address: "xds://host:1", tlsSettings };
    const [at] = readSourceAddresses({ configSources: [entry] }, () => true).sources;
    assert.ok(at?.type === "xds");
    const own = () => ({ keyPem: leaf.key, chainPem: leaf.chain, rootFile: file("root") });
    const secrets = tlsCredentials(at.tls, own);
    const { serverName } = at.tls;
    const named = { ...(secrets && { tls: secrets }), ...(serverName !== undefined && { serverName }) };
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const stop = new AbortController();
    const following = followServer(
      {
        transport: grpcTransport({ address: `localhost:${server.port}`, ...named }),
        node: mcpNode({ namespace: "istio-system", instance: "test", revision: "default", version: "1.0.0" }),
        typeUrls: [typeUrl],
        ...{ random: () => 0, refusals: () => new Map(), onConnection: resolve },
      },
      stop.signal,
    );
    const failure = await promise;
    stop.abort();
    await following;
    return failure;
  }

  const files = () => ({ caCertificates: file("root") });
  const pairFiles = () => ({ ...files(), clientCertificate: file("chain"), privateKey: file("key") });

  it("is good with the right root, certificate and names", async () => {
    assert.equal(await failureOf({ mode: "SIMPLE", ...files() }, false), undefined);
    assert.equal(await failureOf({ mode: "SIMPLE", ...files(), subjectAltNames: [identity] }, false), undefined);
    assert.equal(await failureOf({ mode: "MUTUAL", ...pairFiles() }, true), undefined);
    assert.equal(await failureOf({ mode: "ISTIO_MUTUAL" }, true), undefined);
    assert.equal(await failureOf({ mode: "SIMPLE", insecureSkipVerify: true }, false), undefined);
  });

  it("fails with what is wrong", async () => {
    assert.match((await failureOf({ mode: "SIMPLE" }, false)) ?? "", /self-signed certificate|unable to/);
    const other = { subjectAltNames: ["spiffe://td/ns/istio-system/sa/other"] };
    assert.match((await failureOf({ mode: "SIMPLE", ...files(), ...other }, false)) ?? "", /none of spiffe:\/\/td/);
    assert.match((await failureOf({ mode: "SIMPLE", ...files(), sni: "elsewhere" }, false)) ?? "", /elsewhere/);
    assert.notEqual(await failureOf({ mode: "SIMPLE", ...files() }, true), undefined);
    assert.match((await failureOf({ mode: "SIMPLE", caCertificates: file("none") }, false)) ?? "", /ENOENT.*none/);
    assert.notEqual(await failureOf({ mode: "DISABLE" }, false), undefined);
  });
});
