/** The control plane with real NATS and Redis, and room for replicas of xds-server of the test's own. */
import { join } from "node:path";
import { allReady, type ControlPlane, copySample, type MeshFolder, startControlPlane } from "@flotilla/cli/testing";
import { freePorts } from "@flotilla/servers";

export interface PlaneWithoutXds extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly mesh: MeshFolder;
  /** The first of six in a row for each of three replicas. */
  readonly firstPorts: readonly number[];
}

/** Resolves when everything was ready and its xds-server is stopped. `given`: settings of the services, such as servers of the test's own. */
export async function startPlaneWithoutXds(
  workDir: string,
  given: Readonly<Record<string, string>> = {},
): Promise<PlaneWithoutXds> {
  const mesh = copySample(workDir);
  const firstPort = await freePorts(40);
  const settings = { ...process.env, ...given } as Record<string, string>;
  const more = { embedded: false, mesh: undefined, networks: undefined };
  const options = { ...more, config: mesh.path, settings, firstPort, workDir };
  const plane = await startControlPlane({ options, logs: "files", onProgress: () => undefined });
  try {
    await allReady(plane, 90_000, () => undefined, new AbortController().signal);
    await plane.services.find(({ name }) => name === "xds-server")?.[Symbol.asyncDispose]();
  } catch (error) {
    await plane[Symbol.asyncDispose]();
    throw new Error(`the control plane does not start, see ${join(workDir, "logs")}`, { cause: error });
  }
  return {
    ...{ plane, mesh, firstPorts: [firstPort + 20, firstPort + 26, firstPort + 32] },
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
}
