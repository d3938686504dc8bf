/** The gateways of other networks, for workloads that only they reach. */
import { gatewayWorkload, type HboneGateway, hboneGatewayOf, type WorkloadFacts } from "@flotilla/ambient";
import type { KubernetesGatewaySpec } from "@flotilla/gateway-api";
import { type TextOf, textCodec } from "@flotilla/model";
import { kubernetesGatewayIndex } from "../scope/kubernetes-gateways.ts";
import { query } from "../view.ts";
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

/** Of networks other than the own one, oldest first. */
const hboneGateways = query<readonly HboneGateway[]>("hbone-gateways", (view) => {
  const own = view.read(meshNetwork);
  return view
    .row(kubernetesGatewayIndex, "all")
    .flatMap(({ key }) => view.read(hboneGateway, gatewayName.write(key)) ?? [])
    .filter(({ network }) => network !== own);
});

/** The way to the workloads of a network; undefined for the own one, and where no gateway is known. */
export const gatewayOfNetwork = query<HboneGateway | undefined, string>("gateway-of-network", (view, network) =>
  network === "" ? undefined : view.read(hboneGateways).find((gateway) => gateway.network === network),
);

/** Gateways that ztunnels call as workloads, by uid. */
export const gatewayWorkloads = query<ReadonlyMap<string, WorkloadFacts>>("gateway-workloads", (view) => {
  const trustDomain = trustDomainForZtunnel(view);
  const facts = view.read(hboneGateways).map((gateway) => gatewayWorkload(gateway, trustDomain));
  return new Map(facts.map((one) => [one.uid, one]));
});
