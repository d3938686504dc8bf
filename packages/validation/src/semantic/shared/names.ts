/** Host names, labels, references to gateways, namespaces that an object is exported to. */
import { isIpAddress, parseProtocol } from "@flotilla/model";
import type { Problem } from "../../problem.ts";
import { entries, type Field, field, refuseIf, repeated, textOf, texts, warnIf } from "./field.ts";

const maxHostLength = 253;
const maxLabelLength = 63;
const label = /^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$/;

/** A label of RFC 1123, upper case included. */
export function isDnsLabel(text: string): boolean {
  return text.length <= maxLabelLength && label.test(text);
}

/** Why a text is no host name; undefined for a good one. A dot at the end is allowed. */
export function hostReason(text: string): string | undefined {
  return boundsReason(text) ?? labelsReason(text, text.split("."));
}

/** As `hostReason`; the first label may be `*` or begin with `*`. */
export function wildcardHostReason(text: string): string | undefined {
  const bounds = boundsReason(text);
  if (bounds !== undefined) return bounds;
  const [first = "", ...rest] = text.split(".");
  const isFirst = first === "*" || (first.length <= maxLabelLength && label.test(first.replace(/^\*-?/, "")));
  if (!isFirst) return `${quoted(text)} is no host name: label ${quoted(first)}`;
  return rest.length === 0 ? undefined : labelsReason(text, rest);
}

function boundsReason(text: string): string | undefined {
  if (text === "") return "must not be empty";
  if (text.length > maxHostLength) return `a host has at most ${maxHostLength} characters, this one has ${text.length}`;
  const long = text.split(/[./]/).find((one) => one.length > maxLabelLength);
  if (long === undefined) return undefined;
  return `a label of a host has at most ${maxLabelLength} characters, "${long}" has ${long.length}`;
}

function labelsReason(host: string, labels: readonly string[]): string | undefined {
  const isAbsolute = labels.length > 1 && labels.at(-1) === "";
  const last = labels.at(-1) ?? "";
  if (/^\d+$/.test(last)) return `${quoted(host)} is no host name: its last label must not be a number`;
  const wrong = (isAbsolute ? labels.slice(0, -1) : labels).find((one) => !isDnsLabel(one));
  return wrong === undefined ? undefined : `${quoted(host)} is no host name: label ${quoted(wrong)}`;
}

export function hostProblems(host: Field): readonly Problem[] {
  const reason = hostReason(textOf(host));
  return refuseIf(reason !== undefined, host, reason ?? "");
}

export function wildcardHostProblems(host: Field): readonly Problem[] {
  const reason = wildcardHostReason(textOf(host));
  return refuseIf(reason !== undefined, host, reason ?? "");
}

/** `*shop.example.com`: Envoy supports wildcards of whole labels only. */
export function isPartialWildcard(host: string): boolean {
  return host.includes("*") && host !== "*" && !host.startsWith("*.");
}

/** Hosts of Gateways and Sidecars, after the namespace: a name with a dot, `*`, `*.example.com`, at gateways an address too. */
export function scopedHostProblems(host: Field, name: string, isGateway: boolean): readonly Problem[] {
  if (isGateway && isIpAddress(name)) return [];
  const reason = wildcardHostReason(name);
  return [
    ...refuseIf(name !== "*" && !name.includes("."), host, `${quoted(name)} is a short name, write the whole one`),
    ...refuseIf(reason !== undefined, host, reason ?? ""),
    ...refuseIf(isPartialWildcard(name), host, `${quoted(name)}: a wildcard is a whole label, as in *.example.com`),
  ];
}

/** The wildcards among many hosts, by what follows the *: a host need not be compared with each of them. */
interface Wildcards {
  readonly endings: ReadonlySet<string>;
  readonly lengths: ReadonlySet<number>;
}

export function wildcardsOf(hosts: readonly string[]): Wildcards {
  const endings = new Set(hosts.filter((host) => host.startsWith("*")).map((host) => host.slice(1)));
  return { endings, lengths: new Set([...endings].map(({ length }) => length)) };
}

