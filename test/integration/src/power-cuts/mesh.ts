/**
 * Four services in this process over stores of the test's own, with a directory of files, objects written over the API, and a sidecar
 * that stays connected. Services can be stopped and started again: what they held in memory is gone then.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { main as ca } from "@flotilla/ca";
import { main as configController } from "@flotilla/config-controller";
import { delay } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { main as serviceController } from "@flotilla/service-controller";
import { main as xdsServer } from "@flotilla/xds-server";
import { ApiClient, routeOf } from "./api-client.ts";
import { fingerprintOf, RotatingRoot } from "./rotating-root.ts";
import { Sidecar } from "./sidecar.ts";
import type { Stores } from "./stores.ts";

const mains = {
  ca,
  "config-controller": configController,
  "service-controller": serviceController,
  "xds-server": xdsServer,
};
export type ServiceName = keyof typeof mains;
export const serviceNames = Object.keys(mains) as readonly ServiceName[];

/** Hosts of the mesh: the first half routed by files, the other over the API. */
export const fileHosts = ["web0", "web1", "web2"] as const;
export const apiHosts = ["web3", "web4", "web5"] as const;
const hosts = [...fileHosts, ...apiHosts];

const always = {
  apiVersion: "networking.istio.io/v1",
  kind: "DestinationRule",
  metadata: { name: "always", namespace: "shop" },
  spec: { host: "web0" },
};

const stopWithinMs = 30_000;

interface Running {
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

export class Mesh implements AsyncDisposable {
  readonly api: ApiClient;
  readonly root: RotatingRoot;
  readonly #workDir: string;
  readonly #stores: Stores;
  readonly #firstPort: number;
  readonly #running = new Map<ServiceName, Running>();

  private constructor(workDir: string, stores: Stores, api: ApiClient, root: RotatingRoot, firstPort: number) {
    this.root = root;
    this.#workDir = workDir;
    this.#stores = stores;
    this.api = api;
    this.#firstPort = firstPort;
  }

  static async start(workDir: string, stores: Stores, random: () => number): Promise<Mesh> {
    for (const folder of ["config", "registry"]) mkdirSync(join(workDir, folder), { recursive: true });
    writeFileSync(join(workDir, "seal.key"), "of this test alone\n", { mode: 0o600 });
    const firstPort = await freePorts(9);
    const ports = { pagesPort: firstPort + serviceNames.indexOf("ca"), caPort: firstPort + 7 };
    const root = new RotatingRoot({ workDir, ...ports, random });
    const mesh = new Mesh(workDir, stores, await ApiClient.create(workDir, firstPort), root, firstPort);
    mesh.writeRoutes(new Map());
    mesh.writeEndpoint(1);
    for (const name of serviceNames) mesh.startService(name);
    return mesh;
  }

  startService(name: ServiceName): void {
    const stop = new AbortController();
    const ended = mains[name](this.#environment(name), stop.signal);
    // Awaited by the caller that stops it.
    ended.catch(() => undefined);
    this.#running.set(name, { stop, ended });
  }

  async stopService(name: ServiceName): Promise<void> {
    const running = this.#running.get(name);
    this.#running.delete(name);
    running?.stop.abort(new Error("stopped by the test"));
    if (running === undefined) return;
    const tooLong = delay(stopWithinMs).then(() => assert.fail(`${name} does not stop`));
    await Promise.race([running.ended, tooLong]);
  }

  /** The text of a service's readiness page; empty while it does not answer. */
  async readyPage(name: ServiceName): Promise<string> {
    const port = this.#firstPort + serviceNames.indexOf(name);
    try {
      return await (await fetch(`http://127.0.0.1:${port}/ready`)).text();
    } catch {
      return "";
    }
  }

  /** Time-outs in seconds by host, in the directory of files. */
  writeRoutes(timeouts: ReadonlyMap<string, number>): void {
    // A directory that becomes empty is held (docs/decisions/0122-empty-directories-are-held.md).
    const items = [always, ...[...timeouts].map(([host, timeout]) => routeOf(host, timeout))];
    writeFileSync(join(this.#workDir, "config", "routes.json"), listOf(items));
  }

  /** The last byte of the address of web0's only endpoint. */
  writeEndpoint(lastByte: number): void {
    const services = hosts.map((name, at) => ({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name, namespace: "shop" },
      spec: {
        clusterIP: `10.0.0.${at + 1}`,
        ports: [{ name: "http", port: 80, targetPort: 8080 }],
        selector: { app: name },
      },
    }));
    const slice = {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { name: "web0-1", namespace: "shop", labels: { "kubernetes.io/service-name": "web0" } },
      addressType: "IPv4",
      ports: [{ name: "http", port: 8080 }],
      endpoints: [{ addresses: [`192.0.2.${lastByte}`], conditions: { ready: true } }],
    };
    writeFileSync(join(this.#workDir, "registry", "mesh.json"), listOf([...services, slice]));
  }

  sidecar(name: string): Sidecar {
    return new Sidecar(`127.0.0.1:${this.#firstPort + 5}`, name);
  }

  /** The root that the certificate of ca's port leads to, as its fingerprint; undefined while no server answers there. */
  servedRoot(): Promise<string | undefined> {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const port = this.#firstPort + 7;
    const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false, ALPNProtocols: ["h2"] }, () => {
      let certificate = socket.getPeerCertificate(true);
      while (certificate.issuerCertificate !== undefined && certificate.issuerCertificate !== certificate)
        certificate = certificate.issuerCertificate;
      resolve(fingerprintOf(certificate));
      socket.destroy();
    });
    socket.once("error", () => resolve(undefined));
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled([...this.#running.keys()].map((name) => this.stopService(name)));
  }

  #environment(name: ServiceName): Readonly<Record<string, string>> {
    const [http, xds, caPort, api] = [4, 5, 7, 8].map((offset) => String(this.#firstPort + offset)) as [
      string,
      string,
      string,
      string,
    ];
    return {
      BUS_URL: this.#stores.url("nats"),
      STORE_URL: this.#stores.url("redis"),
      HEALTH_HOST: "127.0.0.1",
      HEALTH_PORT: String(this.#firstPort + serviceNames.indexOf(name)),
      LOG_LEVEL: process.env["LOG_LEVEL"] ?? "silent",
      SEAL_KEY_FILE: join(this.#workDir, "seal.key"),
      WORK_DIR: this.#workDir,
      KUBERNETES_SERVICE_HOST: "",
      ...(name !== "ca" && { POD_NAME: name }),
      ...(name === "ca" && {
        ...{ CA_HOST: "127.0.0.1", CA_PORT: caPort, CA_SELF_SIGNED_KEY: "ecdsa-p256", CA_SELF_SIGNED_STORE: "bus" },
        ROOT_CA_DIR: join(this.#workDir, "cacerts"),
        ...{ CA_ROTATION_CHECK_INTERVAL: "100ms", CA_ROTATION_SETTLE: "200ms" },
      }),
      ...(name === "config-controller" && { API_PORT: api, ...this.api.certificateFiles }),
      ...(name === "xds-server" && { XDS_HOST: "127.0.0.1", XDS_PORT: xds, HTTP_PORT: http }),
      ...(name !== "ca" && { CONFIG_DIR: join(this.#workDir, name === "service-controller" ? "registry" : "config") }),
    };
  }
}

function listOf(items: readonly object[]): string {
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}
