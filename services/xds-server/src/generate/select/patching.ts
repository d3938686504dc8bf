/** How patches reach the resources of each type: which patches a resource has, and what is added beside those that are built. */
import type { Finding } from "@flotilla/incremental";
import type { GenMessage, Message } from "@flotilla/proto";
import { type Cluster, ClusterSchema } from "@flotilla/proto/envoy/config/cluster/v3/cluster_pb";
import {
  type TypedExtensionConfig,
  TypedExtensionConfigSchema,
} from "@flotilla/proto/envoy/config/core/v3/extension_pb";
import { type Listener, ListenerSchema } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import { hasPatches } from "../../snapshot/scope/envoy-filters.ts";
import { mergedGateways } from "../../snapshot/scope/gateways.ts";
import { placesOfCluster, placesOfListener, placesOfRoutes } from "../../snapshot/scope/patch-places.ts";
import { query, type View } from "../../snapshot/view.ts";
import { type Encoded, encodedMessage } from "../encode/encoded.ts";
import { type Changes, type ContainerChanges, type Patching, reportOutcomes } from "../encode/patching.ts";
import { addedClusters, clusterPatches, patchCluster } from "../patch/clusters.ts";
import { addedExtensionConfigs } from "../patch/extension-configs.ts";
import { patchInlineRoutes } from "../patch/inline-routes.ts";
import { portOfListener } from "../patch/listener-match.ts";
import { addedListeners, listenerPatches, patchListener } from "../patch/listeners.ts";
import { Context, type NoteOutcome, type Patch } from "../patch/patch.ts";
import { type PatchedRoutes, portsOfRoutes } from "../patch/route-match.ts";
import { isRoutePatch, routePatches } from "../patch/routes.ts";
import { isTunnelCluster } from "./hbone.ts";
import { Outcomes } from "./patch-outcomes.ts";
import { contextsOf, findingOf, type PatchSet, patchesAt, patchSet, perSet, proxyPatches } from "./patches.ts";
import { RouteChanges } from "./route-changes.ts";
import { isCredentialSocket } from "./secret-server.ts";

/**
 * @param label of the proxy type
 * @param placeOf the place of a cluster that was built. As in istiod no patch is for tunnels and the credential socket, wherever they are.
 */
export function clusterPatching(
  label: string,
  placeOf: (view: View, name: string) => { readonly context: Context; readonly hosts: readonly string[] },
): Patching<Changes<Cluster>> {
  const patchesOf = query<PatchSet | undefined, string>(`${label} cluster-patches`, (view, name) => {
    if (isTunnelCluster(view, name) || isCredentialSocket(view, name)) return undefined;
    const place = placeOf(view, name);
    const patches = patchesAt(view, placesOfCluster(name, place.hosts));
    return patchSet(clusterPatches(patches, { name, ...place }));
  });
  return {
    changes: (view, name) => {
      const set = view.read(hasPatches) ? view.read(patchesOf, name) : undefined;
      return set && clusterChanges(set);
    },
    added: addedResources(`${label} added-clusters`, ClusterSchema, (view) =>
      addedClusters(view.read(proxyPatches), contextsOf(view)),
    ),
  };
}

const clusterChanges = perSet((set) => changesBy<Cluster>(set, patchCluster));

/** @param contextOf the context of a listener that was built; undefined for one that no patch is for */
export function listenerPatching(
  label: string,
  contextOf: (view: View, name: string) => Context | undefined,
): Patching<Changes<Listener>> {
  const patchesOf = query<PatchSet | undefined, string>(`${label} listener-patches`, (view, name) => {
    const context = contextOf(view, name);
    if (context === undefined) return undefined;
    // The routes of inbound traffic stand inside of their listeners.
    const hasRoutes = context === Context.SIDECAR_INBOUND;
    const patches = patchesAt(view, placesOfListener(name, portOfListener(name), hasRoutes));
    return patchSet([
      ...listenerPatches(patches, { name, context }),
      ...(hasRoutes ? patches.filter(isRoutePatch) : []),
    ]);
  });
  return {
    changes: (view, name) => {
      const set = view.read(hasPatches) ? view.read(patchesOf, name) : undefined;
      return set && listenerChanges(set);
    },
    added: addedResources(`${label} added-listeners`, ListenerSchema, (view) =>
      addedListeners(view.read(proxyPatches), contextsOf(view)),
    ),
  };
}