/** The wildcard that covers a host and is another; undefined without one. */
export function coveringWildcard({ endings, lengths }: Wildcards, host: string): string | undefined {
  const rest = host.startsWith("*") ? host.slice(1) : host;
  for (const length of lengths) {
    const ending = length > rest.length ? undefined : rest.slice(rest.length - length);
    if (ending !== undefined && endings.has(ending) && `*${ending}` !== host) return `*${ending}`;
  }
  return undefined;
}

const maxLabelPrefix = 253;
const labelName = /^(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/** Labels as Kubernetes has them: `example.com/name: value`. */
export function labelsProblems(parent: Field, name: string): readonly Problem[] {
  return entries(parent, name).flatMap(([key, value]) => [
    ...refuseIf(!isLabelKey(key), value, `${quoted(key)} is no name of a label`),
    ...refuseIf(!isLabelValue(textOf(value)), value, `${quoted(textOf(value))} is no value of a label`),
  ]);
}

function isLabelKey(key: string): boolean {
  const slash = key.indexOf("/");
  const name = key.slice(slash + 1);
  const prefix = slash === -1 ? [] : key.slice(0, slash).split(".");
  return slash <= maxLabelPrefix && prefix.every(isDnsLabel) && name.length <= maxLabelLength && labelName.test(name);
}

function isLabelValue(value: string): boolean {
  return value === "" || (value.length <= maxLabelLength && labelName.test(value));
}

/** `gateways` of routes and matches: `name`, `namespace/name`, `mesh`. */
export function gatewayNameProblems(parent: Field, isConverted = false): readonly Problem[] {
  return texts(parent, "gateways").flatMap((gateway) => {
    const [namespace = "", name] = splitOnce(gateway.value, "/");
    if (name === undefined) {
      const [short, itsNamespace] = gateway.value.split(".");
      const advice = `names with dots are an old form, write ${itsNamespace}/${short}`;
      return [...warnIf(itsNamespace !== undefined, gateway, advice), ...hostProblems(gateway)];
    }
    return [
      ...refuseIf(!isDnsLabel(namespace), gateway, `${quoted(namespace)} is no name of a namespace`),
      ...refuseIf(!isDnsLabel(name) && !isConverted, gateway, `${quoted(name)} is no name of a Gateway`),
    ];
  });
}

/** The text before the first separator and the text after it; the latter undefined without one. */
export function splitOnce(text: string, separator: string): readonly [before: string, after: string | undefined] {
  const at = text.indexOf(separator);
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** `exportTo`: `.`, `*`, namespaces; `~` for ServiceEntries. */
export function exportToProblems(spec: Field, namespace: string, allowsNone = false): readonly Problem[] {
  const all = texts(spec, "exportTo");
  const list = field(spec, "exportTo");
  const meant = ({ value }: Field) => (value === "." ? namespace : String(value));
  const isKnown = (value: string) =>
    value === "." || value === "*" || (allowsNone && value === "~") || isDnsLabel(value);
  const has = (value: string) => all.some((one) => one.value === value);
  return [
    ...repeated(all, meant).flatMap((one) => refuseIf(true, one, `${quoted(textOf(one))} is exported to twice`)),
    ...all.flatMap((one) => refuseIf(!isKnown(one.value), one, `${quoted(one.value)} is no name of a namespace`)),
    ...refuseIf(has("*") && all.length > 1, list, "* stands for all namespaces and alone"),
    ...refuseIf(allowsNone && has("~") && all.length > 1, list, "~ stands for no namespace and alone"),
  ];
}

/** Protocols of ports; none means that the proxy finds out. */
export function protocolProblems(protocol: Field): readonly Problem[] {
  const text = textOf(protocol);
  const isKnown = text === "" || parseProtocol(text) !== "Unsupported";
  return refuseIf(
    !isKnown,
    protocol,
    `${quoted(text)} is no protocol such as HTTP, HTTPS, HTTP2, GRPC, TLS, TCP, MONGO, MYSQL, REDIS`,
  );
}

export function portNameProblems(name: Field): readonly Problem[] {
  return refuseIf(!isDnsLabel(textOf(name)), name, `${quoted(textOf(name))} is no name of a port`);
}

/** A subset's name is part of its cluster's. */
export function subsetNameProblems(name: Field): readonly Problem[] {
  return refuseIf(!isDnsLabel(textOf(name)), name, `${quoted(textOf(name))} is no name of a subset`);
}

export function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
