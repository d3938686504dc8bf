/** A feature under test: what it adds to the mesh, and what callers must see then. */
import type { Client } from "./client.ts";
import type { MeshBuilder } from "./mesh-builder.ts";
import type { Plane } from "./plane.ts";

export interface Check {
  /** A sentence. */
  readonly name: string;
  /** Every client has proxies and ports of its own, but the back ends are the same. */
  readonly holds: (client: Client, plane: Plane) => Promise<void>;
}

export type Feature = (mesh: MeshBuilder) => Promise<readonly Check[]>;
