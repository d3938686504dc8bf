/**
 * Selects the listeners and the hosts of the mesh that a route attaches to, with the reasons why it does not attach to others of its
 * parents.
 * Source: corpus gateway-api (route-binding, invalid).
 */
import { type Config, compareText, hostCovers } from "@flotilla/model";
import type { Problem } from "./conditions.ts";
import { listenerGatewayName } from "./gateway-plan.ts";
import { gatewayGroup } from "./gateway-spec.ts";
import { isHostOf, type ListenerPlan } from "./listener-plan.ts";
import { isMeshParent, parentText, type RouteHead, type RouteParent } from "./route-head.ts";
import type { RouteKind } from "./route-spec.ts";

/** The gateway name that means all sidecars. */
export const meshGateway = "mesh";

export interface AttachmentLookups {
  /** The listeners of a Gateway or ListenerSet; undefined where it is not served from here. */
  readonly listenersOf: (parent: RouteParent) => readonly ListenerPlan[] | undefined;
  /** The hosts that a Service or ServiceEntry stands for; a text: why it cannot be a parent. Undefined: it is not followed from here. */
  readonly hostsOf: (parent: RouteParent) => readonly string[] | string | undefined;
}

/** A route at one listener, or at one host of the mesh. */
export interface Attachment {
  readonly parent: RouteParent;
  /** `mesh`, or the Gateway of Istio's API that the listener stands for. */
  readonly gateway: string;
  /** None where more specific listeners have all of them. */
  readonly hosts: readonly string[];
  readonly listener?: ListenerPlan;
}

export interface AttachedParent {
  readonly parent: RouteParent;
  readonly attachments: readonly Attachment[];
  /** Why there are none. */
  readonly problem?: Problem;
}

/** In the order in which the route's status has them. */
export function attachRoute({ key, spec }: Config<RouteHead>, lookups: AttachmentLookups): readonly AttachedParent[] {
  return spec.parents
    .toSorted((a, b) => compareText(parentText(b), parentText(a)))
    .flatMap((parent) => {
      // Proxies of the mesh capture no datagrams.
      if (isMeshParent(parent)) return key.kind === "UDPRoute" ? [] : meshAttachment(parent, lookups);
      const listeners = lookups.listenersOf(parent);
      if (listeners === undefined || listeners.length === 0) return [];
      return gatewayAttachment(parent, listeners, { kind: key.kind as RouteKind, namespace: key.namespace, spec });
    });
}

function meshAttachment(parent: RouteParent, { hostsOf }: AttachmentLookups): readonly AttachedParent[] {
  const hosts = hostsOf(parent);
  if (hosts === undefined) return [];
  if (typeof hosts === "string")
    return [{ parent, attachments: [], problem: { reason: "NoMatchingParent", message: hosts } }];
  return [{ parent, attachments: hosts.map((host) => ({ parent, gateway: meshGateway, hosts: [host] })) }];
}

interface Attaching {
  readonly kind: RouteKind;
  readonly namespace: string;
  readonly spec: RouteHead;
}

function gatewayAttachment(
  parent: RouteParent,
  listeners: readonly ListenerPlan[],
  route: Attaching,
): readonly AttachedParent[] {
  const attachments: Attachment[] = [];
  const problems: Problem[] = [];
  for (const listener of listeners) {
    const problem = attachmentProblem(parent, listener, route);
    if (problem !== undefined) {
      problems.push(problem);
      continue;
    }
    const hosts = hostsAt(listener, listeners, route);
    attachments.push({ parent, gateway: listenerGatewayName(listener), hosts, listener });
  }
  if (attachments.length > 0) return [{ parent, attachments }];
  const problem = foremost(problems.reverse());
  return [{ parent, attachments, ...(problem && { problem }) }];
}

function attachmentProblem(
  { port, section }: RouteParent,
  listener: ListenerPlan,
  { kind, namespace, spec }: Attaching,
): Problem | undefined {
  const noParent = (message: string): Problem => ({ reason: "NoMatchingParent", message });
  if (port !== 0 && port !== listener.port) return noParent(`port ${port} not found`);
  if (section !== "" && section !== listener.name) return noParent(`sectionName "${section}" not found`);
  const { hostnames } = spec;
  if (hostnames.length > 0 && !hostnames.some((host) => isHostOf(listener, host))) return noHost(listener);
  const denied = (message: string): Problem => ({ reason: "NotAllowedByListeners", message });
  const { namespaces, kinds, hostname } = listener;
  if (!namespaces.includes("*") && !namespaces.includes(namespace)) {
    const matched = `hostnames matched parent hostname "${hostname}"`;
    return denied(`${matched}, but namespace "${namespace}" is not allowed by the parent`);
  }
  return kinds.includes(kind) ? undefined : denied(`kind ${gatewayGroup}/v1/${kind} is not allowed`);
}

function noHost({ hostname }: ListenerPlan): Problem {
  return { reason: "NoMatchingListenerHostname", message: `no hostnames matched parent hostname "${hostname}"` };
}

/** A name belongs to the listener of the same port that is most specific about it. */
function hostsAt(listener: ListenerPlan, listeners: readonly ListenerPlan[], { kind, spec }: Attaching): string[] {
  const { hostnames } = spec;
  const own = listener.hostname === "" ? "*" : listener.hostname;
  if (hostnames.length === 0) return [kind === "TLSRoute" ? own : "*"];
  const others = listeners
    .filter(({ port, hostname }) => port === listener.port && hostname !== "" && hostname !== own)
    .map(({ hostname }) => hostname)
    .filter((hostname) => hostCovers(own, hostname));
  const attached = hostnames.filter(
    (host) => isHostOf(listener, host) && !others.some((other) => hostCovers(other, host)),
  );
  // Server names are matched as they stand here; hosts of requests are held against the listener's where routes are made.
  return kind === "TLSRoute" ? [...new Set(attached.map((host) => (hostCovers(host, own) ? own : host)))] : attached;
}

const ranks = ["NotAllowedByListeners", "NoMatchingListenerHostname", "NoMatchingParent"];

/** The reason that comes nearest to an attachment, with all its messages. */
function foremost(problems: readonly Problem[]): Problem | undefined {
  const reason = ranks.find((rank) => problems.some((problem) => problem.reason === rank));
  if (reason === undefined) return undefined;
  const messages = problems.filter((problem) => problem.reason === reason).map(({ message }) => message);
  return { reason, message: [...new Set(messages)].join("; ") };
}
