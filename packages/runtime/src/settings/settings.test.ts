import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  decimal,
  describeSettings,
  duration,
  flag,
  integer,
  list,
  oneOf,
  parseSettings,
  port,
  text,
  url,
} from "./index.ts";
import { unknownSettings } from "./settings.ts";

const table = {
  name: text({ env: "NAME", default: undefined, sentence: "Who it is." }),
  port: port({ env: "PORT", default: 15010, sentence: "Where it listens." }),
  workers: integer({ env: "WORKERS", default: 1, min: 1, max: 8, sentence: "How many." }),
  ratio: decimal({ env: "RATIO", default: 0.5, min: 0, max: 1, sentence: "How much." }),
  waitMs: duration({ env: "WAIT", default: 1_000, sentence: "How long." }),
  isOn: flag({ env: "ON", default: false, sentence: "Whether." }),
  level: oneOf({ env: "LEVEL", default: "info", values: ["debug", "info"], sentence: "How loud." }),
  hosts: list({ env: "HOSTS", default: [], sentence: "Which." }),
  bus: url({ env: "BUS", default: "nats://localhost:4222", schemes: ["nats"], sentence: "Where the bus is." }),
  key: integer({ env: "KEY", default: 0, secret: true, sentence: "A secret." }),
} as const;

describe("settings", () => {
  it("take their defaults, also for empty values", () => {
    const { hosts, ...rest } = parseSettings(table, { NAME: "", PORT: "" });
    assert.deepEqual(hosts, []);
    assert.deepEqual(rest, {
      name: undefined,
      port: 15010,
      workers: 1,
      ratio: 0.5,
      waitMs: 1_000,
      isOn: false,
      level: "info",
      bus: "nats://localhost:4222",
      key: 0,
    });
  });

  const read: readonly (readonly [env: string, value: string, name: keyof typeof table, expected: unknown])[] = [
    ["NAME", "a b", "name", "a b"],
    ["PORT", "0", "port", 0],
    ["WORKERS", "8", "workers", 8],
    ["RATIO", "0.25", "ratio", 0.25],
    ["WAIT", "1h30m", "waitMs", 5_400_000],
    ["WAIT", "1.5s", "waitMs", 1_500],
    ["WAIT", "250ms", "waitMs", 250],
    ["ON", "Yes", "isOn", true],
    ["ON", "0", "isOn", false],
    ["LEVEL", "debug", "level", "debug"],
    ["HOSTS", "a, b,,c ", "hosts", ["a", "b", "c"]],
    ["BUS", "nats://user@host:1", "bus", "nats://user@host:1"],
  ];
  for (const [env, value, name, expected] of read) {
    it(`${env}=${value}`, () => assert.deepEqual(parseSettings(table, { [env]: value })[name], expected));
  }

  const refused: readonly (readonly [env: string, value: string, reason: RegExp])[] = [
    ["PORT", "65536", /PORT="65536": is not a port|PORT="65536": is not a whole number/],
    ["PORT", "-1", /PORT/],
    ["WORKERS", "9", /from 1 to 8/],
    ["WORKERS", "2.5", /whole number/],
    ["RATIO", "much", /a number from 0 to 1/],
    ["WAIT", "10", /a duration such as/],
    ["WAIT", "s", /a duration such as/],
    ["ON", "maybe", /neither true nor false/],
    ["LEVEL", "loud", /one of debug, info/],
    ["BUS", "redis://host", /nats:\/\/host:port/],
    ["KEY", "hunter2", /KEY=\(hidden\): (?!.*hunter2)/],
  ];
  for (const [env, value, message] of refused) {
    it(`refuses ${env}=${value}`, () =>
      assert.throws(() => parseSettings(table, { [env]: value }), { code: "SETTINGS_INVALID", message }));
  }

  it("report all that is wrong at once", () => {
    assert.throws(() => parseSettings(table, { PORT: "x", ON: "x" }), { message: /PORT=.*; ON=/ });
  });

  it("are frozen to the ground", () => {
    const config = parseSettings(table, { HOSTS: "a" });
    assert.ok(Object.isFrozen(config) && Object.isFrozen(config.hosts));
  });

  it("describe themselves", () => {
    const rows = describeSettings(table);
    assert.deepEqual(rows[1], {
      env: "PORT",
      default: "15010",
      bounds: "a port from 0 (any free one) to 65535",
      sentence: "Where it listens.",
    });
    assert.equal(rows.at(-1)?.default, "(hidden)");
  });

  for (const [ms, shown] of [
    [0, "0s"],
    [250, "250ms"],
    [1_500, "1.5s"],
    [90_000, "1m30s"],
    [5_400_000, "1h30m"],
    [86_400_000, "24h"],
    [90_061_001, "25h1m1.001s"],
  ] as const)
    it(`show ${ms} ms as ${shown}, and take that`, () => {
      const table = { ms: duration({ env: "MS", default: ms, sentence: "x" }) };
      assert.equal(describeSettings(table)[0]?.default, shown);
      assert.equal(parseSettings(table, { MS: shown }).ms, ms);
    });
});

const known = ["PILOT_HTTP10", "PILOT_ENABLE_STATUS", "ISTIO_DUAL_STACK"];

describe("variables that are named like settings of Istio and are none", () => {
  const cases: readonly { readonly name: string; readonly nearest: string | undefined }[] = [
    { name: "PILOT_HTTP_10", nearest: "PILOT_HTTP10" },
    { name: "PILOT_ENABLE_STATS", nearest: "PILOT_ENABLE_STATUS" },
    { name: "CITADEL_SOMETHING_ELSE", nearest: undefined },
  ];
  for (const { name, nearest } of cases)
    it(`${name}: ${nearest ?? "nothing is near"}`, () => {
      assert.deepEqual(unknownSettings({ [name]: "1" }, known), [{ name, nearest }]);
    });

  it("settings, other programs' variables and Kubernetes' service links are not meant", () => {
    const links = [
      "ISTIO_INGRESSGATEWAY_SERVICE_HOST",
      "ISTIO_INGRESSGATEWAY_SERVICE_PORT_HTTP2",
      "ISTIO_INGRESSGATEWAY_PORT",
      "ISTIO_INGRESSGATEWAY_PORT_80_TCP",
      "ISTIO_INGRESSGATEWAY_PORT_80_TCP_ADDR",
    ];
    const env = Object.fromEntries([...known, "PATH", "PILOT", "MY_PILOT_X", ...links].map((name) => [name, "x"]));
    assert.deepEqual(unknownSettings(env, known), []);
  });

  it("the settings of all services are known without being given", () => {
    assert.deepEqual(unknownSettings({ PILOT_HTTP10: "true", CITADEL_SELF_SIGNED_CA_CERT_TTL: "1h" }), []);
    assert.deepEqual(unknownSettings({ PILOT_HTP10: "true" }), [{ name: "PILOT_HTP10", nearest: "PILOT_HTTP10" }]);
  });
});

describe("a setting with two names", () => {
  const table = { keepaliveMs: duration({ env: "OWN", alias: "OTHERS", default: 30_000, sentence: "An interval." }) };

  it("is read under either, and under both where they agree", () => {
    for (const env of [{ OWN: "45s" }, { OTHERS: "45s" }, { OWN: "45s", OTHERS: "45s" }])
      assert.equal(parseSettings(table, env).keepaliveMs, 45_000);
  });

  it("is refused with both names where they differ", () => {
    assert.throws(() => parseSettings(table, { OWN: "45s", OTHERS: "1m" }), {
      code: "SETTINGS_INVALID",
      message: /OWN="45s" and OTHERS="1m" are names of one setting: set one of them/,
    });
  });
});
