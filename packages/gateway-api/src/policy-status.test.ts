import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Config } from "@flotilla/model";
import type { BackendTlsSpec } from "./backend-tls.ts";
import { type AncestorStatus, backendTlsStatus, backendTrafficStatus, type PolicyLookups } from "./policy-status.ts";

const service = (name: string, sectionName?: string) => ({
  ...{ group: "", kind: "Service", name },
  ...(sectionName !== undefined && { sectionName }),
});
const root = (name: string, kind = "ConfigMap", group = "") => ({ group, kind, name });

function aPolicy<Spec>(spec: Spec, name = "p", more: Partial<Config<Spec>> = {}): Config<Spec> {
  const key = { kind: "BackendTLSPolicy", namespace: "shop", name };
  return { key, labels: {}, annotations: {}, creationTimeMs: 0, spec, ...more };
}

const lookups: PolicyLookups = {
  targetOf: (kind, namespace, name) =>
    kind === "Service" && namespace === "shop" && ["web", "db"].includes(name)
      ? { hosts: [`${name}.shop.svc.cluster.local`], ports: [{ name: "https", number: 443 }] }
      : undefined,
  rootsProblem: ({ name }) => (name === "broken" ? "no certificate in it" : undefined),
  hasObject: (kind, namespace, name) => namespace === "shop" && `${kind}/${name}` !== "ConfigMap/missing",
  gatewaysOf: (_, __, name) => (name === "web" ? ["edge", "a-gateway"] : ["edge"]),
};

/** `Kind/name: type=reason …` for each ancestor. */
function shown(statuses: readonly AncestorStatus[]): readonly string[] {
  return statuses.map(({ ancestorRef: { kind, name }, controllerName, conditions }) => {
    const by = controllerName === "istio.io/gateway-controller" ? "gateway" : "mesh";
    const said = conditions.map(({ type, status, reason }) => `${status === "True" ? "" : "!"}${type}=${reason}`);
    return `${kind}/${name} by ${by}: ${said.join(" ")}`;
  });
}

const good = "Accepted=Accepted ResolvedRefs=ResolvedRefs";
const lost = "!Accepted=TargetNotFound ResolvedRefs=ResolvedRefs";
const gateways = (state: string) => [`Gateway/a-gateway by gateway: ${state}`, `Gateway/edge by gateway: ${state}`];
const badRoots = (reason: string) => `!Accepted=NoValidCACertificate !ResolvedRefs=${reason}`;

