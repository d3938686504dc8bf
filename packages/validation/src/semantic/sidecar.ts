/** Sidecars: inbound and outbound traffic of a workload. */
import { isHttp, isTls, parseProtocol } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import { destinationProblems } from "./shared/destination.ts";
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
import type { ObjectMetadata } from "./shared/metadata.ts";
import {
  hostProblems,
  isDnsLabel,
  portNameProblems,
  protocolProblems,
  quoted,
  scopedHostProblems,
  splitOnce,
} from "./shared/names.ts";
import { selectorProblems } from "./shared/selectors.ts";
import { serverTlsProblems } from "./shared/server-tls.ts";
import { connectionPoolProblems } from "./shared/traffic-policy.ts";
import { addressProblems, portProblems, socketProblems, unixPrefix } from "./shared/values.ts";

const lists = ["egress", "ingress"];
const parts = ["outboundTrafficPolicy", "inboundConnectionPool"];

export function validateSidecar(spec: Field, { namespace }: ObjectMetadata): readonly Problem[] {
  const isEmpty =
    lists.every((name) => items(spec, name).length === 0) && parts.every((name) => !isSet(field(spec, name)));
  return [
    ...selectorProblems(field(spec, "workloadSelector"), "labels"),
    ...refuseIf(isEmpty, spec, `needs one of ${[...lists, ...parts].join(", ")}`),
    ...items(spec, "ingress").flatMap(ingressProblems),
    ...portRepetitions(items(spec, "ingress")),
    ...connectionPoolProblems(field(spec, "inboundConnectionPool")),
    ...egressProblems(spec, namespace),
    ...trafficPolicyProblems(field(spec, "outboundTrafficPolicy")),
  ];
}

/** Listeners on addresses have ports of their own. */
function portRepetitions(listeners: readonly Field[]): readonly Problem[] {
  const numbers = listeners.map((listener) => field(field(listener, "port"), "number"));
  return repeated(
    numbers.filter((number) => numberOf(number) !== 0),
    (number) => String(numberOf(number)),
  ).flatMap((number) => refuseIf(true, number, `another listener has port ${numberOf(number)}, too`));
}

function ingressProblems(listener: Field): readonly Problem[] {
  const port = field(listener, "port");
  if (!isSet(port)) return refuseIf(true, port, "is required");
  const bind = field(listener, "bind");
  const pool = field(listener, "connectionPool");
  const protocol = textOf(field(port, "protocol"));
  return [
    ...portOfListenerProblems(port),
    ...portProblems(field(port, "number")),
    ...(textOf(bind) === "" ? [] : addressProblems(bind)),
    ...endpointProblems(field(listener, "defaultEndpoint")),
    ...tlsProblems(field(listener, "tls"), protocol),
    ...connectionPoolProblems(pool),
    ...warnIf(
      isSet(field(pool, "http")) && !isHttp(parseProtocol(protocol)),
      field(pool, "http"),
      `has no effect: the port's protocol ${protocol} is no HTTP`,
    ),
  ];
}

/** Checks of ports of both directions; the name may be left out. */
function portOfListenerProblems(port: Field): readonly Problem[] {
  const name = field(port, "name");
  const target = field(port, "targetPort");
  return [
    ...(textOf(name) === "" ? [] : portNameProblems(name)),
    ...protocolProblems(field(port, "protocol")),
    ...refuseIf(numberOf(target) > 0, target, "has no effect at Sidecars"),
  ];
}

const localAddresses = ["", "127.0.0.1", "0.0.0.0", "[::1]", "[::]"];

/** Where the application listens: an address of its own, or a socket. */
function endpointProblems(endpoint: Field): readonly Problem[] {
  const text = textOf(endpoint);
  if (text === "") return [];
  if (text.startsWith(unixPrefix)) return socketProblems(endpoint);
  const colon = text.lastIndexOf(":");
  const [address, port] = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)];
  const number = /^\d{1,6}$/.test(port) ? Number(port) : 0;
  return [
    ...refuseIf(
      colon === -1 || !localAddresses.includes(address),
      endpoint,
      `${quoted(text)} is none of 127.0.0.1:PORT, 0.0.0.0:PORT, [::1]:PORT, [::]:PORT, unix:///PATH`,
    ),
    ...refuseIf(number < 1 || number > 65_535, endpoint, `${quoted(port)} is no port number between 1 and 65535`),
  ];
}

const unsupportedTls = ["subjectAltNames", "httpsRedirect", "credentialName", "credentialNames", "tlsCertificates"];

