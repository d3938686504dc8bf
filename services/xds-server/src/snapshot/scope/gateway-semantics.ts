/**
 * VirtualServices that stand for routes of the Gateway API: prefixes end at path segments, a destination that does not
 * exist is the server's fault, their own namespace's come first, and only hosts that a service has are routed.
 */

const annotation = "internal.istio.io/route-semantics";

export const gatewaySemantics: Readonly<Record<string, string>> = { [annotation]: "gateway" };

export function hasGatewaySemantics(annotations: Readonly<Record<string, string>>): boolean {
  return annotations[annotation] === "gateway";
}
