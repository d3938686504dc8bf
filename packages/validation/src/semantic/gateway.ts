/** Gateways: servers with their ports, hosts and TLS. */
import { isHttp, isTls, parseProtocol } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import {
  type Field,
  field,
  isSet,
  items,
  numberOf,
  refuseIf,
  repeated,
  textOf,
  texts,
  warnIf,
} from "./shared/field.ts";
import { isConverted, type ObjectMetadata } from "./shared/metadata.ts";
import { isDnsLabel, quoted, scopedHostProblems, splitOnce } from "./shared/names.ts";
import { serverTlsProblems } from "./shared/server-tls.ts";
import { addressProblems, portProblems, socketProblems, unixPrefix } from "./shared/values.ts";

export function validateGateway(spec: Field, metadata: ObjectMetadata): readonly Problem[] {
  const servers = items(spec, "servers");
  const converted = isConverted(metadata, "gateway");
  const name: Field = { value: metadata.name, path: "metadata.name" };
  const hasWrongName = metadata.name !== "" && !isDnsLabel(metadata.name) && !converted;
  const portNames = servers.map((server) => field(field(server, "port"), "name"));
  return [
    ...refuseIf(
      hasWrongName,
      name,
      `${quoted(metadata.name)} is no label of a DNS name, which the name of a Gateway is`,
    ),
    ...refuseIf(servers.length === 0, field(spec, "servers"), "a Gateway has at least one server"),
    ...servers.flatMap((server) => serverProblems(server, converted)),
    ...repeated(portNames, textOf).flatMap((port) =>
      refuseIf(textOf(port) !== "", port, `${quoted(textOf(port))} is the name of another server's port, too`),
    ),
  ];
}

function serverProblems(server: Field, converted: boolean): readonly Problem[] {
  const hosts = texts(server, "hosts");
  return [
    ...refuseIf(hosts.length === 0, field(server, "hosts"), "a server has at least one host"),
    ...hosts.flatMap((host) => hostProblems(host, converted)),
    ...portOfServerProblems(field(server, "port"), field(server, "bind")),
    ...serverTlsProblems(field(server, "tls")),
    ...protocolTlsProblems(server),
  ];
}

/** `host` or `namespace/host`, where `.` and `*` are namespaces too. */
function hostProblems(host: Field, converted: boolean): readonly Problem[] {
  const [namespace, name] = splitOnce(textOf(host), "/");
  if (name === undefined) return scopedHostProblems(host, namespace, true);
  const isNamespace = ["*", "."].includes(namespace) || (converted && namespace === "~") || isDnsLabel(namespace);
  return [
    ...refuseIf(!isNamespace, host, `${quoted(namespace)} is no name of a namespace`),
    ...scopedHostProblems(host, name, true),
  ];
}

function portOfServerProblems(port: Field, bind: Field): readonly Problem[] {
  if (!isSet(port)) return refuseIf(true, port, "is required");
  const protocol = field(port, "protocol");
  const number = field(port, "number");
  const isSocket = textOf(bind).startsWith(unixPrefix);
  const isKnown = parseProtocol(textOf(protocol)) !== "Unsupported";
  return [
    ...refuseIf(
      !isKnown,
      protocol,
      `${quoted(textOf(protocol))} is none of HTTP, HTTPS, HTTP2, GRPC, GRPC-WEB, TLS, TCP, MONGO, MYSQL, REDIS`,
    ),
    ...(isSocket ? socketProblems(bind) : portProblems(number)),
    ...refuseIf(isSocket && numberOf(number) !== 0, number, "must be 0 for a server that is bound to a socket"),
    ...(isSocket || textOf(bind) === "" ? [] : addressProblems(bind)),
    ...refuseIf(numberOf(field(port, "targetPort")) > 0, field(port, "targetPort"), "has no effect at Gateways"),
    ...refuseIf(textOf(field(port, "name")) === "", field(port, "name"), "is required"),
  ];
}

/** TLS settings are for protocols with TLS; a plain HTTP server may only redirect to one that has it. */
function protocolTlsProblems(server: Field): readonly Problem[] {
  const tls = field(server, "tls");
  const protocol = parseProtocol(textOf(field(field(server, "port"), "protocol")));
  if (!isSet(tls)) return refuseIf(isTls(protocol), tls, `is required for protocol ${protocol}`);
  const redirects = field(tls, "httpsRedirect");
  const mode = textOf(field(tls, "mode"));
  const hasFiles = ["caCertificates", "privateKey", "serverCertificate"].some(
    (name) => textOf(field(tls, name)) !== "",
  );
  const isPassed = ["", "PASSTHROUGH", "AUTO_PASSTHROUGH"].includes(mode);
  const isAllowed = isTls(protocol) || (isHttp(protocol) && isPassed && !hasFiles);
  return [
    ...refuseIf(
      !isAllowed && protocol !== "Unsupported",
      tls,
      `must not be set for protocol ${protocol}, which has no TLS`,
    ),
    ...warnIf(redirects.value === true && !isHttp(protocol), redirects, "has an effect at servers of plain HTTP only"),
  ];
}
