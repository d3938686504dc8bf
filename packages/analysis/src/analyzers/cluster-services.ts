/** Services of one name that differ between the clusters of a mesh. */
import { compareText } from "@flotilla/model";
import { field, items, numberOf, textOf } from "@flotilla/validation/field";
import type { Analyzer, Index } from "../analyzer.ts";
import { finding } from "../finding.ts";
import { clusterOfService, type MeshObject, serviceKeyOf } from "../mesh-object.ts";

const remoteServices: Index = {
  name: "services of remote clusters",
  kinds: ["RemoteService"],
  keysOf: (remote) => [nameOf(remote)],
};

/**
 * The counterpart of istioctl's services.MultiClusterServiceAnalyzer. differs: node ports, which each cluster allocates, and the Service of the
 * cluster's own API server are not compared.
 */
export const clusterServices: Analyzer = {
  name: "cluster-services",
  summary: "Services of one name that differ between clusters",
  messages: ["ServiceDiffersBetweenClusters"],
  checks: ["Service", "RemoteService"],
  reads: ["Service", "RemoteService"],
  indexes: [remoteServices],
  check: (service, mesh) => {
    const key = serviceKeyOf(service);
    if (key.namespace === "default" && key.name === "kubernetes") return [];
    const remote = mesh.row(remoteServices, nameOf(service));
    if (service.key.kind === "RemoteService") {
      // Reported once: of the own cluster's Service, else of the first.
      const isReported = mesh.find("Service", key.namespace, key.name) === undefined && remote[0] === service;
      if (!isReported) return [];
    }
    const differing = remote.flatMap((other) => {
      const differences = other === service ? [] : differencesOf(service, other);
      return differences.length === 0 ? [] : [{ cluster: clusterOfService(other) ?? "", differences }];
    });
    if (differing.length === 0) return [];
    const values = {
      clusters: [clusterOfService(service) ?? "this one", ...differing.map(({ cluster }) => cluster)].join(", "),
      differences: differing.map(({ cluster, differences }) => `in ${cluster} ${differences.join(", ")}`).join("; "),
    };
    return [finding("ServiceDiffersBetweenClusters", { ...service, key }, undefined, values)];
  },
};

function nameOf(service: MeshObject): string {
  const { namespace, name } = serviceKeyOf(service);
  return `${namespace}/${name}`;
}

/** Differences from the object in the other cluster, in words. */
function differencesOf(own: MeshObject, other: MeshObject): readonly string[] {
  const [ownPorts, otherPorts] = [portsOf(own), portsOf(other)];
  const without = (all: readonly string[], others: readonly string[]) => all.filter((one) => !others.includes(one));
  const [more, fewer] = [without(otherPorts, ownPorts), without(ownPorts, otherPorts)];
  return [
    ...(isHeadless(own) === isHeadless(other) ? [] : [isHeadless(other) ? "it is headless" : "it is not headless"]),
    ...(typeOf(own) === typeOf(other) ? [] : [`its type is ${typeOf(other)}, not ${typeOf(own)}`]),
    ...(more.length === 0 ? [] : [`it has port ${more.join(" and ")}`]),
    ...(fewer.length === 0 ? [] : [`it lacks port ${fewer.join(" and ")}`]),
  ];
}

function isHeadless({ spec }: MeshObject): boolean {
  return textOf(field(spec, "clusterIP")) === "None";
}

function typeOf({ spec }: MeshObject): string {
  return textOf(field(spec, "type")) || "ClusterIP";
}

/** `http 80/TCP to 8080 (kubernetes.io/h2c)`, with the defaults of the API server. */
function portsOf({ spec }: MeshObject): readonly string[] {
  return items(spec, "ports")
    .map((port) => {
      const [number, target] = [numberOf(field(port, "port")), field(port, "targetPort").value ?? 0];
      const application = textOf(field(port, "appProtocol"));
      return [
        ...[textOf(field(port, "name")), `${number}/${textOf(field(port, "protocol")) || "TCP"}`],
        ...["to", String(target === 0 || target === "" ? number : target)],
        ...(application === "" ? [] : [`(${application})`]),
      ]
        .filter((text) => text !== "")
        .join(" ");
    })
    .sort(compareText);
}