describe("the status of a BackendTLSPolicy", () => {
  const targets: readonly {
    readonly name: string;
    readonly spec: BackendTlsSpec;
    readonly expected: readonly string[];
  }[] = [
    {
      name: "its target and each Gateway with a route to it",
      spec: { targetRefs: [service("web")] },
      expected: [`Service/web by mesh: ${good}`, ...gateways(good)],
    },
    {
      name: "a target that is not there",
      spec: { targetRefs: [service("none")] },
      expected: [`Service/none by mesh: ${lost}`, `Gateway/edge by gateway: ${lost}`],
    },
    {
      name: "a target of another kind",
      spec: { targetRefs: [root("web", "Pod")] },
      expected: [`Pod/web by mesh: ${lost}`],
    },
    {
      name: "a port of the target",
      spec: { targetRefs: [service("db", "https")] },
      expected: [`Service/db by mesh: ${good}`, `Gateway/edge by gateway: ${good}`],
    },
    {
      name: "a port that the target lacks",
      spec: { targetRefs: [service("db", "http")] },
      expected: [`Service/db by mesh: ${lost}`, `Gateway/edge by gateway: ${lost}`],
    },
    {
      name: "the trouble of one target on the Gateway that reaches both",
      spec: { targetRefs: [service("web"), service("none")] },
      expected: [
        ...[`Service/web by mesh: ${good}`, `Service/none by mesh: ${lost}`],
        ...[`Gateway/a-gateway by gateway: ${good}`, `Gateway/edge by gateway: ${lost}`],
      ],
    },
  ];
  for (const { name, spec, expected } of targets)
    test(name, () => assert.deepEqual(shown(backendTlsStatus(aPolicy(spec), [], lookups)), expected));

  const roots = [
    {
      name: "those of the system",
      validation: { wellKnownCACertificates: "System", caCertificateRefs: [root("missing")] },
      state: good,
    },
    { name: "none are named", validation: {}, state: good },
    { name: "a ConfigMap", validation: { caCertificateRefs: [root("ca")] }, state: good },
    { name: "a Secret", validation: { caCertificateRefs: [root("ca", "Secret")] }, state: good },
    { name: "another kind", validation: { caCertificateRefs: [root("ca", "Pod")] }, state: badRoots("InvalidKind") },
    {
      name: "another group",
      validation: { caCertificateRefs: [root("ca", "ConfigMap", "x.io")] },
      state: badRoots("InvalidKind"),
    },
    {
      name: "a missing one",
      validation: { caCertificateRefs: [root("missing")] },
      state: badRoots("InvalidCACertificateRef"),
    },
    {
      name: "one that cannot be read",
      validation: { caCertificateRefs: [root("broken")] },
      state: badRoots("InvalidCACertificateRef"),
    },
  ];
  for (const { name, validation, state } of roots)
    test(`roots: ${name}`, () => {
      const policy = aPolicy({ targetRefs: [service("db")], validation });
      assert.equal(shown(backendTlsStatus(policy, [], lookups))[0], `Service/db by mesh: ${state}`);
    });

  test("warns of roots that are left out", () => {
    const acceptedWith = (...caCertificateRefs: ReturnType<typeof root>[]) => {
      const policy = aPolicy({ targetRefs: [service("web")], validation: { hostname: "h", caCertificateRefs } });
      return backendTlsStatus(policy, [], lookups)[0]?.conditions[0]?.message;
    };
    assert.equal(acceptedWith(root("a")), "Configuration is valid");
    assert.match(acceptedWith(root("a"), root("b")) ?? "", /^Configuration is valid; warning: only the first/);
  });

  test("an older policy for the same target wins", () => {
    const spec = { targetRefs: [service("db")] };
    const [older, younger] = [aPolicy(spec, "z", { creationTimeMs: 1 }), aPolicy(spec, "a", { creationTimeMs: 2 })];
    const all = [older, younger];
    assert.equal(shown(backendTlsStatus(older, all, lookups))[0], `Service/db by mesh: ${good}`);
    assert.equal(
      shown(backendTlsStatus(younger, all, lookups))[0],
      "Service/db by mesh: !Accepted=Conflicted ResolvedRefs=ResolvedRefs",
    );
  });

  test("users can keep it from having an effect", () => {
    const annotations = { "istio.io/ignore-policy-attachment": "TRUE" };
    const policy = aPolicy({ targetRefs: [service("web"), service("db")] }, "p", { annotations });
    const ignored = "!Accepted=IgnoredByIstio";
    const expected = [`Service/web by mesh: ${ignored}`, `Service/db by mesh: ${ignored}`];
    assert.deepEqual(shown(backendTlsStatus(policy, [], lookups)), expected);
    assert.deepEqual(shown(backendTrafficStatus(policy, lookups)), expected);
  });
});

describe("the status of an XBackendTrafficPolicy", () => {
  test("is that it is accepted, for each target", () => {
    const statuses = backendTrafficStatus(aPolicy({ targetRefs: [service("web"), service("db")] }), lookups);
    assert.deepEqual(shown(statuses), [
      "Service/web by mesh: Accepted=Accepted",
      "Service/db by mesh: Accepted=Accepted",
    ]);
    assert.equal(statuses[0]?.conditions[0]?.message.includes("sessionPersistence"), false);
  });
  test("is that a target does not exist", () => {
    const statuses = backendTrafficStatus(aPolicy({ targetRefs: [service("web"), service("nobody")] }), lookups);
    assert.deepEqual(shown(statuses), [
      "Service/web by mesh: Accepted=Accepted",
      "Service/nobody by mesh: !Accepted=TargetNotFound",
    ]);
  });
  test("names a field that has no effect", () => {
    const [status] = backendTrafficStatus(aPolicy({ targetRefs: [service("web")], sessionPersistence: {} }), lookups);
    assert.match(status?.conditions[0]?.message ?? "", /does not support .*: sessionPersistence$/);
  });
});
