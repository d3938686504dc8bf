/** How kinds are called where configuration travels over xDS (MCP): `group/version/Kind`. */
import type { Kind } from "./kind.ts";

/** In the preferred version, as istiod asks for it; then in the others that are served. All mean the same objects. */
export function mcpTypeUrls({ group, versions, kind }: Kind): readonly string[] {
  return versions.map((version) => `${group === "" ? "core" : group}/${version}/${kind}`);
}
