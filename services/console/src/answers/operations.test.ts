/** Certificates, settings and levels, from what the services answer. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ServiceSettings } from "@flotilla/console/contract";
import { ByReplica, NoAnswer, requestOf, servicesWith } from "../upstream/answers.fixture.ts";
import { operationHandlers } from "./operations.ts";

const issued = [{ at: "now", issued: 1, failed: 0 }];
const own = { service: "console", replica: "c", version: "1", settings: [], levels: {} } as unknown as ServiceSettings;
const handlersOf = (pages: Readonly<Record<string, unknown>>) => {
  const { services, asked } = servicesWith(pages);
  const metrics = { issued: () => issued, stepMs: 15_000 } as const;
  return { handlers: operationHandlers({ services, metrics, own: () => own }), asked };
};

describe("certificates", () => {
  const rotation = {
    ...{
      phase: "idle",
      meaning: "nothing to do",
      phaseSinceMs: 0,
      holdups: [],
      certificates: {},
      proxies: {},
      more: 1,
    },
  };
  const pages = {
    "ca /debug/caz": { trustDomains: ["cluster.local"], roots: [{ id: "r" }], signing: { id: "s" }, more: 1 },
    "ca /debug/rotation": rotation,
    "ca /debug/endings": { endings: [{ name: "web" }] },
  };
  const ask = (more: object) => handlersOf({ ...pages, ...more }).handlers["GET /api/v1/certificates"](requestOf());
  const { phaseSinceMs: _, more: __, ...shown } = rotation;
  const whole = {
    ...{ trustDomains: ["cluster.local"], roots: [{ id: "r" }], signing: { id: "s" }, issued, stepMs: 15_000 },
    ...{ rotation: shown, endingSoon: [{ name: "web" }], away: [] },
  };

  it("are those of ca, with its rotation", async () => {
    assert.deepEqual(await ask({}), whole);
    const under = {
      ...{ ...rotation, phase: "distribute", roots: { old: "a", next: "b", more: 1 } },
      last: { id: "x", outcome: "done", atMs: 1_000, more: 1 },
    };
    assert.deepEqual((await ask({ "ca /debug/rotation": under })).rotation, {
      ...{ ...shown, phase: "distribute", since: "1970-01-01T00:00:00.000Z", roots: { old: "a", next: "b" } },
      last: { id: "x", outcome: "done", at: "1970-01-01T00:00:01.000Z" },
    });
  });

  it("have no signing key where ca signs with none", async () => {
    const { signing: _, ...rest } = whole;
    assert.deepEqual(await ask({ "ca /debug/caz": { ...pages["ca /debug/caz"], signing: null } }), rest);
  });

  it("name ca once where it is away, and show what was issued", async () => {
    const gone = new NoAnswer("gone");
    const away = [{ service: "ca", reason: "unreachable", message: "gone" }];
    assert.deepEqual(await ask({ "ca /debug/caz": gone, "ca /debug/rotation": gone, "ca /debug/endings": gone }), {
      ...{ trustDomains: [], roots: [], issued, stepMs: 15_000, endingSoon: [], away },
    });
  });
});

describe("settings", () => {
  it("are those of all replicas and of the console, without those that are away", async () => {
    const { handlers, asked } = handlersOf({
      ...{ "config-controller": ["a", "b"], ca: ["c"] },
      "config-controller /debug/settings": new ByReplica({
        a: { version: "2", settings: [{ env: "X" }], levels: { default: "info" }, more: 1 },
        b: new NoAnswer("gone"),
      }),
      "ca /debug/settings": new ByReplica({ c: { version: "3", settings: [], levels: {} } }),
    });
    const { services, away } = await handlers["GET /api/v1/settings"](requestOf());
    assert.deepEqual(services, [
      {
        service: "config-controller",
        replica: "a",
        version: "2",
        settings: [{ env: "X" }],
        levels: { default: "info" },
      },
      { service: "ca", replica: "c", version: "3", settings: [], levels: {} },
      own,
    ]);
    assert.deepEqual(away, [{ service: "config-controller", replica: "b", reason: "unreachable", message: "gone" }]);
    assert.deepEqual(
      asked,
      ["config-controller", "service-controller", "xds-server", "ca", "webhook"].map(
        (name) => `${name} /debug/settings by T`,
      ),
    );
  });
});

describe("a level", () => {
  const pages = { ca: ["c", "d"], "ca /debug/levels": new ByReplica({ c: {}, d: new NoAnswer("read only", 403) }) };
  const put = async (service: string, replica: string) => {
    const { handlers, asked } = handlersOf(pages);
    const request = requestOf("", { params: { service, replica }, body: { part: "debug" } });
    await handlers["PUT /api/v1/settings/{service}/{replica}/levels"](request);
    return asked;
  };

  it("is changed at the replica that is named", async () =>
    assert.deepEqual(await put("ca", "c"), ['PUT ca /debug/levels by T {"part":"debug"}']));

  for (const [service, replica, code, message] of [
    ["ca", "e", "not-found", "there is no replica e of ca"],
    ["console", "c", "not-found", "there is no replica c of console"],
    ["nothing", "c", "not-found", "there is no replica c of nothing"],
    ["ca", "d", "forbidden", "read only"],
  ] as const)
    it(`of ${replica} of ${service} is refused: ${message}`, () =>
      assert.rejects(put(service, replica), { code, message }));
});
