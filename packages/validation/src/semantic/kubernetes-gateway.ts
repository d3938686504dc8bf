/**
 * Gateways, ListenerSets and GatewayClasses of the Gateway API: what their definitions refuse beyond a schema's bounds, and for Gateways
 * that the mesh serves what will be missing from them.
 */
import { hbonePort, knownCipherSuites } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import { type Field, field, fieldAt, isSet, items, numberOf, refuseIf, textOf, warnIf } from "./shared/field.ts";
import type { GatewayRole, ServedKinds } from "./shared/served-kinds.ts";

const maxCertificates = 2;

export function validateKubernetesGateway(spec: Field, { gatewayRole }: ServedKinds): readonly Problem[] {
  const role = gatewayRole(textOf(field(spec, "gatewayClassName")));
  return [...listenersProblems(spec, role), ...(role === undefined ? [] : servedGatewayProblems(spec))];
}

/** The class is its Gateway's, which is another object: of a ListenerSet the class is not known here. */
export function validateListenerSet(spec: Field): readonly Problem[] {
  const parent = field(spec, "parentRef");
  const kind = textOf(field(parent, "kind"));
  return [
    ...refuseIf(textOf(field(parent, "name")) === "", field(parent, "name"), "is required"),
    ...warnIf(!["", "Gateway"].includes(kind), field(parent, "kind"), "is no Gateway: no listener is served"),
    ...listenersProblems(spec, undefined),
  ];
}

const ownControllers = "istio.io/";

export function validateGatewayClass(spec: Field): readonly Problem[] {
  const parameters = field(spec, "parametersRef");
  const isOwn = textOf(field(spec, "controllerName")).startsWith(ownControllers);
  return warnIf(
    isOwn && isSet(parameters),
    parameters,
    "has no effect: parameters of a class are a ConfigMap with the label gateway.istio.io/defaults-for-class",
  );
}

/** @param role undefined where the mesh may not serve them */
function listenersProblems(spec: Field, role: GatewayRole | undefined): readonly Problem[] {
  const all = items(spec, "listeners");
  return all.flatMap((listener, index) => [
    ...formProblems(listener),
    ...combinationProblems(listener, all.slice(0, index)),
    ...tlsAbsenceProblems(listener),
    ...(role === undefined ? [] : servedListenerProblems(listener, role)),
  ]);
}

/** Reports listeners that the API server refuses by rules that span several fields. */
function formProblems(listener: Field): readonly Problem[] {
  const protocol = textOf(field(listener, "protocol"));
  const tls = field(listener, "tls");
  const hostname = field(listener, "hostname");
  const mode = textOf(field(tls, "mode")) || "Terminate";
  const isPlain = ["HTTP", "TCP", "UDP"].includes(protocol);
  const hasCertificate = items(tls, "certificateRefs").length > 0 || isSet(field(tls, "options"));
  return [
    ...refuseIf(isPlain && isSet(tls), tls, `must not be set with protocol ${protocol}`),
    ...refuseIf(protocol === "HTTPS" && mode === "Passthrough", field(tls, "mode"), "is Terminate with protocol HTTPS"),
    ...refuseIf(
      ["TCP", "UDP"].includes(protocol) && textOf(hostname) !== "",
      hostname,
      `must not be set with protocol ${protocol}`,
    ),
    ...refuseIf(
      !isPlain && isSet(tls) && mode === "Terminate" && !hasCertificate,
      field(tls, "certificateRefs"),
      "is required to terminate TLS, unless options configure it",
    ),
  ];
}

/** Of listeners on one port that cannot be distinguished the first counts. */
function combinationProblems(listener: Field, earlier: readonly Field[]): readonly Problem[] {
  const port = field(listener, "port");
  const protocol = field(listener, "protocol");
  const same = earlier.filter((other) => numberOf(field(other, "port")) === numberOf(port));
  const equal = same.filter((other) => textOf(field(other, "hostname")) === textOf(field(listener, "hostname")));
  const twin = equal.find((other) => textOf(field(other, "protocol")) === textOf(protocol));
  if (twin !== undefined)
    return refuseIf(true, listener, `has port, protocol and hostname of listener ${nameOf(twin)}`);
  const conflict = same.find((other) => familyOf(other) !== familyOf(listener)) ?? equal[0];
  if (conflict === undefined) return [];
  return warnIf(true, listener, `is not served: it conflicts with listener ${nameOf(conflict)} on port ${port.value}`);
}