const listenerChanges = perSet((set) =>
  changesBy<Listener>(set, (listener, patches, note) => {
    patchInlineRoutes(listener, patches.filter(isRoutePatch), Context.SIDECAR_INBOUND, note);
    return patchListener(listener, patches, note);
  }),
);

export function routePatching(label: string): Patching<ContainerChanges> {
  const patchesOf = query<PatchSet | undefined, string>(`${label} route-patches`, (view, name) => {
    const routes = routesNamed(view, name);
    return patchSet(routePatches(patchesAt(view, placesOfRoutes(name, portsOfRoutes(routes))), routes));
  });
  return {
    changes: (view, name) => {
      const set = view.read(hasPatches) ? view.read(patchesOf, name) : undefined;
      return set && routeChanges(set);
    },
  };
}

const routeChanges = perSet((set) => new RouteChanges(set.patches));

/** Extension configs exist by patches alone, beside those of other extensions. */
export const extensionConfigPatching: Patching<Changes<TypedExtensionConfig>> = {
  changes: () => undefined,
  added: addedResources("added-extension-configs", TypedExtensionConfigSchema, (view) =>
    addedExtensionConfigs(view.read(proxyPatches)),
  ),
};

function routesNamed(view: View, name: string): PatchedRoutes {
  if (view.proxy.type !== "router") return { name, context: Context.SIDECAR_OUTBOUND, serverPorts: new Map() };
  return { name, context: Context.GATEWAY, serverPorts: view.read(gatewayServerPorts) };
}

const gatewayServerPorts = query<ReadonlyMap<number, readonly number[]>>(
  "gateway-server-ports",
  (view) => {
    const ports = new Map<number, readonly number[]>();
    for (const { port, servers } of view.read(mergedGateways).listeners.values())
      ports.set(port, [...(ports.get(port) ?? []), ...servers.map(({ server }) => server.port?.number ?? 0)]);
    return ports;
  },
  (a, b) => JSON.stringify([...a]) === JSON.stringify([...b]),
);

function changesBy<Resource extends { readonly name: string }>(
  { patches }: PatchSet,
  patch: (message: Resource, patches: readonly Patch[], note: NoteOutcome) => Resource | undefined,
): Changes<Resource> {
  return {
    apply: (message) => {
      const outcomes = new Outcomes();
      const findings: Finding[] = [];
      const { name } = message;
      const note: NoteOutcome = (patch, reason) => {
        outcomes.note(patch, reason);
        const { object, index } = patch;
        if (reason !== undefined) findings.push(findingOf({ object, index, path: "patch", reason }, name));
      };
      return { message: patch(message, patches, note), findings, outcomes: outcomes.list };
    },
  };
}

/** By name; of several with one name the first counts. */
function addedResources<Resource extends Message & { readonly name: string }>(
  label: string,
  schema: GenMessage<Resource>,
  patchesOf: (view: View) => readonly Patch<Resource>[],
) {
  const content = query<Encoded | undefined, Patch<Resource>>(
    `${label} content`,
    (_, { value }) => value && encodedMessage(schema, value as never),
  );
  return query<ReadonlyMap<string, Encoded>>(label, (view) => {
    const added = new Map<string, Encoded>();
    const outcomes = new Outcomes();
    for (const patch of patchesOf(view)) {
      const encoded = view.read(content, patch);
      const name = patch.value?.name ?? "";
      // One without a name could not be referred to, and istiod does not send it either.
      if (encoded === undefined || name === "" || added.has(name)) continue;
      added.set(name, encoded);
      outcomes.note(patch);
    }
    reportOutcomes(view, outcomes.list);
    return added;
  });
}
