/** Policies: an object in, a policy of ztunnel or none out. */
import { type AuthorizationInit, convertPeerAuthentication, translatePolicy } from "@flotilla/ambient";
import type { Config, KubeObject, MutualTlsMode } from "@flotilla/model";
import { create, fromJson, type JsonValue, toJson } from "@flotilla/proto";
import { AuthorizationSchema } from "@flotilla/proto/istio/security/authorization_pb";
import { AuthorizationPolicySchema } from "@flotilla/proto/security/v1beta1/authorization_policy_pb";
import {
  type PeerAuthentication,
  PeerAuthenticationSchema,
} from "@flotilla/proto/security/v1beta1/peer_authentication_pb";
import { parse, parseAllDocuments } from "yaml";
import type { PolicyCase } from "./types.ts";

export async function policyCase(
  { input, expected, settings: { rootNamespace } }: PolicyCase,
  read: (path: string) => Promise<string>,
): Promise<{ readonly want: unknown; readonly got: unknown }> {
  const all = parseAllDocuments(await read(input)).map((document) => document.toJS() as KubeObject | null);
  const objects = all.filter((object) => object !== null);
  const text = parse(await read(expected.authorization)) as JsonValue | null;
  const want = text === null ? null : toJson(AuthorizationSchema, fromJson(AuthorizationSchema, text));
  const isPolicy = objects.some(({ kind }) => kind === "AuthorizationPolicy");
  const made = isPolicy ? policyOf(objects, rootNamespace) : peerPolicyOf(objects, rootNamespace);
  return { want, got: policyJson(made) };
}

export function policyJson(policy: AuthorizationInit | undefined): JsonValue {
  return policy === undefined ? null : toJson(AuthorizationSchema, create(AuthorizationSchema, policy));
}

function policyOf([object]: readonly KubeObject[], rootNamespace: string): AuthorizationInit | undefined {
  const spec = fromJson(AuthorizationPolicySchema, (object?.["spec"] ?? {}) as JsonValue);
  return (
    object &&
    translatePolicy(configOf("AuthorizationPolicy", object, spec), { rootNamespace, sendsDryRun: false }).authorization
  );
}

/** The one with a selector, by the modes of its namespace and of the mesh. */
function peerPolicyOf(objects: readonly KubeObject[], rootNamespace: string): AuthorizationInit | undefined {
  const configs = objects.map((object) =>
    configOf("PeerAuthentication", object, fromJson(PeerAuthenticationSchema, (object["spec"] ?? {}) as JsonValue)),
  );
  const own = configs.find(({ spec }) => spec.selector !== undefined) ?? configs[0];
  if (own === undefined) return undefined;
  const wide = (namespace: string) => configs.find((config) => config !== own && config.key.namespace === namespace);
  const inherited = modeOf(wide(own.key.namespace), modeOf(wide(rootNamespace), "PERMISSIVE"));
  return convertPeerAuthentication(own, inherited);
}

function modeOf(config: Config<PeerAuthentication> | undefined, inherited: MutualTlsMode): MutualTlsMode {
  const modes: readonly (MutualTlsMode | undefined)[] = [undefined, "DISABLE", "PERMISSIVE", "STRICT"];
  return modes[config?.spec.mtls?.mode ?? 0] ?? inherited;
}

export function configOf<Spec>(kind: string, { metadata }: KubeObject, spec: Spec): Config<Spec> {
  const { name = "", namespace = "", labels = {}, annotations = {} } = metadata;
  return { key: { kind, namespace, name }, labels, annotations, creationTimeMs: 0, spec };
}