function nameOf(listener: Field): string {
  return textOf(field(listener, "name"));
}

function familyOf(listener: Field): string {
  const protocol = textOf(field(listener, "protocol"));
  return protocol === "HTTPS" ? "TLS" : protocol;
}

function tlsAbsenceProblems(listener: Field): readonly Problem[] {
  const protocol = textOf(field(listener, "protocol"));
  const tls = field(listener, "tls");
  return warnIf(
    ["HTTPS", "TLS"].includes(protocol) && !isSet(tls),
    tls,
    `is needed by protocol ${protocol}: not served`,
  );
}

function servedListenerProblems(listener: Field, role: GatewayRole): readonly Problem[] {
  if (role === "remote") return [];
  return [
    ...protocolProblems(listener, role),
    ...certificateProblems(field(listener, "tls")),
    ...optionProblems(field(listener, "tls")),
    ...kindProblems(listener),
  ];
}

const protocols: readonly string[] = ["HTTP", "HTTPS", "TCP", "TLS"];

function protocolProblems(listener: Field, role: GatewayRole): readonly Problem[] {
  const protocol = field(listener, "protocol");
  const name = textOf(protocol);
  const isHbone = name === "HBONE" && numberOf(field(listener, "port")) === hbonePort;
  const mode = textOf(fieldAt(listener, "tls", "mode")) || "Terminate";
  if (role === "waypoint")
    return warnIf(!isHbone, protocol, `is not served by a waypoint, which has HBONE on port ${hbonePort}`);
  if (role === "east-west") {
    const isServed = isHbone ? mode === "Terminate" : name === "TLS" && mode === "Passthrough";
    return warnIf(
      !isServed,
      protocol,
      `is not served by an east-west gateway, which has HBONE on port ${hbonePort} and TLS with mode Passthrough`,
    );
  }
  const upper = protocols.includes(name.toUpperCase()) ? `: is ${name.toUpperCase()} meant?` : "";
  return warnIf(!protocols.includes(name), protocol, `${JSON.stringify(name)} is not served${upper}`);
}

function certificateProblems(tls: Field): readonly Problem[] {
  const refs = field(tls, "certificateRefs");
  const certificates = items(tls, "certificateRefs");
  const isPassed = textOf(field(tls, "mode")) === "Passthrough";
  const isOwn = ["ISTIO_MUTUAL", "ISTIO_SIMPLE"].includes(optionOf(tls, "tls-terminate-mode"));
  return [
    ...warnIf((isPassed || isOwn) && certificates.length > 0, refs, "has no effect in this mode"),
    ...warnIf(
      certificates.length > maxCertificates,
      refs,
      `has ${certificates.length} certificates, of which a listener can have ${maxCertificates}: not served`,
    ),
    ...certificates.flatMap((ref) => kindOfRefProblems(ref, ["Secret"])),
  ];
}

/** A reference to an object of Kubernetes' own kinds. */
function kindOfRefProblems(ref: Field, kinds: readonly string[]): readonly Problem[] {
  const [group, kind] = [textOf(field(ref, "group")), textOf(field(ref, "kind")) || "Secret"];
  const isKnown = group === "" && kinds.includes(kind);
  return warnIf(!isKnown && isSet(ref), ref, `${group}/${kind} is not followed, only ${kinds.join(" and ")}`);
}

const optionPrefix = "gateway.istio.io/";
const modes: readonly string[] = ["", "SIMPLE", "MUTUAL", "OPTIONAL_MUTUAL", "ISTIO_MUTUAL", "ISTIO_SIMPLE"];
const options: readonly string[] = ["tls-terminate-mode", "tls-cipher-suites", "listener-protocol"];

function optionOf(tls: Field, name: string): string {
  return textOf(fieldAt(tls, "options", `${optionPrefix}${name}`));
}

