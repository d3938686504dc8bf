/** The demo's configuration: a copy of the sample mesh, so that the demo may change it. */
import { cpSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface MeshFolder {
  readonly path: string;
  /** Replaces the VirtualService in one step; resolves when it is written. */
  routeAllTo(subset: string): void;
}

const sample = fileURLToPath(new URL("../../../../samples/demo", import.meta.url));

export function meshFolder(workDir: string): MeshFolder {
  const path = join(workDir, "demo-mesh");
  return {
    path,
    routeAllTo: (subset) => {
      const file = join(path, "routes.yaml");
      writeFileSync(`${file}.new`, virtualService(subset));
      renameSync(`${file}.new`, file);
    },
  };
}

/** In place of what an earlier demo left there. */
export function copySample(workDir: string): MeshFolder {
  const folder = meshFolder(workDir);
  rmSync(folder.path, { recursive: true, force: true });
  mkdirSync(folder.path, { recursive: true });
  cpSync(sample, folder.path, { recursive: true });
  return folder;
}

function virtualService(subset: string): string {
  return `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: reviews, namespace: shop}
spec:
  hosts: [reviews.shop.svc.cluster.local]
  http:
    - route: [{destination: {host: reviews.shop.svc.cluster.local, subset: ${subset}}}]
`;
}