function tlsProblems(tls: Field, protocol: string): readonly Problem[] {
  if (!isSet(tls)) return [];
  const mode = field(tls, "mode");
  const isGiven = ({ value }: Field) => (Array.isArray(value) ? value.length > 0 : Boolean(value));
  return [
    ...unsupportedTls
      .map((name) => field(tls, name))
      .flatMap((one) => refuseIf(isGiven(one), one, "is not supported at Sidecars")),
    ...refuseIf(
      ["ISTIO_MUTUAL", "AUTO_PASSTHROUGH"].includes(textOf(mode)),
      mode,
      `${textOf(mode)} is not supported at Sidecars`,
    ),
    ...refuseIf(!isTls(parseProtocol(protocol)), tls, `must not be set for protocol ${protocol}, which has no TLS`),
    ...serverTlsProblems(tls),
  ];
}

function egressProblems(spec: Field, namespace: string): readonly Problem[] {
  const listeners = items(spec, "egress");
  const sockets = listeners.filter(
    (one) => isSet(field(one, "port")) && numberOf(field(field(one, "port"), "number")) === 0,
  );
  const binds = sockets.map((one) => field(one, "bind"));
  return [
    ...listeners.flatMap((listener, index) => [
      ...refuseIf(
        !isSet(field(listener, "port")) && index < listeners.length - 1,
        listener,
        "a listener without a port is for all other ports and stands last",
      ),
      ...(isSet(field(listener, "port")) ? egressPortProblems(listener) : []),
      ...egressHostProblems(listener, namespace),
    ]),
    ...portRepetitions(listeners),
    ...repeated(binds, textOf).flatMap((bind) => refuseIf(true, bind, "another listener has this socket, too")),
  ];
}

function egressPortProblems(listener: Field): readonly Problem[] {
  const port = field(listener, "port");
  const bind = field(listener, "bind");
  const number = field(port, "number");
  const capture = field(listener, "captureMode");
  if (numberOf(number) !== 0)
    return [
      ...portOfListenerProblems(port),
      ...portProblems(number),
      ...(textOf(bind) === "" ? [] : addressProblems(bind)),
    ];
  const isSocket = textOf(bind).startsWith(unixPrefix);
  return [
    ...portOfListenerProblems(port),
    ...refuseIf(!isSocket, bind, "a listener without a port number is bound to a socket, unix:///PATH"),
    ...(isSocket ? socketProblems(bind) : []),
    ...refuseIf(textOf(capture) === "IPTABLES", capture, "must be DEFAULT or NONE for a socket"),
  ];
}

/** `namespace/host`, where the namespace may be `.`, `*` or, to leave it out, `~` or `~namespace`. */
function egressHostProblems(listener: Field, own: string): readonly Problem[] {
  const hosts = texts(listener, "hosts");
  const seen = new Map<string, Set<string>>();
  return [
    ...refuseIf(hosts.length === 0, field(listener, "hosts"), "a listener has at least one host"),
    ...hosts.flatMap((host) => {
      const [scope, name] = splitOnce(host.value, "/");
      if (name === undefined) return refuseIf(true, host, `${quoted(host.value)} is not of the form NAMESPACE/HOST`);
      const namespace = scope.replace(/^~/, "");
      const isNamespace = scope === "~" || ["*", "."].includes(namespace) || isDnsLabel(namespace);
      return [
        ...refuseIf(!isNamespace, host, `${quoted(scope)} is no name of a namespace`),
        ...scopedHostProblems(host, name, false),
        ...warnIf(
          !scope.startsWith("~") && isSeen(seen, scope === "." ? own : scope, name),
          host,
          "is imported already",
        ),
      ];
    }),
    ...warnIf(
      seen.get("*")?.has("*") === true && seen.size > 1,
      field(listener, "hosts"),
      "*/* imports everything already",
    ),
  ];
}

/** True where a namespace's hosts were imported before; remembers that they are now. */
function isSeen(seen: Map<string, Set<string>>, namespace: string, name: string): boolean {
  const names = seen.get(namespace) ?? new Set<string>();
  const before = name === "*" ? names.size > 0 : names.has(name) || names.has("*");
  seen.set(namespace, names.add(name));
  return before;
}

function trafficPolicyProblems(policy: Field): readonly Problem[] {
  const mode = field(policy, "mode");
  const proxy = field(policy, "egressProxy");
  const isDynamic = textOf(mode) === "ALLOW_ANY_DYNAMIC_DNS";
  if (isDynamic) return refuseIf(true, mode, "ALLOW_ANY_DYNAMIC_DNS is for MeshConfig only");
  if (!isSet(proxy)) return [];
  if (textOf(mode) !== "ALLOW_ANY") return refuseIf(true, proxy, "has an effect with mode ALLOW_ANY only");
  const port = field(proxy, "port");
  return [
    ...hostProblems(field(proxy, "host")),
    ...refuseIf(!isSet(port), port, "is required"),
    ...destinationProblems(proxy),
  ];
}
