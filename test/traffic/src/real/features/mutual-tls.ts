/** Mutual TLS as the callee's PeerAuthentication and the caller's DestinationRule ask for it; unknown destinations. */
import assert from "node:assert/strict";
import { freePort } from "@flotilla/servers";
import { type Client, httpCall } from "../client.ts";
import type { Feature } from "../feature.ts";

const modes = ["STRICT", "PERMISSIVE", "DISABLE"] as const;
type Mode = (typeof modes)[number];

export const mutualTls: Feature = async (mesh) => {
  const { port: backend } = await mesh.httpBackend("v1");
  const ports: Record<Mode, number> = {
    STRICT: await freePort(),
    PERMISSIVE: await freePort(),
    DISABLE: await freePort(),
  };
  mesh.workload(
    "guarded",
    modes.map((mode) => ({ port: ports[mode], backend })),
  );
  for (const [name, mode] of [
    ["strict", "STRICT"],
    ["permissive", "PERMISSIVE"],
    ["disabled", "DISABLE"],
    ["plain-to-strict", "STRICT"],
    ["plain-to-permissive", "PERMISSIVE"],
  ] as const)
    mesh.serviceOfWorkload(name, "guarded", ports[mode]);
  for (const name of ["plain-to-strict", "plain-to-permissive"])
    mesh.rule(name, "  trafficPolicy: {tls: {mode: DISABLE}}\n");
  mesh.object("PeerAuthentication", "guarded", {
    selector: { matchLabels: { app: "guarded" } },
    mtls: { mode: "STRICT" },
    portLevelMtls: Object.fromEntries(modes.map((mode) => [ports[mode], { mode }])),
  });

  /** The callee's information about its caller. */
  const seenCaller = async (client: Client, service: string) => {
    const { status, reply } = await client.call(service);
    return status === 200 ? String(reply?.headers["x-forwarded-client-cert"] ?? "nobody") : String(status);
  };
  const plainText = async (mode: Mode) =>
    httpCall(ports[mode], "/").then(
      ({ status }) => status,
      () => "refused",
    );
  const client = /URI=spiffe:\/\/cluster\.local\/ns\/shop\/sa\/client/;
  return [
    {
      name: "STRICT takes mutual TLS only",
      holds: async (one) => {
        assert.match(await seenCaller(one, "strict"), client);
        assert.equal(await plainText("STRICT"), "refused");
        assert.equal(await seenCaller(one, "plain-to-strict"), "503");
      },
    },
    {
      name: "PERMISSIVE takes both, and callers with a sidecar use mutual TLS",
      holds: async (one) => {
        assert.match(await seenCaller(one, "permissive"), client);
        assert.equal(await plainText("PERMISSIVE"), 200);
        assert.equal(await seenCaller(one, "plain-to-permissive"), "nobody");
      },
    },
    {
      name: "DISABLE takes plain text, which callers use by themselves",
      holds: async (one) => {
        assert.equal(await seenCaller(one, "disabled"), "nobody");
        assert.equal(await plainText("DISABLE"), 200);
      },
    },
  ];
};

/** The clients' Sidecar sets REGISTRY_ONLY. */
export const registryOnly: Feature = async () => [
  {
    name: "REGISTRY_ONLY refuses hosts that the mesh does not know",
    holds: async (client) => assert.equal((await client.call("unknown.example")).status, 502),
  },
];
