/** The filters of a proxy's WasmPlugins and TrafficExtensions, for whichever filter chain they match. */
import { FailStrategy } from "@flotilla/proto/extensions/v1alpha1/wasm_pb";
import { WorkloadMode } from "@flotilla/proto/type/v1beta1/selector_pb";
import type { PolicySubject } from "../../snapshot/scope/policy-targets.ts";
import { type Extension, trafficExtensions } from "../../snapshot/scope/traffic-extensions.ts";
import { query } from "../../snapshot/view.ts";
import type { ExtensionFilter } from "../envoy/filters/extension-filters.ts";

/** Equal as long as chains would have the same filters, whatever changes in the configuration of one. */
export const extensionFilters = query<readonly ExtensionFilter[], PolicySubject>(
  "extension-filters",
  (view, subject) =>
    view
      .read(trafficExtensions, subject)
      .filter(hasEffect)
      .map(({ resourceName: name, phase, match, config }) => ({
        name,
        phase,
        layer: config.layer,
        ...(config.kind === "lua" && { lua: config.code }),
        match: match.map(({ mode, ports }) => ({ side: sides[mode], ports: ports.map(({ number }) => number) })),
      })),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

/** Code that cannot be fetched is left out where its object lets requests pass then; else its filter refuses them. */
function hasEffect({ config }: Extension): boolean {
  return config.kind === "lua" || config.url !== undefined || config.wasm.failStrategy !== FailStrategy.FAIL_OPEN;
}

const sides = {
  [WorkloadMode.UNDEFINED]: "both",
  [WorkloadMode.CLIENT]: "outbound",
  [WorkloadMode.SERVER]: "inbound",
  [WorkloadMode.CLIENT_AND_SERVER]: "both",
} as const;
