/** WorkloadEntries, which stand alone or as endpoints of a ServiceEntry. */
import { isIpAddress } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import { entries, type Field, field, refuseIf, textOf, warnIf } from "./shared/field.ts";
import { hostReason, labelsProblems, portNameProblems, quoted } from "./shared/names.ts";
import { portProblems, socketProblems, unixPrefix } from "./shared/values.ts";

export function validateWorkloadEntry(spec: Field): readonly Problem[] {
  return workloadProblems(spec, "host or address");
}

/** Forms of an endpoint's address. Where it is found by DNS, sockets and empty addresses make no sense. */
export type AddressForm = "host or address" | "address" | "resolved";

/** `ports` are those of the service, where one is known. */
export function workloadProblems(entry: Field, form: AddressForm, ports?: ReadonlySet<string>): readonly Problem[] {
  const address = field(entry, "address");
  const isSocket = form !== "resolved" && textOf(address).startsWith(unixPrefix);
  const ownPorts = entries(entry, "ports");
  return [
    ...(isSocket ? socketProblems(address) : addressProblems(entry, form)),
    ...refuseIf(isSocket && ownPorts.length > 0, field(entry, "ports"), "a socket has no ports"),
    ...refuseIf(isSocket && ports !== undefined && ports.size !== 1, address, "a socket is for a service of one port"),
    ...ownPorts.flatMap(([name, port]) => [
      ...refuseIf(ports !== undefined && !ports.has(name), port, `the service has no port ${quoted(name)}`),
      ...portNameProblems({ value: name, path: port.path }),
      ...portProblems(port),
    ]),
    ...labelsProblems(entry, "labels"),
  ];
}

function addressProblems(entry: Field, form: AddressForm): readonly Problem[] {
  const address = field(entry, "address");
  const network = textOf(field(entry, "network"));
  const text = textOf(address);
  if (text === "" && form !== "resolved")
    return network === ""
      ? refuseIf(true, address, "is required")
      : warnIf(true, address, `is empty: the entry stands for the gateways of network ${quoted(network)}`);
  if (isIpAddress(text)) return [];
  if (form === "address")
    return refuseIf(true, address, `${quoted(text)} is no IP address, which resolution STATIC asks for`);
  const isHost = hostReason(text) === undefined;
  return refuseIf(!isHost, address, `${quoted(text)} is neither a host name nor an IP address`);
}
