/** Webhooks that lead to a control plane outside of the cluster by an address that cannot be right. */
import { isIpAddress } from "@flotilla/model";
import { type Field, field, fieldAt, isSet, items, textOf } from "@flotilla/validation/field";
import type { Analyzer } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";

/** The counterpart of istioctl's externalcontrolplane.ExternalControlPlaneAnalyzer. */
export const externalControlPlane: Analyzer = {
  name: "external-control-plane",
  summary: "webhooks with an unusable address of an external control plane",
  messages: ["InvalidExternalControlPlane", "ExternalControlPlaneByAddress"],
  checks: ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"],
  reads: [],
  check: (configuration) =>
    isOfMesh(configuration)
      ? items(configuration.whole, "webhooks").flatMap((webhook) => webhookFindings(configuration, webhook))
      : [],
};

function isOfMesh({ key: { kind, name } }: MeshObject): boolean {
  if (kind === "MutatingWebhookConfiguration") return name.startsWith("istio-sidecar-injector");
  return name === "istiod-default-validator" || name.startsWith("istio-validator");
}

function webhookFindings(configuration: MeshObject, webhook: Field): readonly Finding[] {
  const name = textOf(field(webhook, "name"));
  const client = field(webhook, "clientConfig");
  const url = field(client, "url");
  const invalid = (address: string, reason: string) => [
    finding("InvalidExternalControlPlane", configuration, isSet(url) ? url : client, {
      webhook: name,
      address,
      reason,
    }),
  ];
  if (!isSet(url)) return isSet(field(client, "service")) ? [] : invalid("", "is missing");
  const address = textOf(url);
  if (address === "") return [];
  const host = hostOf(address);
  if (host === undefined) return invalid(address, "is no URL");
  if (!isIpAddress(host)) return [];
  return [finding("ExternalControlPlaneByAddress", configuration, fieldAt(client, "url"), { webhook: name, address })];
}

/** Ports out of range and blanks make an address unusable; undefined for those. */
function hostOf(address: string): string | undefined {
  if (/\s/.test(address) || !URL.canParse(address)) return undefined;
  return new URL(address).hostname.replace(/^\[|\]$/g, "");
}
