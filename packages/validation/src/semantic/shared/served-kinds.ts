/**
 * Which Gateways and Ingresses the mesh serves: those of other controllers are held against their form alone, since what this mesh cannot
 * follow is no concern of theirs.
 */

export type GatewayRole = "ingress" | "remote" | "waypoint" | "east-west";

export interface ServedIngress {
  /** The annotation `kubernetes.io/ingress.class`. */
  readonly annotation: string | undefined;
  readonly className: string | undefined;
}

export interface ServedKinds {
  /** What a Gateway of the class is to the mesh; undefined: another controller's. */
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
