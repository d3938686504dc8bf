import assert from "node:assert/strict";
import { test } from "node:test";
import { type JsonObject, typeUrl } from "@flotilla/proto";
import { aConfig, aMesh, aService, aSidecar, resourceOf } from "../../../testing/mesh.ts";

const files = { TLS_CLIENT_CERT_CHAIN: "/c/c.pem", TLS_CLIENT_KEY: "/c/k.pem", TLS_CLIENT_ROOT_CERT: "/c/r.pem" };
const mutual = { mode: "MUTUAL", clientCertificate: "/r/c.pem", privateKey: "/r/k.pem", caCertificates: "/r/ca.pem" };

/** The certificates and roots that the cluster of a service names, in the order of the text. */
function secrets(tls: Record<string, string>, service = aService("web", "shop")): readonly string[] {
  const rule = aConfig("DestinationRule", "shop", "r", { host: service.hostname, trafficPolicy: { tls } });
  const name = `outbound|80||${service.hostname}`;
  const cluster = resourceOf(aMesh(service, rule), aSidecar("shop", files), typeUrl.cluster, name);
  return [...JSON.stringify(cluster).matchAll(/"name":"(file-[^"]*|default|ROOTCA)"/g)].map(([, found = ""]) => found);
}

test("the files that a proxy was started with count before those of a rule", () => {
  assert.deepEqual(secrets(mutual).toSorted(), ["file-cert:/c/c.pem~/c/k.pem", "file-root:/c/r.pem"]);
});

test("files without a certificate's chain do not count", () => {
  const name = "outbound|80||web.shop.svc.cluster.local";
  const core = aMesh(
    aService("web", "shop"),
    aConfig("DestinationRule", "shop", "r", {
      host: "web",
      trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } },
    }),
  );
  const { TLS_CLIENT_KEY, TLS_CLIENT_ROOT_CERT } = files;
  const cluster = resourceOf(core, aSidecar("shop", { TLS_CLIENT_KEY, TLS_CLIENT_ROOT_CERT }), typeUrl.cluster, name);
  assert.doesNotMatch(JSON.stringify(cluster), /file-/);
});

test("the mesh's own mutual TLS of a rule is that of the files, for the host of the request", () => {
  assert.deepEqual(secrets({ mode: "ISTIO_MUTUAL" }).toSorted(), ["file-cert:/c/c.pem~/c/k.pem", "file-root:/c/r.pem"]);
  const rule = aConfig("DestinationRule", "shop", "r", {
    host: "web",
    trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } },
  });
  const core = aMesh(aService("web", "shop"), rule);
  const isAutomatic = (metadata: Record<string, string>) =>
    JSON.stringify(
      resourceOf(core, aSidecar("shop", metadata), typeUrl.cluster, "outbound|80||web.shop.svc.cluster.local"),
    ).includes('"autoSni":true');
  assert.deepEqual([isAutomatic(files), isAutomatic({})], [true, false]);
});

test("files come from the agent, or from the socket beside the proxy that it found for them", () => {
  const rule = (tls: JsonObject) => aConfig("DestinationRule", "shop", "r", { host: "web", trafficPolicy: { tls } });
  const name = "outbound|80||web.shop.svc.cluster.local";
  const servers = (metadata: Record<string, string>, tls: JsonObject) => {
    const cluster = resourceOf(
      aMesh(aService("web", "shop"), rule(tls)),
      aSidecar("shop", metadata),
      typeUrl.cluster,
      name,
    );
    return [...JSON.stringify(cluster).matchAll(/"clusterName":"(sds-[^"]*)"/g)].map(([, found]) => found);
  };
  const socket = { "file-credential": "true" };
  for (const [metadata, tls, server] of [
    [{}, mutual, "sds-grpc"],
    [socket, mutual, "sds-files-grpc"],
    [socket, { mode: "SIMPLE" }, "sds-files-grpc"],
    [{ ...socket, ...files }, { mode: "ISTIO_MUTUAL" }, "sds-files-grpc"],
    [socket, { mode: "ISTIO_MUTUAL" }, "sds-grpc"],
  ] as const)
    assert.deepEqual([...new Set(servers(metadata, tls))], [server], JSON.stringify([metadata, tls]));
});

test("connections that pass through take the mesh's default pool", () => {
  const connectionPool = { tcp: { connectTimeout: "4s" } };
  const mesh = aConfig("MeshConfig", "istio-system", "istio", { defaultTrafficPolicy: { connectionPool } });
  const timeoutOf = (name: string) =>
    resourceOf(aMesh(mesh), aSidecar("shop"), typeUrl.cluster, name)?.["connectTimeout"];
  assert.deepEqual(["PassthroughCluster", "BlackHoleCluster"].map(timeoutOf), ["4s", "10s"]);
});

test("outside of the mesh the rule's own certificates count", () => {
  const outside = aService("web", "shop", { meshExternal: true });
  assert.deepEqual(secrets(mutual, outside).toSorted(), ["file-cert:/r/c.pem~/r/k.pem", "file-root:/r/ca.pem"]);
  assert.deepEqual(secrets({ mode: "ISTIO_MUTUAL" }, outside).toSorted(), ["ROOTCA", "default"]);
});

test("a rule that may not use its Secret still announces the caller's address", () => {
  const trafficPolicy = { tls: { mode: "SIMPLE", credentialName: "s" }, proxyProtocol: {} };
  const rule = aConfig("DestinationRule", "shop", "r", { host: "web", trafficPolicy });
  const core = aMesh(aService("web", "shop"), rule);
  const cluster = resourceOf(core, aSidecar("shop"), typeUrl.cluster, "outbound|80||web.shop.svc.cluster.local");
  assert.match(JSON.stringify(cluster?.["transportSocket"]), /upstream_proxy_protocol.*raw_buffer/);
});

test("the mesh's TLS defaults hold for the proxy's own files", () => {
  const mesh = aConfig("MeshConfig", "istio-system", "istio", { tlsDefaults: { ecdhCurves: ["P-256"] } });
  const name = "outbound|80||web.shop.svc.cluster.local";
  const core = aMesh(mesh, aService("web", "shop"));
  const params = (metadata: Record<string, string>) =>
    JSON.stringify(resourceOf(core, aSidecar("shop", metadata), typeUrl.cluster, name)).includes("P-256");
  assert.deepEqual([params(files), params({})], [true, false]);
});

test("only the whole service of a PASSTHROUGH asks whether every endpoint takes mutual TLS", () => {
  const trafficPolicy = { loadBalancer: { simple: "PASSTHROUGH" } };
  const rule = aConfig("DestinationRule", "shop", "r", { host: "web", trafficPolicy, subsets: [{ name: "v1" }] });
  const core = aMesh(aService("web", "shop"), rule);
  const hasTls = (subset: string) =>
    resourceOf(core, aSidecar("shop"), typeUrl.cluster, `outbound|80|${subset}|web.shop.svc.cluster.local`)?.[
      "transportSocket"
    ] !== undefined;
  assert.deepEqual([hasTls(""), hasTls("v1")], [false, true]);
});
