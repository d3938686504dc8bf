/** The control plane with its NATS and Redis as k8s/base starts them, as processes: other ports and directories, all else the same. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { until } from "@flotilla/runtime";
import { findServer, freePort } from "@flotilla/servers";
import { storeUsers } from "@flotilla/state/access";
import type { Cluster } from "./cluster.ts";
import { argsOf, configOf, repository, settings } from "./manifests.ts";
import { startRedisFront } from "./redis-front.ts";

export const services = ["ca", "config-controller", "service-controller", "xds-server", "webhook"] as const;
export type Service = (typeof services)[number];
type Program = Service | "nats" | "redis";

interface Ports {
  readonly ca: number;
  readonly nats: number;
  readonly natsPages: number;
  readonly redis: number;
}

const host = new URL("resolve-here.ts", import.meta.url).href;

export class Deployed implements AsyncDisposable {
  readonly ports: Ports;
  readonly #directory: string;
  readonly #owned = new AsyncDisposableStack();
  readonly #health = new Map<Service, number>();
  readonly #running = new Map<string, ChildProcess>();

  readonly #cluster: Cluster | undefined;

  private constructor(directory: string, ports: Ports, cluster: Cluster | undefined) {
    this.#directory = directory;
    this.ports = ports;
    this.#cluster = cluster;
  }

  /** Without a cluster ca has its root on disk and takes tokens of an issuer beside it. */
  static async in(directory: string, cluster?: Cluster): Promise<Deployed> {
    const [ca, nats, natsPages, redis] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const sealKey = Buffer.alloc(32, 7);
    writeFileSync(join(directory, "seal.key"), sealKey);
    await cluster?.createSealKey(sealKey);
    mkdirSync(join(directory, "passwords"));
    for (const user of storeUsers) writeFileSync(join(directory, "passwords", user), `password of ${user}`);
    return new Deployed(directory, { ca, nats, natsPages, redis }, cluster);
  }

  /** Programs that depend on others end first. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(services.map((service) => this.stop(service)));
    await Promise.all([...this.#running.keys()].map((name) => this.stop(name)));
    await this.#owned.disposeAsync();
  }

  /** Ends a program by its name here; nothing when it does not run. */
  async stop(name: string): Promise<void> {
    const child = this.#running.get(name);
    this.#running.delete(name);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }

  /** Where a program keeps its certificate. */
  certificates(program: Program): string {
    return join(this.#directory, program, program === "nats" || program === "redis" ? "certificates" : "client");
  }

  get rootFile(): string {
    return this.#cluster?.rootFile ?? join(this.#directory, "ca", "root-cert.pem");
  }

  log(name: string): string {
    return readFileSync(join(this.#directory, `${name}.log`), "utf8");
  }

  /** One of our services, with settings beside those of k8s/base. */
  async startService(service: Service, more: Readonly<Record<string, string>> = {}): Promise<void> {
    mkdirSync(join(this.#directory, service), { recursive: true });
    const health = this.#health.get(service) ?? (await freePort());
    this.#health.set(service, health);
    const free = async () => String(await freePort());
    const env = {
      ...Object.fromEntries(Object.entries(settings()).map(([name, value]) => [name, this.#placed(value, service)])),
      ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: String(health), KUBERNETES_SERVICE_HOST: "", POD_NAME: service },
      ...{ CA_HOST: "127.0.0.1", CA_PORT: String(this.ports.ca), CA_SELF_SIGNED_KEY: "ecdsa-p256" },
      ...{ XDS_HOST: "127.0.0.1", XDS_PORT: await free(), XDS_TLS_PORT: await free(), HTTP_PORT: await free() },
      ...{ WEBHOOK_HOST: "127.0.0.1", WEBHOOK_PORT: await free() },
      ...more,
    };
    const kubeconfig = await this.#cluster?.kubeconfig(`flotilla-${service}`);
    if (service !== "ca") await this.#mint(`flotilla-${service}`, service);
    this.#spawn(service, process.execPath, argsOf(`${service}.yaml`, "main"), {
      ...env,
      ...(kubeconfig !== undefined && { CLUSTER_KUBECONFIG: kubeconfig }),
    });
  }

  /** The container that keeps the certificate of a server. Resolves when the server may start. */
  async startCertificate(server: "nats" | "redis"): Promise<void> {
    mkdirSync(this.certificates(server), { recursive: true });
    await this.#mint(`flotilla-${server}`, server);
    const args = argsOf(`${server}.yaml`, "certificate").map((arg) => this.#placed(arg, server));
    this.#spawn(`${server}-certificate`, process.execPath, args);
    const isThere = () => existsSync(join(this.certificates(server), "ca.crt"));
    await until(isThere, { withinMs: 60_000, what: `the certificate of ${server}` });
  }

  async startNats(): Promise<void> {
    const config = this.#config("nats");
    const binary = await findServer("nats", { env: process.env });
    const args = argsOf("nats.yaml", "main").map((arg) => arg.replace("/etc/nats/nats.conf", config));
    const listen = ["--addr", "127.0.0.1", "--port", String(this.ports.nats)];
    this.#spawn("nats", binary, [...args, ...listen]);
    const answers = async () => (await this.natsPage("healthz")) !== undefined;
    await until(answers, { withinMs: 60_000, what: "NATS" });
  }

  /** False: this Redis was built without TLS, and a front stands for it. */
  async startRedis(): Promise<boolean> {
    const config = this.#config("redis");
    const binary = await findServer("redis", { env: process.env });
    const ownTls = hasTls(binary);
    if (!ownTls) {
      const withoutTls = readFileSync(config, "utf8").replaceAll(/^tls-.*$/gm, "");
      writeFileSync(config, withoutTls);
      process.stderr.write(`NOTE: ${binary} has no TLS, a front stands for it. REDIS_SERVER_BIN names another.\n`);
    }
    execFileSync("sh", ["-c", this.#placed(configOf("redis-users.sh"), "redis")]);
    this.#spawn("redis", binary, [config]);
    const socketPath = join(this.certificates("redis"), "redis.sock");
    await until(() => existsSync(socketPath), { withinMs: 60_000, what: "Redis" });
    const front = { certificates: this.certificates("redis"), socketPath, port: this.ports.redis };
    if (!ownTls) this.#owned.use(await startRedisFront(front));
    return ownTls;
  }

  /** Undefined while NATS does not answer. */
  async natsPage(path: string): Promise<unknown> {
    try {
      return await (await fetch(`http://127.0.0.1:${this.ports.natsPages}/${path}`)).json();
    } catch {
      return undefined;
    }
  }

  /** Of the port with a service's pages. */
  pages(service: Service): string {
    return `http://127.0.0.1:${this.#health.get(service)}`;
  }

  /** Status and text; 0 while it does not answer. */
  async ready(service: Service): Promise<{ readonly status: number; readonly text: string }> {
    try {
      const response = await fetch(`${this.pages(service)}/ready`);
      return { status: response.status, text: await response.text() };
    } catch (error) {
      return { status: 0, text: String(error) };
    }
  }

  /** Also that each has its bus, and its store if it needs one. */
  async allReady(): Promise<void> {
    for (const service of services) {
      let last = "";
      const isReady = async () => {
        const { status, text } = await this.ready(service);
        last = text;
        return status === 200 && !/bus|store/.test(text);
      };
      await until(isReady, { withinMs: 60_000, what: `${service} to be ready` }).catch((cause: unknown) => {
        throw new Error(`${last}\n${this.log(service).slice(-2000)}`, { cause });
      });
    }
  }

  /** A token as the kubelet would put it into the pod. */
  async #mint(serviceAccount: string, program: Program): Promise<void> {
    const local = () => openLocalIssuer(join(this.#directory, "ca"));
    const token =
      (await this.#cluster?.token(serviceAccount, ["istio-ca"])) ??
      (await (await local()).mintToken({ namespace: "istio-system", serviceAccount }));
    writeFileSync(join(this.#directory, program, "token"), token, { mode: 0o600 });
  }

  #config(server: "nats" | "redis"): string {
    const own = join(this.#directory, server);
    mkdirSync(join(own, "data"), { recursive: true });
    const text = configOf(`${server}.conf`)
      .replaceAll("/data", join(own, "data"))
      .replaceAll("/certificates", this.certificates(server))
      .replace("http_port: 8222", `http: "127.0.0.1:${this.ports.natsPages}"`)
      .replace("tls-port 6379", `bind 127.0.0.1\ntls-port ${this.ports.redis}`);
    writeFileSync(join(own, `${server}.conf`), text);
    return join(own, `${server}.conf`);
  }

  /** Paths of the pod and ports of the Services as they are here. */
  #placed(text: string, program: Program): string {
    return text
      .replaceAll("/var/run/secrets/tokens/istio-token", join(this.#directory, program, "token"))
      .replaceAll("/var/run/secrets/istio/root-cert.pem", this.rootFile)
      .replaceAll("/var/run/secrets/flotilla/seal.key", join(this.#directory, "seal.key"))
      .replaceAll("/var/run/secrets/redis", join(this.#directory, "passwords"))
      .replaceAll("/etc/redis/redis-users.txt", join(repository, "k8s/base/redis-users.txt"))
      .replaceAll("/var/lib/flotilla", join(this.#directory, program))
      .replaceAll("/certificates", this.certificates(program))
      .replace("flotilla-ca.istio-system.svc:15013", `127.0.0.1:${this.ports.ca}`)
      .replace(".svc:4222", `.svc:${this.ports.nats}`)
      .replace(".svc:6379", `.svc:${this.ports.redis}`);
  }

  #spawn(name: string, program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): void {
    const log = openSync(join(this.#directory, `${name}.log`), "a");
    const preload = program === process.execPath ? ["--import", host] : [];
    const child = spawn(program, [...preload, ...args], {
      cwd: repository,
      env: { ...process.env, ...env },
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    this.#running.set(name, child);
  }
}

/** A server without TLS refuses the setting; one with TLS misses the certificate. */
function hasTls(binary: string): boolean {
  const { stdout } = spawnSync(binary, ["--port", "0", "--tls-port", "1"], { encoding: "utf8", timeout: 10_000 });
  return stdout.includes("tls-cert-file");
}
