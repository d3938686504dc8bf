/**
 * Gateways and Ingresses that the mesh serves: those of other controllers are checked by their schema alone, since limits of this mesh are
 * no concern of theirs.
 */

export type GatewayRole = "ingress" | "remote" | "waypoint" | "east-west";

export interface ServedIngress {
  /** The annotation `kubernetes.io/ingress.class`. */
  readonly annotation: string | undefined;
  readonly className: string | undefined;
}

export interface ServedKinds {
  /** The role of a Gateway of the class in the mesh; undefined: another controller's. */
  readonly gatewayRole: (className: string) => GatewayRole | undefined;
  readonly isServedIngress: (ingress: ServedIngress) => boolean;
}

const roles: ReadonlyMap<string, GatewayRole> = new Map([
  ["istio", "ingress"],
  ["istio-remote", "remote"],
  ["istio-waypoint", "waypoint"],
  ["istio-east-west", "east-west"],
]);

/** By the usual names, where neither the cluster's classes nor the MeshConfig are at hand. */
export const usualNames: ServedKinds = {
  gatewayRole: (className) => roles.get(className),
  isServedIngress: ({ annotation, className }) => (annotation ?? className) === "istio",
};
