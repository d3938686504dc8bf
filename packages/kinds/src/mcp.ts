/** How kinds are called where configuration travels over xDS (MCP): `group/version/Kind`. */
import type { Kind } from "./kind.ts";

/** Of the mesh's own configuration. Its resource is the bare message, without the envelope that objects have. */
export const meshConfigTypeUrl = "core/v1alpha1/MeshConfig";

/** In the preferred version, as istiod asks for it; then in the others that are served. All mean the same objects. */
export function mcpTypeUrls({ group, versions, kind }: Kind): readonly string[] {
  return versions.map((version) => `${group === "" ? "core" : group}/${version}/${kind}`);
}