function optionProblems(tls: Field): readonly Problem[] {
  const given = field(tls, "options");
  const names = Object.keys((given.value ?? {}) as object).filter((name) => name.startsWith(optionPrefix));
  const unknown = names.filter((name) => !options.includes(name.slice(optionPrefix.length)));
  const mode = optionOf(tls, "tls-terminate-mode");
  const suites = optionOf(tls, "tls-cipher-suites")
    .split(",")
    .map((suite) => suite.trim());
  const known: readonly string[] = knownCipherSuites(suites);
  const strange = suites.filter((suite) => suite !== "" && !known.includes(suite));
  const at = (name: string): Field => ({ value: undefined, path: `${given.path}[${optionPrefix}${name}]` });
  return [
    ...unknown.flatMap((name) => warnIf(true, { value: name, path: `${given.path}[${name}]` }, "is no known option")),
    ...warnIf(
      !modes.includes(mode),
      at("tls-terminate-mode"),
      `${JSON.stringify(mode)} is none of ${modes.slice(1).join(", ")}`,
    ),
    ...warnIf(strange.length > 0, at("tls-cipher-suites"), `not known and left out: ${strange.join(", ")}`),
  ];
}

const gatewayGroup = "gateway.networking.k8s.io";

function kindProblems(listener: Field): readonly Problem[] {
  const supported = supportedKinds(textOf(field(listener, "protocol")), textOf(fieldAt(listener, "tls", "mode")));
  return items(field(listener, "allowedRoutes"), "kinds").flatMap((one) => {
    const group = textOf(field(one, "group")) || gatewayGroup;
    const isKnown = group === gatewayGroup && supported.includes(textOf(field(one, "kind")));
    return warnIf(!isKnown, one, `is not served here: this listener takes ${supported.join(" and ") || "no routes"}`);
  });
}

function supportedKinds(protocol: string, mode: string): readonly string[] {
  if (protocol === "HTTP" || protocol === "HTTPS") return ["HTTPRoute", "GRPCRoute"];
  if (protocol === "TCP") return ["TCPRoute"];
  if (protocol !== "TLS") return [];
  return mode === "Passthrough" ? ["TLSRoute"] : ["TLSRoute", "TCPRoute"];
}

function servedGatewayProblems(spec: Field): readonly Problem[] {
  const addresses = items(spec, "addresses");
  const typeOf = (address: Field) => textOf(field(address, "type")) || "IPAddress";
  // One address alone is what the Service of a deployed gateway asks for.
  const strange =
    addresses.length === 1
      ? addresses.filter((one) => !["IPAddress", "Hostname"].includes(typeOf(one)))
      : addresses.filter((one) => typeOf(one) !== "Hostname");
  const parameters = fieldAt(spec, "infrastructure", "parametersRef");
  return [
    ...strange.flatMap((one) => warnIf(true, one, `an address of type ${typeOf(one)} is not followed, only Hostname`)),
    ...kindOfRefProblems(parameters, ["ConfigMap"]),
    ...kindOfRefProblems(fieldAt(spec, "tls", "backend", "clientCertificateRef"), ["Secret"]),
    ...frontendProblems(spec),
  ];
}

/** Roots for clients' certificates, of all ports and of single ones. */
function frontendProblems(spec: Field): readonly Problem[] {
  const frontend = fieldAt(spec, "tls", "frontend");
  const ports = items(spec, "listeners").map((listener) => numberOf(field(listener, "port")));
  const perPort = items(frontend, "perPort");
  const validations = [
    fieldAt(frontend, "default", "validation"),
    ...perPort.map((one) => fieldAt(one, "tls", "validation")),
  ];
  return [
    ...perPort.flatMap((one) =>
      warnIf(!ports.includes(numberOf(field(one, "port"))), field(one, "port"), "is no listener's port"),
    ),
    ...validations.flatMap((validation) => [
      ...warnIf(
        items(validation, "caCertificateRefs").length > 1,
        field(validation, "caCertificateRefs"),
        "has more than one member, which is not served",
      ),
      ...items(validation, "caCertificateRefs").flatMap((ref) => kindOfRefProblems(ref, ["Secret", "ConfigMap"])),
    ]),
  ];
}
