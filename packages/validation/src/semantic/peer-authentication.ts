/** PeerAuthentications: modes of mutual TLS, for ports only where workloads are selected. */
import type { Problem } from "../problem.ts";
import { entries, type Field, field, isSet, refuseIf } from "./shared/field.ts";
import { selectorProblems } from "./shared/selectors.ts";
import { portTextProblems } from "./shared/values.ts";

export function validatePeerAuthentication(spec: Field): readonly Problem[] {
  const selector = field(spec, "selector");
  const ports = field(spec, "portLevelMtls");
  const members = entries(spec, "portLevelMtls");
  const selects = entries(selector, "matchLabels").length > 0;
  return [
    ...refuseIf(isSet(ports) && members.length === 0, ports, "names no port"),
    ...refuseIf(members.length > 0 && !selects, ports, "needs a selector: ports are those of workloads"),
    ...members.flatMap(([port, { path }]) => portTextProblems({ value: port, path })),
    ...selectorProblems(selector, "matchLabels"),
  ];
}
