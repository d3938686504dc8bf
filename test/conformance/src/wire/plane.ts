/** Control planes that scenarios are run against: one started for a scenario, or one that runs already. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocalIssuer } from "@flotilla/auth";
import { allReady, paths, startControlPlane } from "@flotilla/cli/testing";
import type { MeshStep } from "@flotilla/registry";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import type { ClientTransport } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { credentials } from "@grpc/grpc-js";
import { hasSeveralClusters, type Scenario, type ScenarioProxy } from "../scenarios/scenario.ts";
import { inputFolder } from "./input-folder.ts";
import { unsignedToken } from "./unsigned-token.ts";

interface PlanePort {
  readonly connect: (proxy: ScenarioProxy) => Promise<ClientTransport>;
  /** False: it must not send any, whatever token a proxy has. */
  readonly sendsSecrets: boolean;
}

export interface Plane extends AsyncDisposable {
  /** By name, such as `15010`. */
  readonly ports: Readonly<Record<string, PlanePort>>;
  /** Undefined where the input is somebody else's: then only the first stage can be compared. */
  readonly apply: ((step: MeshStep) => void) | undefined;
}

/** Starts or names the control plane of one scenario, with the input of its first stage. */
export type OpenPlane = (scenario: Scenario) => Promise<Plane>;

const readyWithinMs = 60_000;

/** Flotilla in this process, on free ports: 15010 in plain text, 15012 with TLS. */
export const openEmbedded: OpenPlane = async (scenario) => {
  // Files have the objects of one cluster.
  if (hasSeveralClusters(scenario)) throw new Error(`${scenario.name} has several clusters`);
  await using owned = new AsyncDisposableStack();
  const root = temporary(owned);
  const workDir = join(root, "work");
  const settings = { ...scenario.env, XDS_AUTH_PLAINTEXT: "true", LOG_LEVEL: "error" };
  const { objects: config, mesh, networks, apply } = startInput(root, scenario, settings);
  const controlPlane = owned.use(
    await startControlPlane({
      options: { embedded: true, config, mesh, networks, settings, firstPort: await freePorts(12), workDir },
      logs: "files",
      onProgress: () => undefined,
    }),
  );
  await allReady(controlPlane, readyWithinMs, () => undefined, new AbortController().signal);
  const issuer = await openLocalIssuer(workDir);
  const token = (proxy: ScenarioProxy) => issuer.mintToken(accountOf(proxy));
  const { xds, xdsTls } = controlPlane.layout.ports;
  const trusted = readFileSync(paths(controlPlane.layout).root);
  const tls = credentials.createSsl(trusted);
  const all = owned.move();
  return {
    ports: {
      "15010": {
        connect: async (proxy) => grpcTransport({ address: `127.0.0.1:${xds}`, token: await token(proxy) }),
        sendsSecrets: false,
      },
      "15012": {
        connect: async (proxy) =>
          grpcTransport({ address: `127.0.0.1:${xdsTls}`, token: await token(proxy), tls, serverName }),
        sendsSecrets: true,
      },
    },
    apply,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};

/** A name that the certificate of a control plane holds. */
const serverName = "istiod.istio-system.svc";

export interface RunningPlaneOptions {
  /** `host:port`. */
  readonly address: string;
  /** Roots of its certificate; plain text without. */
  readonly root: string | undefined;
  /** The folder that it reads, where scenarios may be written to. */
  readonly input: string | undefined;
}

/** A control plane that runs already. Tokens of proxies are unsigned: only a control plane that is set so takes them. */
export function openRunning({ address, root, input }: RunningPlaneOptions): OpenPlane {
  const tls = root === undefined ? {} : { tls: credentials.createSsl(readFileSync(root)), serverName };
  return async (scenario) => ({
    ports: {
      [address]: {
        connect: async (proxy) => grpcTransport({ address, token: unsignedToken(accountOf(proxy)), ...tls }),
        sendsSecrets: true,
      },
    },
    apply: input === undefined ? undefined : startInput(input, scenario, scenario.env, true).apply,
    [Symbol.asyncDispose]: async () => undefined,
  });
}

/** One process for each scenario. `command` gets {input}, {clusters}, {mesh}, {networks}, {env}, {port} (and nine more) and {work}. */
export function openStarted(command: string): OpenPlane {
  return async (scenario) => {
    await using owned = new AsyncDisposableStack();
    const root = temporary(owned);
    const work = join(root, "work");
    mkdirSync(work);
    const { objects: input, clusters, apply, mesh, networks, env } = startInput(root, scenario, scenario.env);
    const port = await freePorts(12);
    const places = { input, clusters, mesh, networks, env, work, port: String(port) };
    const filled = command.replaceAll(
      /\{(\w+)\}/g,
      (text, name: string) => places[name as keyof typeof places] ?? text,
    );
    const child = spawn("bash", ["-c", `exec ${filled}`], { stdio: ["ignore", "ignore", "inherit"], detached: true });
    owned.defer(async () => {
      if (child.exitCode !== null || child.pid === undefined) return;
      process.kill(-child.pid, "SIGTERM");
      await once(child, "exit");
    });
    await until(() => child.exitCode !== null || isOpen(port), { withinMs: readyWithinMs, what: `port ${port}` });
    if (child.exitCode !== null) throw new Error(`the command ended with ${child.exitCode}: ${filled}`);
    const all = owned.move();
    const address = `127.0.0.1:${port}`;
    return {
      ports: {
        [address]: {
          connect: async (proxy) => grpcTransport({ address, token: unsignedToken(accountOf(proxy)) }),
          sendsSecrets: true,
        },
      },
      apply,
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    };
  };
}

function startInput(root: string, { stages }: Scenario, settings: Readonly<Record<string, string>>, clean = false) {
  if (clean) rmSync(join(root, "input"), { recursive: true, force: true });
  const input = inputFolder(root, settings);
  const [first] = stages;
  if (first !== undefined) input.apply(first.step);
  return input;
}

function temporary(owned: AsyncDisposableStack): string {
  const root = mkdtempSync(join(tmpdir(), "scenario-"));
  owned.defer(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

interface Account {
  readonly namespace: string;
  readonly serviceAccount: string;
}

function accountOf({ metadata }: ScenarioProxy): Account {
  return { namespace: String(metadata["NAMESPACE"]), serviceAccount: String(metadata["SERVICE_ACCOUNT"]) };
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
