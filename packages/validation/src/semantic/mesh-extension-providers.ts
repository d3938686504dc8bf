/** `extensionProviders` of MeshConfig: services that authorize, trace and keep logs, by the names that policies use. */
import { isIpAddress } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import { type Field, field, isSet, items, numberOf, refuseIf, repeated, textOf, warnIf } from "./shared/field.ts";
import { hostReason, quoted, scopedHostProblems, splitOnce } from "./shared/names.ts";
import { portProblems } from "./shared/values.ts";

/** Providers that a service stands behind; the others have nothing that could be wrong. */
const served = [
  ...["envoyExtAuthzHttp", "envoyExtAuthzGrpc", "zipkin", "lightstep", "datadog", "opencensus", "skywalking"],
  ...["envoyOtelAls", "opentelemetry", "envoyHttpAls", "envoyTcpAls", "envoyExtProcGrpc"],
];
const unserved = ["prometheus", "stackdriver", "envoyFileAccessLog", "sds"];

/** A wrong provider leaves the mesh in force, as istiod has it: policies that name it have no effect. */
export function extensionProviderProblems(mesh: Field): readonly Problem[] {
  const providers = items(mesh, "extensionProviders");
  const names = providers.map((provider) => field(provider, "name"));
  const found = [
    ...names.flatMap((name) => refuseIf(textOf(name) === "", name, "must not be empty")),
    ...repeated(names, textOf).flatMap((name) =>
      refuseIf(textOf(name) !== "", name, "is another provider's name, too"),
    ),
    ...providers.flatMap(providerProblems),
  ];
  return found.flatMap(({ field: path, reason }) => warnIf(true, { value: undefined, path }, reason));
}

function providerProblems(provider: Field): readonly Problem[] {
  const kinds = [...served, ...unserved].filter((name) => isSet(field(provider, name)));
  return [
    ...refuseIf(kinds.length !== 1, provider, "needs exactly one kind of provider"),
    ...kinds.filter((name) => served.includes(name)).flatMap((name) => servedProblems(field(provider, name), name)),
  ];
}

function servedProblems(settings: Field, kind: string): readonly Problem[] {
  const token = field(settings, "accessToken");
  const prefix = field(settings, "pathPrefix");
  const http = field(settings, "http");
  return [
    ...serviceProblems(field(settings, "service")),
    ...portProblems(field(settings, "port")),
    ...statusProblems(field(settings, "statusOnError")),
    ...refuseIf(kind === "lightstep" && textOf(token) === "", token, "is required"),
    ...refuseIf(textOf(prefix) !== "" && !textOf(prefix).startsWith("/"), prefix, "must begin with /"),
    ...refuseIf(isSet(http) && isSet(field(settings, "grpc")), http, "must not be set beside grpc"),
  ];
}

/** `HOST` or `NAMESPACE/HOST`. */
function serviceProblems(service: Field): readonly Problem[] {
  const text = textOf(service);
  if (text === "") return refuseIf(true, service, "must not be empty");
  const [namespace, host] = splitOnce(text, "/");
  if (host === undefined) {
    const isHost = isIpAddress(text) || hostReason(text) === undefined;
    return refuseIf(!isHost, service, `${quoted(text)} is neither a host name nor an IP address`);
  }
  const isNamespace = /^(?:[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?|\*|\.)$/.test(namespace);
  return [
    ...refuseIf(!isNamespace, service, `${quoted(namespace)} is no name of a namespace`),
    ...scopedHostProblems(service, host, false),
  ];
}

function statusProblems(status: Field): readonly Problem[] {
  const number = /^\d{3}$/.test(textOf(status)) ? Number(textOf(status)) : numberOf(status);
  const isStatus = number >= 100 && number <= 511;
  return refuseIf(
    isSet(status) && textOf(status) !== "" && !isStatus,
    status,
    `${quoted(textOf(status))} is no status of HTTP`,
  );
}
