/**
 * TLS of a listener in Istio's words: certificates of servers, roots for clients (`spec.tls.frontend`), and the options by which
 * users ask for what the Gateway API has no field for. Source: corpus gateway-api (tls, invalid, frontend-tls-invalid).
 */
import { type Config, knownCipherSuites, ownValue } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  ServerTLSSettings_TLSmode as Mode,
  type ServerTLSSettings,
  ServerTLSSettingsSchema,
} from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import type { Problem } from "./conditions.ts";
import type { ClientValidation, KubernetesGatewaySpec, ListenerSpec, ReferenceGrantSpec } from "./gateway-spec.ts";
import { isGranted, notGranted, type Reference } from "./reference-grants.ts";
import type { ObjectRef } from "./route-spec.ts";

export interface CredentialLookups {
  /** Why a Secret is no certificate of a server; undefined when it is one. */
  readonly certificateProblem: (namespace: string, name: string) => string | undefined;
  /** Why a Secret or ConfigMap holds no roots; undefined when it does. */
  readonly rootsProblem: (ref: { kind: string; namespace: string; name: string }) => string | undefined;
  readonly grantsIn: (namespace: string) => readonly Config<ReferenceGrantSpec>[];
}

export interface ListenerTlsResult {
  readonly tls?: ServerTLSSettings;
  readonly problem?: TlsProblem;
  /** Clients whose certificate cannot be verified are let in. */
  readonly isInsecure?: boolean;
}

export interface TlsProblem {
  /** Set where the specification requires the listener itself to be not accepted. */
  readonly accepted?: Problem;
  readonly resolvedRefs: Problem;
}

/** Where a listener stands: `kind` is Gateway or ListenerSet. */
export interface ListenerPlace {
  readonly kind: "Gateway" | "ListenerSet";
  readonly namespace: string;
}

const optionPrefix = "gateway.istio.io/";
const maxCertificates = 2;

/** Of a listener that has a `tls`. */
export function listenerTls(
  listener: ListenerSpec,
  place: ListenerPlace,
  validation: ClientValidation | undefined,
  lookups: CredentialLookups,
): ListenerTlsResult {
  const { mode = "Terminate", options = {} } = listener.tls ?? {};
  const cipherSuites = knownCipherSuites(
    option(options, "tls-cipher-suites")
      .split(",")
      .map((suite) => suite.trim()),
  );
  if (mode === "Passthrough") {
    const isAuto = option(options, "listener-protocol").toLowerCase() === "auto-passthrough";
    const passthrough = isAuto ? Mode.AUTO_PASSTHROUGH : Mode.PASSTHROUGH;
    return { tls: create(ServerTLSSettingsSchema, { mode: passthrough, cipherSuites }) };
  }
  const asked = option(options, "tls-terminate-mode");
  // As in istiod, listeners with the workload's own certificate have no ciphers of their own.
  if (asked === "ISTIO_MUTUAL") return { tls: create(ServerTLSSettingsSchema, { mode: Mode.ISTIO_MUTUAL }) };
  if (asked === "ISTIO_SIMPLE") {
    const builtIn = { mode: Mode.SIMPLE, credentialName: "builtin://" };
    return { tls: create(ServerTLSSettingsSchema, builtIn) };
  }
  return terminated(listener, { place, validation, asked, cipherSuites }, lookups);
}

interface Termination {
  readonly place: ListenerPlace;
  readonly validation: ClientValidation | undefined;
  readonly asked: string;
  readonly cipherSuites: string[];
}

function terminated(
  listener: ListenerSpec,
  { place, validation, asked, cipherSuites }: Termination,
  lookups: CredentialLookups,
): ListenerTlsResult {
  const certificates = certificatesOf(listener.tls?.certificateRefs ?? [], place, lookups);
  if ("problem" in certificates) return certificates;
  const roots = validation && rootsOf(validation.caCertificateRefs ?? [], place, lookups);
  if (roots !== undefined && "problem" in roots) return roots;
  const [first, ...more] = certificates.names;
  const isInsecure = validation?.mode === "AllowInsecureFallback";
  const tls = create(ServerTLSSettingsSchema, {
    mode: terminateMode(asked, roots !== undefined, isInsecure),
    cipherSuites,
    ...(more.length > 0 ? { credentialNames: certificates.names } : { credentialName: first ?? "" }),
    // A mode that is asked for by its name holds in place of the fallback.
    ...(roots && { caCertCredentialName: roots.name, insecureSkipVerify: isInsecure && !modes.has(asked) }),
  });
  return { tls, isInsecure: roots !== undefined && isInsecure };
}

