/** Rows of routes hold thousands of them: they change when a route comes or goes, and not with what is in one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Graph } from "@flotilla/incremental";
import type { Config } from "@flotilla/model";
import { GatewayInputs, inputs, type NoSubject, rows } from "./gateway-inputs.ts";

function aRoute(name: string, header: string, more: Partial<Config> = {}): Config {
  return {
    key: { kind: "HTTPRoute", namespace: "shop", name },
    ...{ labels: {}, annotations: {}, creationTimeMs: 1 },
    spec: {
      parentRefs: [{ name: "edge" }],
      rules: [{ backendRefs: [{ name: "web", port: 80 }], matches: [{ headers: [{ name: "x", value: header }] }] }],
    },
    ...more,
  };
}

test("a changed route leaves the rows of its parent and back end as they are, others change them", () => {
  const graph = new Graph<NoSubject>();
  const given = new GatewayInputs(graph);
  const rowsNow = () =>
    [rows.routesOf("Gateway", "shop", "edge"), rows.usersOf("", "Service", "shop", "web")].map((row) =>
      graph.get(inputs.row(row)),
    );
  const put = (route: Config) => {
    given.set(route.key, route);
    given.flush();
    return rowsNow();
  };
  put(aRoute("a", "1"));
  const two = put(aRoute("b", "1"));
  assert.deepEqual(
    two.map((row) => row?.map(({ key }) => key.name)),
    [
      ["a", "b"],
      ["a", "b"],
    ],
  );
  const changed = put(aRoute("a", "2"));
  assert.deepEqual([changed[0] === two[0], changed[1] === two[1]], [true, true]);
  assert.deepEqual(graph.get(inputs.object(aRoute("a", "2").key))?.spec, aRoute("a", "2").spec);
  const younger = put(aRoute("a", "2", { creationTimeMs: 2 }));
  assert.deepEqual(
    younger[0]?.map(({ key }) => key.name),
    ["b", "a"],
  );
  given.set(aRoute("b", "1").key, undefined);
  given.flush();
  assert.deepEqual(
    rowsNow().map((row) => row?.map(({ key }) => key.name)),
    [["a"], ["a"]],
  );
  const elsewhere = put(aRoute("a", "2", { creationTimeMs: 2, spec: { parentRefs: [{ name: "other" }] } }));
  assert.deepEqual(elsewhere, [undefined, undefined]);
});

test("what is wrong with a certificate is known anew when it changes", () => {
  const graph = new Graph<NoSubject>();
  const given = new GatewayInputs(graph);
  const key = { kind: "Secret", namespace: "infra", name: "cert" };
  const problemOf = (data: Readonly<Record<string, string>>) => {
    given.set(key, { key, labels: {}, annotations: {}, creationTimeMs: 1, spec: { data } });
    given.flush();
    return graph.get(inputs.credential("Secret", "infra", "cert"))?.certificate;
  };
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  const shaped = (label: string) => base64(`-----BEGIN ${label}-----\nAAAA\n-----END ${label}-----\n`);
  const none = problemOf({ "tls.crt": base64("none"), "tls.key": base64("none") });
  const broken = problemOf({ "tls.crt": shaped("CERTIFICATE"), "tls.key": shaped("PRIVATE KEY") });
  assert.match(`${none} ${broken}`, /malformed.* the certificate is malformed: /);
  assert.notEqual(broken, none);
});
