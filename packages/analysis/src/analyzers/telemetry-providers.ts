/** Access logging by providers that do not exist. */
import { field, fieldAt, items } from "@flotilla/validation/field";
import type { Analyzer } from "../analyzer.ts";
import { finding, oncePerText } from "../finding.ts";
import { meshConfig } from "../shared/settings.ts";

/** The counterpart of istioctl's telemetry.ProviderAnalyzer. */
export const telemetryProviders: Analyzer = {
  name: "telemetry-providers",
  summary: "access logging without a provider",
  messages: ["TelemetryWithoutProvider"],
  checks: ["Telemetry"],
  reads: ["MeshConfig"],
  check: (telemetry, mesh) => {
    const defaults = field(meshConfig(mesh), "defaultProviders");
    if (items(defaults, "accessLogging").length > 0) return [];
    return oncePerText(
      items(telemetry.spec, "accessLogging")
        .filter((logging) => field(logging, "disabled").value !== true && items(logging, "providers").length === 0)
        .map((logging) => finding("TelemetryWithoutProvider", telemetry, fieldAt(logging), {})),
    );
  },
};
