/** The part of a listener that a call meets: filters that are switched off for its port. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { meet } from "./meet.ts";

const httpInspector = "envoy.filters.listener.http_inspector";
const range = (start: number, end: number): JsonObject => ({ destinationPortRange: { start, end } });

/** The ports of 79 to 82 at which the listener recognizes plain HTTP. */
function inspectedPorts(filterDisabled: JsonObject | undefined): readonly number[] {
  const filter = { name: httpInspector, ...(filterDisabled && { filterDisabled }) };
  const listener = { name: "virtualOutbound", listenerFilters: [filter], filterChains: [{ name: "c" }] };
  const configuration = { listeners: [listener], routes: () => undefined };
  return [79, 80, 81, 82].filter((Port) => meet(configuration, { Port, Protocol: "http" }).call.Alpn === "http/1.1");
}

describe("a listener filter", () => {
  const cases: readonly (readonly [name: string, disabled: JsonObject | undefined, ports: readonly number[]])[] = [
    ["holds everywhere unless it is switched off", undefined, [79, 80, 81, 82]],
    ["is switched off from the first port of a range to before its end", range(80, 82), [79, 82]],
    ["is switched off beside a range", { notMatch: range(80, 82) }, [80, 81]],
    ["is switched off in each of several ranges", { orMatch: { rules: [range(79, 80), range(82, 83)] } }, [80, 81]],
    ["is switched off where ranges meet", { andMatch: { rules: [range(79, 82), range(81, 83)] } }, [79, 80, 82]],
    ["is switched off altogether", { anyMatch: true }, []],
  ];
  for (const [name, disabled, ports] of cases) it(name, () => assert.deepEqual(inspectedPorts(disabled), ports));
});
