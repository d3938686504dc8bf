/**
 * VirtualServices that stand for routes of the Gateway API: prefixes end at path segments, and a destination that
 * does not exist is the server's fault.
 */

const annotation = "internal.istio.io/route-semantics";

export function hasGatewaySemantics(annotations: Readonly<Record<string, string>>): boolean {
  return annotations[annotation] === "gateway";
}