function terminateMode(asked: string, hasRoots: boolean, isInsecure: boolean): Mode {
  const named = modes.get(asked);
  if (named !== undefined) return named;
  if (!hasRoots) return Mode.SIMPLE;
  return isInsecure ? Mode.OPTIONAL_MUTUAL : Mode.MUTUAL;
}

const modes: ReadonlyMap<string, Mode> = new Map([
  ["MUTUAL", Mode.MUTUAL],
  ["OPTIONAL_MUTUAL", Mode.OPTIONAL_MUTUAL],
]);

/** Certificates that can be used; a problem where none can, or where there are too many. */
function certificatesOf(
  refs: readonly ObjectRef[],
  place: ListenerPlace,
  lookups: CredentialLookups,
): { readonly names: string[] } | { readonly problem: TlsProblem } {
  if (refs.length > maxCertificates) {
    const message = `TLS mode can only support up to ${maxCertificates} server certificates`;
    return { problem: { resolvedRefs: { reason: "InvalidCertificateRef", message } } };
  }
  const found = refs.map((ref) => certificateOf(ref, place, lookups));
  const names = found.flatMap((one) => ("name" in one ? one.name : []));
  const problem = found.flatMap((one) => ("problem" in one ? one.problem : [])).at(0);
  return names.length === 0 && problem !== undefined ? { problem } : { names };
}

type Credential = { readonly name: string } | { readonly problem: TlsProblem };

function certificateOf(ref: ObjectRef, place: ListenerPlace, lookups: CredentialLookups): Credential {
  const { group = "", kind = "Secret", namespace = place.namespace, name = "" } = ref;
  const broken = (why: string): Credential => ({
    problem: {
      resolvedRefs: {
        reason: "InvalidCertificateRef",
        message: `invalid certificate reference ${refText(ref)}, ${why}`,
      },
    },
  });
  if (group !== "" || kind !== "Secret") return broken("only secret is allowed");
  const problem = lookups.certificateProblem(namespace, name);
  if (problem !== undefined) return broken(problem);
  const reference = referenceOf({ ...ref, kind, namespace }, place);
  if (isGranted(reference, lookups.grantsIn)) return { name: `kubernetes-gateway://${namespace}/${name}` };
  return { problem: forbidden(`certificateRef ${name}/${namespace}`, reference) };
}

function rootsOf(refs: readonly ObjectRef[], place: ListenerPlace, lookups: CredentialLookups): Credential {
  const [ref = {}, second] = refs;
  if (second !== undefined) return brokenRoots("InvalidCACertificateRef", "only one caCertificateRef is supported");
  const { group = "", kind = "", namespace = place.namespace, name = "" } = ref;
  const text = `invalid CA certificate reference ${refText(ref)}, `;
  if (group !== "" || (kind !== "Secret" && kind !== "ConfigMap"))
    return brokenRoots("InvalidCACertificateKind", `${text}only secret and configmap are allowed`);
  const reference = referenceOf({ ...ref, namespace }, place);
  if (!isGranted(reference, lookups.grantsIn))
    return { problem: forbidden(`caCertificateRef ${namespace}/${name}`, reference) };
  const problem = lookups.rootsProblem({ kind, namespace, name });
  if (problem !== undefined) return brokenRoots("InvalidCACertificateRef", `${text}${problem}`);
  return { name: `${kind === "Secret" ? "kubernetes-gateway" : "configmap"}://${namespace}/${name}-cacert` };
}

function brokenRoots(reason: string, message: string): Credential {
  return { problem: { accepted: { reason: "NoValidCACertificate", message }, resolvedRefs: { reason, message } } };
}

function forbidden(what: string, reference: Reference): TlsProblem {
  const resolvedRefs = notGranted(what, reference, "Gateway");
  return { accepted: { reason: "NoValidCACertificate", message: resolvedRefs.message }, resolvedRefs };
}

function referenceOf({ group = "", kind = "", namespace = "", name = "" }: ObjectRef, from: ListenerPlace): Reference {
  return { from, to: { group, kind, namespace, name } };
}

/** As it is written, without the defaults. */
export function refText({ group = "", kind = "", name = "", namespace = "" }: ObjectRef): string {
  return `${group}/${kind}/${name}.${namespace}`;
}

function option(options: Readonly<Record<string, string>>, name: string): string {
  return ownValue(options, `${optionPrefix}${name}`) ?? "";
}

/** That of the port counts before that of all ports, also when it has none. */
export function clientValidation({ tls }: KubernetesGatewaySpec, port: number): ClientValidation | undefined {
  const own = tls?.frontend?.perPort?.find((one) => one.port === port);
  return own === undefined ? tls?.frontend?.default?.validation : own.tls?.validation;
}
