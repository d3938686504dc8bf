/**
 * The VirtualServices of a Gateway in parts, by their hosts: of thousands of hosts one changes at a time, and what follows from the other
 * parts stays.
 */
import { type Config, isWildcard, type TextOf, textCodec } from "@flotilla/model";
import { query, type View } from "../view.ts";
import type { GatewayName } from "./gateway-merge.ts";
import { partOfHost, type RoutePart } from "./route-plans.ts";
import {
  headsByAge,
  partsFor,
  routeHeadsByGateway,
  type VirtualServiceHead,
  virtualServiceDestinations,
  visibleHeads,
  writtenHeadsByGateway,
} from "./virtual-services.ts";

interface HeadsExtent {
  readonly count: number;
  /** True where a host has a wildcard, which may stand for hosts of every part. */
  readonly hasWildcards: boolean;
}

const noHeads: HeadsExtent = { count: 0, hasWildcards: false };

function extentOf(heads: readonly Config<VirtualServiceHead>[] = []): HeadsExtent {
  return { count: heads.length, hasWildcards: heads.some(({ spec }) => spec.hosts.some(isWildcard)) };
}

const gatewayPart = textCodec<"GatewayPart", { readonly gateway: string; readonly part: RoutePart }>(
  "GatewayPart",
  " ",
  ["gateway", "part"],
);
type GatewayPart = TextOf<typeof gatewayPart>;

const writtenExtent = query<HeadsExtent, string>("written-heads-extent", (view, gateway) =>
  extentOf(view.read(writtenHeadsByGateway).get(gateway)),
);

const routesExtent = query<HeadsExtent, GatewayPart>("route-heads-extent", (view, text) => {
  const { gateway, part } = gatewayPart.read(text);
  return extentOf(view.read(routeHeadsByGateway, part).get(gateway));
});

/** Of all VirtualServices of a Gateway whose hosts make parts. */
export const headsExtent = query<HeadsExtent, GatewayName>("heads-extent", (view, gateway) => {
  const parts = partsFor(view, gateway).filter((part) => part !== "layer-4");
  const extents = [
    view.read(writtenExtent, gateway),
    ...parts.map((part) => view.read(routesExtent, gatewayPart.write({ gateway, part }))),
  ];
  return extents.reduce(
    (sum, one) => ({ count: sum.count + one.count, hasWildcards: sum.hasWildcards || one.hasWildcards }),
    noHeads,
  );
});

type HeadsByPart = ReadonlyMap<RoutePart, readonly Config<VirtualServiceHead>[]>;

/** By Gateway. Those with TCP or TLS routes are in the part of these too. */
const writtenHeadsByPart = query<ReadonlyMap<string, HeadsByPart>>(
  "written-heads-by-part",
  (view) => new Map([...view.read(writtenHeadsByGateway)].map(([gateway, heads]) => [gateway, byPart(heads)])),
);

function byPart(heads: readonly Config<VirtualServiceHead>[]): HeadsByPart {
  const found = new Map<RoutePart, Config<VirtualServiceHead>[]>();
  for (const head of heads) {
    const { hosts, isLayer4 } = head.spec;
    const parts = new Set<RoutePart>([...hosts.map(partOfHost), ...(isLayer4 ? ["layer-4" as const] : [])]);
    for (const part of parts) {
      const heads = found.get(part) ?? [];
      heads.push(head);
      found.set(part, heads);
    }
  }
  return found;
}

const partAudience = textCodec<
  "PartAudience",
  { readonly namespace: string; readonly gateway: string; readonly part: RoutePart }
>("PartAudience", " ", ["namespace", "gateway", "part"]);

const virtualServicesOfPart = query<readonly VirtualServiceHead[], TextOf<typeof partAudience>>(
  "virtual-services-of-part",
  (view, text) => {
    const { namespace, gateway, part } = partAudience.read(text);
    const written = view.read(writtenHeadsByPart).get(gateway)?.get(part) ?? [];
    const hasRoutes = partsFor(view, gateway).includes(part);
    const ofRoutes = hasRoutes ? (view.read(routeHeadsByGateway, part).get(gateway) ?? []) : [];
    return visibleHeads(headsByAge(written, ofRoutes), namespace);
  },
);

/**
 * The VirtualServices that a router follows for one of its Gateways and that have a host of the part, in order of precedence; for `layer-4`
 * those with TCP or TLS routes. Hosts with wildcards are found in the part of their own text alone.
 */
export function virtualServicesOf(view: View, gateway: GatewayName, part: RoutePart): readonly VirtualServiceHead[] {
  const { namespace } = view.proxy;
  return view.read(virtualServicesOfPart, partAudience.write({ namespace, gateway, part }));
}

/** Hosts that the routes of a Gateway send traffic to, whatever the visibility of the VirtualServices. */
export const gatewayDestinations = query<readonly string[], string>("gateway-destinations", (view, gateway) => {
  const ofRoutes = partsFor(view, gateway).flatMap((part) =>
    view.read(destinationsOfPart, gatewayPart.write({ gateway, part })),
  );
  return [...new Set([...view.read(writtenDestinations, gateway), ...ofRoutes])];
});

const writtenDestinations = query<readonly string[], string>("written-destinations", (view, gateway) =>
  destinationsOf(view, view.read(writtenHeadsByGateway).get(gateway)),
);

const destinationsOfPart = query<readonly string[], GatewayPart>("destinations-of-part", (view, text) => {
  const { gateway, part } = gatewayPart.read(text);
  return destinationsOf(view, view.read(routeHeadsByGateway, part).get(gateway));
});

function destinationsOf(view: View, heads: readonly Config<VirtualServiceHead>[] = []): readonly string[] {
  const destinations = heads.flatMap(({ spec: { name } }) => view.read(virtualServiceDestinations, name));
  return [...new Set(destinations.map(({ host }) => host))];
}
