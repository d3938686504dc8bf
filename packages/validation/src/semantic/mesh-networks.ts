/** MeshNetworks: which endpoints are on which network, and the gateways into it. */
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { entries, type Field, field, isSet, items, refuseIf, textOf } from "./shared/field.ts";
import { hostProblems, hostReason, isDnsLabel, quoted } from "./shared/names.ts";
import { addressProblems, portProblems, rangeProblems } from "./shared/values.ts";

/** For the document that `meshNetworks` of the ConfigMap holds. */
export function validateMeshNetworks(document: JsonObject): readonly Problem[] {
  return entries({ value: document, path: "" }, "networks").flatMap(([, network]) => [
    ...items(network, "endpoints").flatMap(endpointProblems),
    ...items(network, "gateways").flatMap(gatewayProblems),
  ]);
}

function endpointProblems(endpoint: Field): readonly Problem[] {
  const range = field(endpoint, "fromCidr");
  const registry = field(endpoint, "fromRegistry");
  const isRegistry = isDnsLabel(textOf(registry));
  return [
    ...(isSet(range) ? rangeProblems(range) : []),
    ...refuseIf(isSet(registry) && !isRegistry, registry, `${quoted(textOf(registry))} is no name of a registry`),
  ];
}

/** Gateways are found by name too: proxies get the addresses. */
function gatewayProblems(gateway: Field): readonly Problem[] {
  const service = field(gateway, "registryServiceName");
  const address = field(gateway, "address");
  const isAddress = addressProblems(address).length === 0 || hostReason(textOf(address)) === undefined;
  return [
    ...(isSet(service) ? hostProblems(service) : []),
    ...refuseIf(
      isSet(address) && !isAddress,
      address,
      `${quoted(textOf(address))} is neither a host name nor an IP address`,
    ),
    ...portProblems(field(gateway, "port")),
  ];
}
