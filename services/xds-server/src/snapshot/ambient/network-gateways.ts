/** The gateways of other networks, for workloads that only they reach. */
import {
  gatewayWorkload,
  type HboneGateway,
  hboneGatewayOf,
  remoteHboneGateways,
  type WorkloadFacts,
} from "@flotilla/ambient";
import type { KubernetesGatewaySpec } from "@flotilla/gateway-api";
import { type TextOf, textCodec } from "@flotilla/model";
import { clusterOfShard, type ServiceText, serviceText } from "../row-index.ts";
import { kubernetesGatewayIndex } from "../scope/kubernetes-gateways.ts";
import { query, type View } from "../view.ts";
import { meshNetwork, sameJson, trustDomainForZtunnel } from "./namespaces.ts";

const gatewayName = textCodec("HboneGatewayName", "/", ["namespace", "name"]);

const hboneGateway = query<HboneGateway | undefined, TextOf<typeof gatewayName>>(
  "hbone-gateway",
  (view, text) => {
    const { namespace, name } = gatewayName.read(text);
    const gateway = view.config<KubernetesGatewaySpec>("KubernetesGateway", namespace, name);
    return gateway && hboneGatewayOf(gateway);
  },
  sameJson,
);

/** Gateways into other networks: the own cluster's, oldest first, then those of other clusters. */
const hboneGateways = query<readonly HboneGateway[]>("hbone-gateways", (view) => {
  const own = view.read(meshNetwork);
  const configured = view
    .row(kubernetesGatewayIndex, "all")
    .flatMap(({ key }) => view.read(hboneGateway, gatewayName.write(key)) ?? [])
    .filter(({ network }) => network !== own);
  return [...configured, ...gatewaysOfOtherClusters(view)];
});

function gatewaysOfOtherClusters(view: View): readonly HboneGateway[] {
  if (!view.feature("ambientMultiNetwork")) return [];
  const names = view.serviceNames.filter(({ hostname }) => hostname.endsWith(".gateway"));
  return names.flatMap((name) => view.read(remoteGateways, serviceText.write(name)));
}

/** Gateways of one name, which several clusters may have. */
const remoteGateways = query<readonly HboneGateway[], ServiceText>(
  "remote-hbone-gateways",
  (view, text) =>
    [...view.serviceShards(serviceText.read(text))].flatMap(([key, service]) =>
      remoteHboneGateways(service, clusterOfShard(key)),
    ),
  sameJson,
);

/** The way to the workloads of a network; undefined for the own one, and where no gateway is known. */
export const gatewayOfNetwork = query<HboneGateway | undefined, string>("gateway-of-network", (view, network) =>
  network === "" || network === view.read(meshNetwork)
    ? undefined
    : view.read(hboneGateways).find((gateway) => gateway.network === network),
);

/** Gateways that ztunnels call as workloads, by uid. */
export const gatewayWorkloads = query<ReadonlyMap<string, WorkloadFacts>>("gateway-workloads", (view) => {
  const trustDomain = trustDomainForZtunnel(view);
  const facts = view.read(hboneGateways).map((gateway) => gatewayWorkload(gateway, trustDomain));
  return new Map(facts.map((one) => [one.uid, one]));
});
