import assert from "node:assert/strict";
import { test } from "node:test";
import type { Config, MutualTlsMode } from "@flotilla/model";
import { create, fromJson, type JsonObject, toJson } from "@flotilla/proto";
import { AuthorizationSchema } from "@flotilla/proto/istio/security/authorization_pb";
import {
  type PeerAuthentication,
  PeerAuthenticationSchema,
} from "@flotilla/proto/security/v1beta1/peer_authentication_pb";
import { convertPeerAuthentication, peerAuthenticationOfPolicy, peerPolicyNames } from "./peer-authentication.ts";

function aPeer(mode: string, ports: Readonly<Record<number, string>> = {}): Config<PeerAuthentication> {
  const portLevelMtls = Object.fromEntries(Object.entries(ports).map(([port, own]) => [port, { mode: own }]));
  const spec = { selector: { matchLabels: { app: "a" } }, mtls: { mode }, portLevelMtls };
  const key = { kind: "PeerAuthentication", namespace: "shop", name: "p" };
  return { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: fromJson(PeerAuthenticationSchema, spec) };
}

const identity = { notPrincipals: [{ presence: {} }] };
const strict = { matches: [identity] };
const own = ["shop/converted_peer_authentication_p"];
const all = ["istio-system/istio_converted_static_strict"];

const cases: readonly {
  readonly name: string;
  readonly peer: Config<PeerAuthentication> | undefined;
  readonly inherited: MutualTlsMode;
  readonly groups?: unknown;
  readonly names: readonly string[];
}[] = [
  { name: "nothing asks for mutual TLS", peer: undefined, inherited: "PERMISSIVE", names: [] },
  { name: "the namespace asks for it", peer: undefined, inherited: "STRICT", names: all },
  { name: "the workload asks for it", peer: aPeer("STRICT"), inherited: "PERMISSIVE", names: all },
  { name: "the workload does not, where its namespace does", peer: aPeer("DISABLE"), inherited: "STRICT", names: [] },
  { name: "a port that says the same", peer: aPeer("STRICT", { 80: "STRICT" }), inherited: "PERMISSIVE", names: all },
  {
    name: "a port is excepted",
    peer: aPeer("STRICT", { 80: "PERMISSIVE" }),
    inherited: "PERMISSIVE",
    groups: [{ rules: [strict, { matches: [{ notDestinationPorts: [80] }] }] }],
    names: own,
  },
  {
    name: "a port is excepted from what the namespace asks for",
    peer: aPeer("UNSET", { 80: "PERMISSIVE", 81: "UNSET" }),
    inherited: "STRICT",
    groups: [{ rules: [{ matches: [{ notDestinationPorts: [80] }] }, strict] }],
    names: own,
  },
  {
    name: "a port without mutual TLS is no exception from what the namespace asks for",
    peer: aPeer("UNSET", { 80: "DISABLE" }),
    inherited: "STRICT",
    groups: [{ rules: [{ matches: [{ notDestinationPorts: [80] }] }, strict] }],
    names: all,
  },
  {
    name: "single ports ask for it, in order of their numbers",
    peer: aPeer("PERMISSIVE", { 9090: "STRICT", 8080: "STRICT", 7070: "PERMISSIVE" }),
    inherited: "STRICT",
    groups: [8080, 9090].map((port) => ({ rules: [{ matches: [{ ...identity, destinationPorts: [port] }] }] })),
    names: own,
  },
];

for (const { name, peer, inherited, groups, names } of cases)
  test(name, () => {
    const policy = peer && convertPeerAuthentication(peer, inherited);
    const json = policy && (toJson(AuthorizationSchema, create(AuthorizationSchema, policy)) as JsonObject);
    assert.deepEqual(json?.["groups"], groups);
    assert.deepEqual(peerPolicyNames(peer, inherited, "istio-system"), names);
  });

test("a converted policy is named after its object, and others are not", () => {
  const name = convertPeerAuthentication(aPeer("STRICT", { 80: "PERMISSIVE" }), "PERMISSIVE")?.name ?? "";
  assert.equal(peerAuthenticationOfPolicy(name), "p");
  assert.equal(peerAuthenticationOfPolicy("p"), undefined);
});
