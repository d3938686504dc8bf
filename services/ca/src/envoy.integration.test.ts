/**
 * A real Envoy with certificates of ca: mTLS between two workloads by their identities, for both kinds of keys; a stranger, a
 * wrong identity and plain text are refused. One process plays both sides, over two listeners and three clusters.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { requestCertificate } from "@flotilla/auth/serving";
import type { KeyAlgorithm } from "@flotilla/pki";
import { until } from "@flotilla/runtime";
import { findServer, freePort } from "@flotilla/servers";
import { serverName, startCa } from "./main.fixture.ts";

const ca = await startCa();
const client = "spiffe://cluster.local/ns/shop/sa/client";
const server = "spiffe://cluster.local/ns/shop/sa/server";
const backend = createServer((request, response) => response.end(String(request.headers["x-forwarded-client-cert"])));
const ports = { good: 0, wrong: 0, plain: 0, mtls: 0 };
let envoy: ChildProcess | undefined;

async function tlsOf(name: string, keyType: KeyAlgorithm, peer: string): Promise<object> {
  const proof = { token: await ca.mint("shop", name) };
  const { rootsPem, grpc } = ca;
  const got = await requestCertificate({
    address: `127.0.0.1:${grpc}`,
    serverName,
    rootsPem,
    proof,
    names: [],
    keyType,
    ttlMs: 600_000,
  });
  const directory = join(ca.workDir, name);
  await mkdir(directory);
  const files = { "key.pem": got.keyPem, "chain.pem": got.chainPem, "root.pem": got.rootsPem };
  for (const [file, text] of Object.entries(files)) await writeFile(join(directory, file), text);
  return {
    tls_certificates: [
      {
        certificate_chain: { filename: join(directory, "chain.pem") },
        private_key: { filename: join(directory, "key.pem") },
      },
    ],
    validation_context: {
      trusted_ca: { filename: join(directory, "root.pem") },
      match_typed_subject_alt_names: [{ san_type: "URI", matcher: { exact: peer } }],
    },
  };
}

const typed = (type: string, rest: object) => ({ "@type": `type.googleapis.com/envoy.${type}`, ...rest });
const socket = (port: number) => ({ socket_address: { address: "127.0.0.1", port_value: port } });

function listener(port: number, cluster: string, tls?: object): object {
  const manager = typed("extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
    stat_prefix: cluster,
    forward_client_cert_details: "SANITIZE_SET",
    set_current_client_cert_details: { uri: true },
    route_config: {
      virtual_hosts: [{ name: "all", domains: ["*"], routes: [{ match: { prefix: "/" }, route: { cluster } }] }],
    },
    http_filters: [{ name: "router", typed_config: typed("extensions.filters.http.router.v3.Router", {}) }],
  });
  const downstream = tls && { common_tls_context: tls, require_client_certificate: true };
  return {
    name: cluster,
    address: socket(port),
    filter_chains: [
      {
        filters: [{ name: "http", typed_config: manager }],
        ...(downstream && {
          transport_socket: {
            name: "tls",
            typed_config: typed("extensions.transport_sockets.tls.v3.DownstreamTlsContext", downstream),
          },
        }),
      },
    ],
  };
}

function cluster(name: string, port: number, tls?: object): object {
  const context = tls && typed("extensions.transport_sockets.tls.v3.UpstreamTlsContext", { common_tls_context: tls });
  return {
    name,
    type: "STATIC",
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: socket(port) } }] }] },
    ...(context && { transport_socket: { name: "tls", typed_config: context } }),
  };
}

before(async () => {
  await new Promise<void>((resolve) => backend.listen(0, "127.0.0.1", resolve));
  for (const name of ["good", "wrong", "plain", "mtls"] as const) ports[name] = await freePort();
  const good = await tlsOf("client", "ecdsa-p256", server);
  const config = {
    static_resources: {
      listeners: [
        listener(ports.good, "good"),
        listener(ports.wrong, "wrong"),
        listener(ports.plain, "plain"),
        listener(ports.mtls, "app", await tlsOf("server", "rsa-2048", client)),
      ],
      clusters: [
        cluster("good", ports.mtls, good),
        cluster("wrong", ports.mtls, await tlsOf("other", "ecdsa-p384", server)),
        cluster("plain", ports.mtls),
        cluster("app", (backend.address() as AddressInfo).port),
      ],
    },
  };
  const file = join(ca.workDir, "envoy.json");
  await writeFile(file, JSON.stringify(config));
  const binary = await findServer("envoy", { env: process.env });
  envoy = spawn(binary, ["-c", file, "--concurrency", "1", "--disable-hot-restart", "-l", "error"], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  await until(async () => (await ask(ports.good)).status === 200, {
    withinMs: 60_000,
    everyMs: 100,
    what: "the first request",
  });
});

after(async () => {
  const ended = new Promise((resolve) => envoy?.once("exit", resolve) ?? resolve(undefined));
  envoy?.kill("SIGTERM");
  await ended;
  backend.close();
  await ca[Symbol.asyncDispose]();
});

async function ask(port: number): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: "close" } });
  return { status: response.status, text: await response.text() };
}

describe("Envoy with certificates of ca", () => {
  it("two workloads know each other by identity", async () => {
    const { status, text } = await ask(ports.good);
    assert.equal(status, 200);
    assert.match(text, new RegExp(`URI=${client}`));
  });
  it("another identity of the same mesh is refused", async () => assert.equal((await ask(ports.wrong)).status, 503));
  it("plain text is refused", async () => assert.equal((await ask(ports.plain)).status, 503));
});
