/** The signing material of ca, from the first look at its source on. */

import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "@flotilla/auth";
import { delay } from "@flotilla/runtime";
import type { FollowedMesh } from "../mesh/follow-mesh.ts";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import type { SigningMaterial } from "../roots/material.ts";
import type { MaterialSource } from "../roots/material-source.ts";
import type { Roots } from "../rotation/create-roots.ts";
import type { CaService } from "../settings.ts";
import { Anchors } from "../trust/anchors.ts";
import { fetchText } from "../trust/bundle-endpoint.ts";
import type { BusLink } from "./fleet.ts";

/** Time for which the start waits for the state of other servers. */
export const patienceMs = 5000;

/** The roots of other meshes, followed as the trust asks for them. */
export function openAnchors({ settings, health, log }: CaService, trust: MeshTrust): Anchors & AsyncDisposable {
  const anchors = new Anchors({
    ...{ urls: settings.bundleUrls, refreshMs: settings.bundleRefreshMs, fetchText, log: log.child({ part: "trust" }) },
    onProblem: (reason) => health.setCondition("trust bundle", reason),
  });
  anchors.setWanted(trust.anchors);
  trust.onChange(() => anchors.setWanted(trust.anchors));
  return Object.assign(anchors, { [Symbol.asyncDispose]: () => anchors.stop() });
}

interface MaterialParts {
  readonly roots: Roots;
  readonly mesh: FollowedMesh;
  readonly link: BusLink;
  /** True where ca works for a cluster. */
  readonly isInCluster: boolean;
}

/** Waits for material that can be used, and writes its roots to the root file. Undefined when the service stops before. */
export async function loadMaterial(
  { settings, stop }: CaService,
  { roots, mesh, link, isInCluster }: MaterialParts,
): Promise<SigningMaterial | undefined> {
  const { source, active, rotation } = roots;
  if ((await firstMaterial(source, settings.pollMs, stop)) === undefined) return undefined;
  await rotation.restore();
  link.setRotation(rotation);
  // Replicas that share a disk have the state there; in a cluster others may be in the middle of a rotation.
  if (settings.busUrl !== undefined && isInCluster)
    await Promise.race([rotation.known, mesh.following, mesh.away, delay(patienceMs, stop)]);
  const material = active.current;
  if (material === undefined || stop.aborted) return undefined;
  await writeRootFile(settings.rootFile, material.rootsPem);
  return material;
}

/** Bad material at the start is waited out, with its reason on the page: who repairs it need not restart us. */
async function firstMaterial(
  source: MaterialSource,
  pollMs: number,
  stop: AbortSignal,
): Promise<SigningMaterial | undefined> {
  while (!stop.aborted) {
    if (await source.load()) return source.current;
    await delay(Math.max(pollMs, 1000), stop);
  }
  return undefined;
}

/** The roots in a file, for other services and for clients that are to trust the mesh. */
export async function writeRootFile(file: string, rootsPem: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const found = await readFile(file, "utf8").catch((error: { code?: unknown }) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found !== rootsPem) await replaceFile(file, rootsPem, 0o644);
}
