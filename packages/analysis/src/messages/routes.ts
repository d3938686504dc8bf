/** Messages on VirtualServices and their routes. */
import type { Message } from "./message.ts";

export const routeMessages = {
  ConflictingMeshHosts: {
    code: "IST0109",
    level: "Error",
    template: "VirtualServices {virtualServices} claim host {host} for the whole mesh: merge them into one",
    description: "Sidecars use one VirtualService for a host, and which one is not defined.",
  },
  DestinationPortRequired: {
    code: "IST0112",
    level: "Error",
    template: "host {host} has ports {ports}: the destination has to name one of them",
    description: "A destination without a port is for services that have exactly one.",
  },
  UnreachableRule: {
    code: "IST0130",
    level: "Warning",
    template: "{reason}",
    description:
      "Earlier rules of the VirtualService take everything that the rule would match. Move it before them, or remove it.",
  },
  IneffectiveMatch: {
    code: "IST0131",
    level: "Info",
    template: "{reason}",
    description: "An earlier match takes all requests of this one.",
  },
  HostNotFoundInGateway: {
    code: "IST0132",
    level: "Warning",
    template: "gateway {gateway} serves none of the hosts {hosts}",
    description:
      "No request that the gateway accepts is for a host of the VirtualService, so its routes are not used there.",
  },
  IngressRouteRulesNotAffected: {
    code: "IST0140",
    level: "Warning",
    template:
      "requests through the gateway do not go through the subsets that VirtualService {virtualService} chooses for {host}",
    description:
      "A gateway follows the VirtualServices that are bound to it. Rules that another VirtualService has for calls within the mesh do not hold for its requests.",
  },
  JwtClaimWithoutAuthentication: {
    code: "IST0149",
    level: "Error",
    template:
      "the route on claim {claim} never matches at gateway {gateway}: no RequestAuthentication is for its pod {pod}",
    description: "Claims can be matched after a RequestAuthentication has verified the token.",
  },
  ReferencedInternalGateway: {
    code: "IST0165",
    level: "Warning",
    template: "gateway {gateway} is made of a Gateway of the Gateway API by the control plane",
    description:
      "The names of such gateways are no interface. Attach an HTTPRoute to the Gateway of the Gateway API instead.",
  },
} as const satisfies Readonly<Record<string, Message>>;
