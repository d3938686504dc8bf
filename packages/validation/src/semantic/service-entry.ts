/** What the schema of a ServiceEntry cannot express: lengths of hosts; a host name among fixed addresses costs all endpoints. */
import { isObject } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { each, hostListProblems, refuse } from "./checks.ts";

export function validateServiceEntry({ spec }: JsonObject): readonly Problem[] {
  if (!isObject(spec)) return [];
  return [...hostListProblems(spec, "hosts", "spec"), ...addressProblems(spec)];
}

function addressProblems(spec: JsonObject): readonly Problem[] {
  if (spec["resolution"] !== "STATIC") return [];
  return each(spec, "endpoints", "spec").flatMap(([{ address }, path]) => {
    // One without an address stands for its network.
    if (typeof address !== "string" || address === "" || isFixed(address)) return [];
    return [refuse(`${path}.address`, `${JSON.stringify(address)} is no IP address, which resolution STATIC asks for`)];
  });
}

/** Of IPv6 only the characters are looked at: it has too many spellings to be wrong in one that a host name has. */
function isFixed(address: string): boolean {
  if (address.startsWith("unix://") || address.includes(":")) return true;
  const parts = address.split(".");
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}
