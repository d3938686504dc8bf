/** A control plane in this process and the objects of a small mesh, as files that a test changes. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { allReady, startControlPlane } from "@flotilla/cli/testing";
import type { JsonObject } from "@flotilla/proto";
import { freePorts } from "@flotilla/servers";
import { namespace } from "./programs.ts";

export interface TestMesh extends AsyncDisposable {
  /** For files of the test; removed with the mesh. */
  readonly directory: string;
  readonly xdsPort: number;
  /** Writes an object of the test's namespace, or replaces it. */
  put(kind: string, name: string, spec: JsonObject): void;
  remove(kind: string, name: string): void;
}

export async function startTestMesh(settings: Readonly<Record<string, string>> = {}): Promise<TestMesh> {
  await using owned = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "fl-grpc-"));
  owned.defer(() => rmSync(directory, { recursive: true, force: true }));
  const config = join(directory, "config");
  mkdirSync(config);
  const firstPort = await freePorts(20);
  const options = { embedded: true, config, mesh: undefined, networks: undefined, firstPort };
  const controlPlane = owned.use(
    await startControlPlane({
      options: { ...options, settings: { LOG_LEVEL: "error", ...settings }, workDir: join(directory, "work") },
      logs: "files",
      onProgress: () => undefined,
    }),
  );
  await allReady(controlPlane, 60_000, () => undefined, new AbortController().signal);
  const fileOf = (kind: string, name: string) => join(config, `${kind}.${name}.yaml`);
  const all = owned.move();
  return {
    directory,
    xdsPort: controlPlane.layout.ports.xds,
    put: (kind, name, spec) => {
      const file = fileOf(kind, name);
      writeFileSync(`${file}.tmp`, JSON.stringify({ ...head(kind), metadata: { namespace, name }, spec }));
      renameSync(`${file}.tmp`, file);
    },
    remove: (kind, name) => rmSync(fileOf(kind, name)),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

const securityKinds: ReadonlySet<string> = new Set(["AuthorizationPolicy", "PeerAuthentication"]);

function head(kind: string) {
  return { apiVersion: `${securityKinds.has(kind) ? "security" : "networking"}.istio.io/v1`, kind };
}

export interface ServiceEndpoint {
  readonly port: number;
  readonly version: string;
  readonly locality?: string;
}

/** A service of the mesh on port 80 whose endpoints listen on loopback. */
export function aLocalService(host: string, account: string, endpoints: readonly ServiceEndpoint[]): JsonObject {
  return {
    hosts: [host],
    location: "MESH_INTERNAL",
    resolution: "STATIC",
    ports: [{ number: 80, name: "grpc", protocol: "GRPC" }],
    endpoints: endpoints.map(({ port, version, locality }) => ({
      address: "127.0.0.1",
      ports: { grpc: port },
      labels: { version, "security.istio.io/tlsMode": "istio" },
      serviceAccount: account,
      ...(locality !== undefined && { locality }),
    })),
  };
}
