/** Ingresses: rules of the API server beyond a schema's bounds, and fields that have no effect in the mesh. */
import { isIpAddress } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import {
  entries,
  type Field,
  field,
  fieldAt,
  isSet,
  items,
  numberOf,
  refuseIf,
  textOf,
  texts,
  warnIf,
} from "./shared/field.ts";
import { quoted } from "./shared/names.ts";
import type { ServedKinds } from "./shared/served-kinds.ts";

const classAnnotation = "kubernetes.io/ingress.class";

/** @param object the Ingress as a whole */
export function validateIngress(object: Field, served: ServedKinds): readonly Problem[] {
  const spec = field(object, "spec");
  const metadata = field(object, "metadata");
  const annotation = textOrNone(fieldAt(metadata, "annotations", classAnnotation));
  const className = textOrNone(field(spec, "ingressClassName"));
  const isServed = served.isServedIngress({ annotation, className });
  return [...formProblems(spec), ...(isServed ? unfollowedProblems(spec, metadata) : [])];
}

function textOrNone({ value }: Field): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function formProblems(spec: Field): readonly Problem[] {
  const rules = items(spec, "rules");
  const backend = field(spec, "defaultBackend");
  return [
    ...refuseIf(rules.length === 0 && !isSet(backend), spec, "needs rules or a defaultBackend"),
    ...backendProblems(backend),
    ...items(spec, "tls").flatMap((tls) => texts(tls, "hosts").flatMap(hostProblems)),
    ...rules.flatMap((rule) => [...hostProblems(field(rule, "host")), ...pathsOf(rule).flatMap(pathProblems)]),
  ];
}

function pathsOf(rule: Field): readonly Field[] {
  return items(field(rule, "http"), "paths");
}

const maxHostLength = 253;
const dnsName = /^(?:\*\.)?[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

function hostProblems(host: Field): readonly Problem[] {
  const text = textOf(host);
  if (text === "") return [];
  const isName = text.length <= maxHostLength && dnsName.test(text) && text !== "*";
  return [
    ...refuseIf(isIpAddress(text), host, `${quoted(text)} is an address, where a DNS name belongs`),
    ...refuseIf(!isName, host, `${quoted(text)} is no DNS name in lower case, and no *.NAME`),
  ];
}

const dotSegments = ["//", "/./", "/../", "%2f", "%2F"];

function pathProblems(one: Field): readonly Problem[] {
  const path = field(one, "path");
  const text = textOf(path);
  const type = textOf(field(one, "pathType"));
  const isExact = type === "Exact" || type === "Prefix";
  const wrong = isExact ? dotSegments.find((segment) => text.includes(segment)) : undefined;
  const isDotted = isExact && (text.endsWith("/..") || text.endsWith("/."));
  return [
    ...refuseIf(isExact && !text.startsWith("/"), path, `${quoted(text)} does not begin with /`),
    ...refuseIf(
      type === "ImplementationSpecific" && text !== "" && !text.startsWith("/"),
      path,
      `${quoted(text)} does not begin with /`,
    ),
    ...refuseIf(wrong !== undefined || isDotted, path, `must not contain ${wrong ?? "a segment of dots"}`),
    ...backendProblems(field(one, "backend")),
  ];
}

function backendProblems(backend: Field): readonly Problem[] {
  if (!isSet(backend)) return [];
  const service = field(backend, "service");
  const resource = field(backend, "resource");
  const port = field(service, "port");
  const [hasName, hasNumber] = [textOf(field(port, "name")) !== "", numberOf(field(port, "number")) !== 0];
  return [
    ...refuseIf(isSet(service) && isSet(resource), backend, "has a service and a resource, where one belongs"),
    ...refuseIf(!isSet(service) && !isSet(resource), backend, "needs a service"),
    ...refuseIf(isSet(service) && hasName === hasNumber, port, "needs a name or a number, not both"),
  ];
}

/** Reports fields of an Ingress that the mesh follows differently, or not at all. */
function unfollowedProblems(spec: Field, metadata: Field): readonly Problem[] {
  const rules = items(spec, "rules");
  return [
    ...resourceProblems(field(spec, "defaultBackend")),
    ...items(spec, "tls").flatMap(tlsProblems),
    ...rules.flatMap((rule) => [...ruleProblems(rule), ...pathsOf(rule).flatMap(unfollowedPathProblems)]),
    ...repeatedPathProblems(rules),
    ...foreignAnnotationProblems(metadata),
  ];
}

function resourceProblems(backend: Field): readonly Problem[] {
  const resource = field(backend, "resource");
  return warnIf(isSet(resource), resource, "is not followed: only Services are called");
}

function tlsProblems(tls: Field): readonly Problem[] {
  const secret = field(tls, "secretName");
  const hosts = field(tls, "hosts");
  const isServed = textOf(secret) !== "";
  return [
    ...warnIf(!isServed, secret, "is empty: these hosts are not served with TLS"),
    ...warnIf(isServed && texts(tls, "hosts").length === 0, hosts, "is empty: the certificate is shown for every host"),
  ];
}

function ruleProblems(rule: Field): readonly Problem[] {
  const host = field(rule, "host");
  return [
    ...warnIf(!isSet(field(rule, "http")), field(rule, "http"), "is empty: nothing is served for this host"),
    ...warnIf(
      textOf(host).startsWith("*."),
      host,
      "is matched by names of any number of labels, not of one more alone as the Ingress API has it",
    ),
  ];
}

/** A path of another type is a prefix where it ends in `.*` or `/*`, and is compared as it is else. */
function unfollowedPathProblems(one: Field): readonly Problem[] {
  const path = field(one, "path");
  const text = textOf(path);
  const isSpecific = textOf(field(one, "pathType")) === "ImplementationSpecific";
  const literal = text.replace(/(?:\.\*|\/\*)$/, "");
  return [
    ...resourceProblems(field(one, "backend")),
    ...warnIf(
      isSpecific && /[*+?()[\]{}|^$\\]/.test(literal),
      path,
      `${quoted(text)} is compared as it is: it is no expression here, only .* or /* at its end stands for more`,
    ),
  ];
}

function repeatedPathProblems(rules: readonly Field[]): readonly Problem[] {
  const seen = new Map<string, string>();
  return rules.flatMap((rule) =>
    pathsOf(rule).flatMap((one) => {
      const key = ["pathType", "path"].map((name) => textOf(field(one, name)));
      const text = JSON.stringify([textOf(field(rule, "host")), ...key]);
      const first = seen.get(text);
      seen.set(text, first ?? one.path);
      return warnIf(first !== undefined, one, `no request comes here: ${first} has the same host and path`);
    }),
  );
}

const foreignPrefixes = ["nginx.ingress.kubernetes.io/", "nginx.org/", "haproxy.org/", "alb.ingress.kubernetes.io/"];
const foreign = [...foreignPrefixes, "traefik.ingress.kubernetes.io/", "ingress.kubernetes.io/"];

function foreignAnnotationProblems(metadata: Field): readonly Problem[] {
  return entries(metadata, "annotations").flatMap(([name, value]) =>
    warnIf(
      foreign.some((prefix) => name.startsWith(prefix)),
      value,
      "has no effect: it is for another ingress controller",
    ),
  );
}
