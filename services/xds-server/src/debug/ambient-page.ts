/** All resources sent to ztunnels, under istiod's names and in its JSON. */
import { addressText, parseNode } from "@flotilla/model";
import { bytesToJson, isJsonObject, type JsonObject, type JsonValue, type TypeUrl, typeUrl } from "@flotilla/proto";
import type { Core } from "../app/core.ts";
import type { DebugPage } from "./page.ts";

/** The view of ztunnels is that of the mesh: any of them stands for all. */
const ztunnel = parseNode({
  id: "ztunnel~0.0.0.0~ztunnel.istio-system~istio-system.svc.cluster.local",
  metadata: {},
});

export function ambientPage(core: Pick<Core, "resources" | "subjectOf">): DebugPage {
  const all = (type: TypeUrl): readonly JsonObject[] => {
    const resources = core.resources(core.subjectOf(ztunnel), type)?.byName.values() ?? [];
    return [...resources].map(({ bytes }) => readable(bytesToJson(type, bytes)) as JsonObject);
  };
  return {
    path: "ambientz",
    help: "workloads, services and policies as ztunnels are sent them",
    scope: "mesh",
    answer: () => {
      const addresses = all(typeUrl.address);
      return {
        json: {
          workloads: addresses.flatMap(({ workload }) => workload ?? []),
          services: addresses.flatMap(({ service }) => service ?? []),
          policies: all(typeUrl.authorization),
        },
      };
    },
  };
}

/** Addresses travel as bytes, which JSON has in base64: like istiod's page, this one has the base64 of their text. */
function readable(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(readable);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([name, field]): [string, JsonValue] => {
    if (name === "address" && typeof field === "string") return [name, addressOf(field)];
    if (name === "addresses" && Array.isArray(field))
      return [name, field.map((one) => (typeof one === "string" ? addressOf(one) : readable(one)))];
    return [name, readable(field)];
  });
  return Object.fromEntries(entries);
}

function addressOf(base64: string): string {
  const bytes = Buffer.from(base64, "base64");
  if (bytes.length !== 4 && bytes.length !== 16) return base64;
  const text = addressText(BigInt(`0x${bytes.toString("hex")}`), bytes.length === 4 ? 4 : 6);
  return Buffer.from(text).toString("base64");
}
