/** Settings of the mesh and of its control plane that lead nowhere or are unsafe. */
import { compareText } from "@flotilla/model";
import { entries, field, fieldAt, items, textOf } from "@flotilla/validation/field";
import type { Analyzer, Index } from "../analyzer.ts";
import { finding } from "../finding.ts";
import { fullName } from "../mesh-object.ts";
import { labelsOf } from "../shared/workloads.ts";

/** Secrets with kubeconfigs of remote clusters. */
const remoteSecrets: Index = {
  name: "secrets of remote clusters",
  kinds: ["Secret"],
  keysOf: ({ labels }) => (labels["istio/multiCluster"] === "true" ? ["all"] : []),
};

const ownRegistries = ["External", "Kubernetes", "Mock"];

/** The counterpart of istioctl's meshnetworks.MeshNetworksAnalyzer. */
export const networkRegistries: Analyzer = {
  name: "network-registries",
  summary: "networks of unknown registries",
  messages: ["UnknownRegistry"],
  checks: ["MeshNetworks"],
  reads: ["Secret"],
  indexes: [remoteSecrets],
  check: (networks, mesh) => {
    const secrets = mesh.row(remoteSecrets, "all");
    const remote = secrets.flatMap(({ whole }) =>
      ["data", "stringData"].flatMap((name) => Object.keys(labelsOf(field(whole, name)) ?? {})),
    );
    const known: ReadonlySet<string> = new Set([...ownRegistries, ...remote]);
    return entries(networks.spec, "networks").flatMap(([network, settings]) =>
      items(settings, "endpoints")
        .map((endpoint) => field(endpoint, "fromRegistry"))
        .filter((at) => textOf(at) !== "" && !known.has(textOf(at)))
        .map((at) => finding("UnknownRegistry", networks, at, { network, registry: textOf(at) })),
    );
  },
};

const rangesSetting = "BLOCKED_CIDRS_IN_JWKS_URIS";
const mostNames = 5;

/** The counterpart of istioctl's authn.BlockedCIDRsAnalyzer. */
export const issuerAddresses: Analyzer = {
  name: "issuer-addresses",
  summary: "control planes that fetch keys of issuers from any address",
  messages: ["KeysFetchedFromAnywhere"],
  checks: ["Deployment"],
  reads: ["RequestAuthentication"],
  check: (deployment, mesh) => {
    const { labels, spec } = deployment;
    const isFetching = labels["app"] === "istiod" || labels["app.kubernetes.io/name"] === "flotilla-config-controller";
    if (!isFetching) return [];
    const names = mesh
      .all("RequestAuthentication")
      .map(({ key }) => fullName(key))
      .sort(compareText);
    const containers = items(fieldAt(spec, "template", "spec"), "containers");
    const variables = containers.flatMap((container) => items(container, "env"));
    const isSet = variables.some(
      (one) => textOf(field(one, "name")) === rangesSetting && textOf(field(one, "value")) !== "",
    );
    if (names.length === 0 || isSet) return [];
    const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : "";
    const values = { count: names.length, names: `${names.slice(0, mostNames).join(", ")}${more}` };
    return [finding("KeysFetchedFromAnywhere", deployment, undefined, values)];
  },
};
