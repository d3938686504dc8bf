/** The gateways of other networks, for workloads that only they reach. */
import {
  gatewayWorkload,
  type HboneGateway,
  hboneGatewaysOf,
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

const ofGateway = query<readonly HboneGateway[], TextOf<typeof gatewayName>>(
  "hbone-gateways-of-gateway",
  (view, text) => {
    const { namespace, name } = gatewayName.read(text);
    const gateway = view.config<KubernetesGatewaySpec>("KubernetesGateway", namespace, name);
    return gateway === undefined ? [] : hboneGatewaysOf(gateway);
  },
  sameJson,
);

/** Gateways into networks: the own cluster's, oldest first, then those of other clusters. */
const hboneGateways = query<readonly HboneGateway[]>("hbone-gateways", (view) => {
  const configured = view
    .row(kubernetesGatewayIndex, "all")
    .flatMap(({ key }) => view.read(ofGateway, gatewayName.write(key)));
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

/** The way to the workloads of a network; undefined where no gateway is known. Into the own one, as in istiod, only a Gateway of the own cluster leads. */
export const gatewayOfNetwork = query<HboneGateway | undefined, string>("gateway-of-network", (view, network) => {
  if (network === "") return undefined;
  const isOwn = network === view.read(meshNetwork);
  return view
    .read(hboneGateways)
    .find((gateway) => gateway.network === network && (!isOwn || gateway.remoteCluster === undefined));
});

/** Gateways that ztunnels call as workloads, by uid. */
export const gatewayWorkloads = query<ReadonlyMap<string, WorkloadFacts>>("gateway-workloads", (view) => {
  const trustDomain = trustDomainForZtunnel(view);
  const facts = view.read(hboneGateways).map((gateway) => gatewayWorkload(gateway, trustDomain));
  return new Map(facts.map((one) => [one.uid, one]));
});
