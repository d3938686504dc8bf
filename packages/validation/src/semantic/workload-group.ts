/** WorkloadGroups: the template of entries that register themselves, and how their readiness is probed. */
import type { Problem } from "../problem.ts";
import { type Field, field, isSet, items, refuseIf, textOf, texts } from "./shared/field.ts";
import { labelsProblems, quoted } from "./shared/names.ts";
import { nonNegativeProblems, portProblems } from "./shared/values.ts";

export function validateWorkloadGroup(spec: Field): readonly Problem[] {
  const template = field(spec, "template");
  return [
    ...refuseIf(!isSet(template), template, "is required"),
    ...labelsProblems(field(spec, "metadata"), "labels"),
    ...probeProblems(field(spec, "probe")),
  ];
}

const counts = ["periodSeconds", "initialDelaySeconds", "timeoutSeconds", "successThreshold", "failureThreshold"];

function probeProblems(probe: Field): readonly Problem[] {
  if (!isSet(probe)) return [];
  const [http, tcp, exec, grpc] = ["httpGet", "tcpSocket", "exec", "grpc"].map((name) => field(probe, name));
  if (http === undefined || tcp === undefined || exec === undefined || grpc === undefined) return [];
  const command = texts(exec, "command");
  return [
    ...counts.flatMap((name) => nonNegativeProblems(field(probe, name))),
    ...refuseIf(![http, tcp, exec, grpc].some(isSet), probe, "needs one of httpGet, tcpSocket and exec"),
    ...(isSet(http) ? httpProblems(http) : []),
    ...(isSet(tcp) ? portProblems(field(tcp, "port")) : []),
    ...refuseIf(isSet(exec) && command.length === 0, field(exec, "command"), "is required"),
  ];
}

function httpProblems(http: Field): readonly Problem[] {
  const scheme = field(http, "scheme");
  const names = items(http, "httpHeaders").map((header) => field(header, "name"));
  return [
    ...portProblems(field(http, "port")),
    ...refuseIf(!["", "HTTP", "HTTPS"].includes(textOf(scheme)), scheme, "must be HTTP or HTTPS"),
    ...names.flatMap((name) =>
      refuseIf(!/^[-A-Za-z0-9]+$/.test(textOf(name)), name, `${quoted(textOf(name))} is no name of a probe's header`),
    ),
  ];
}
