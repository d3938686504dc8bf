/** Messages beyond those of istioctl; their codes begin with FLT. */
import type { Message } from "./message.ts";

export const ownMessages = {
  HostWithoutService: {
    code: "FLT0001",
    level: "Info",
    template: "no service has host {host}{suggestion}",
    description:
      "The VirtualService is for calls within the mesh, and no service visible to sidecars has the name. Its routes are used for plain HTTP requests to port 80 at most, by callers that resolve the name themselves.",
  },
  HostOfOtherNamespace: {
    code: "FLT0002",
    level: "Warning",
    template: "host {host} belongs to namespace {owner}: calls to it from {callers} follow this VirtualService",
    description:
      'Writers of a VirtualService for the mesh decide where calls to its hosts go. One of another namespace should be limited to its own callers (exportTo: ["."]), or be written by the owner of the service.',
  },
  ShadowedMatch: {
    code: "FLT0003",
    level: "Warning",
    template: "the match is never met: {earlier} takes all of its requests",
    description: "Rules are tried in their order. Move the narrower match before the wider one.",
  },
  ImpossibleCondition: {
    code: "FLT0004",
    level: "Warning",
    template: "no request meets the condition: {reason}",
    description: "The rule has no effect; in a policy that allows, the requests meant are denied.",
  },
  NoWorkloadConcerned: {
    code: "FLT0005",
    level: "Warning",
    template: "no workload has the labels {labels}: the object concerns no proxy",
    description: "Neither a pod nor a WorkloadEntry that the object could hold for has the labels of its selector.",
  },
} as const satisfies Readonly<Record<string, Message>>;
