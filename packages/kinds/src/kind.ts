/** One kind of object, by its names in the Kubernetes API and in the mesh. */
export interface Kind {
  /** Unambiguous within the mesh: the Gateway API's Gateway is `KubernetesGateway`. Else equal to `kind`. */
  readonly name: string;
  /** As manifests spell it. */
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  /** "" for the core group. */
  readonly group: string;
  /** Served versions, preferred one first. */
  readonly versions: readonly string[];
  readonly storageVersion: string;
  readonly namespaced: boolean;
  /** Protobuf message of `spec`; absent for kinds that are none. */
  readonly message?: string;
}

/**
 * How kinds are called where configuration travels over xDS (MCP): `group/version/Kind`. In the preferred version, as
 * istiod asks for it; then in the others that are served. All mean the same objects.
 */
export function mcpTypeUrls({ group, versions, kind }: Kind): readonly string[] {
  return versions.map((version) => `${group === "" ? "core" : group}/${version}/${kind}`);
}
