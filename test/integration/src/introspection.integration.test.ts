/** The introspection pages of every service of a control plane that runs: each shows the work that waits and its connections. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { type Launched, launch, program } from "./local/flotilla.ts";

/** Figures of each page. */
const queues: Readonly<Record<string, readonly string[]>> = {
  "xds-server": ["openDeliveries", "position"],
  "config-controller": ["openPublishCalls", "lastSequence"],
  "service-controller": ["openPublishCalls", "lastSequence"],
  ca: ["toAuthenticate", "toSign"],
  webhook: ["openRequests", "charactersToValidate"],
  console: ["eventStreams", "sessions"],
};

describe("introspection pages", () => {
  let plane: Launched;
  const urls = () => {
    const lines = plane.output().matchAll(/^.*"introspection pages open".*$/gm);
    const opened = [...lines].map(([line]) => JSON.parse(line) as { readonly service: string; readonly url: string });
    return new Map(opened.map(({ service, url }) => [service, url]));
  };
  const ask = async (service: string, path: string): Promise<Readonly<Record<string, unknown>>> =>
    (await (await fetch(`${urls().get(service)}${path}`)).json()) as Readonly<Record<string, unknown>>;

  before(async () => {
    plane = await launch({
      command: [process.execPath, program, "serve", "--embedded"],
      env: { INTROSPECTION_PORT: "0" },
    });
    await plane.ready();
  });
  after(() => plane?.[Symbol.asyncDispose]());

  for (const [service, names] of Object.entries(queues))
    it(`${service} shows what waits`, async () => {
      await until(() => urls().has(service), { withinMs: 10_000, what: `the pages of ${service}` });
      const found = await ask(service, "/queues");
      assert.deepEqual(Object.keys(found), names);
      for (const name of names) assert.ok(Number.isInteger(found[name]), `${name}: ${found[name]}`);
      assert.ok(Array.isArray(await ask(service, "/connections")));
    });
});
