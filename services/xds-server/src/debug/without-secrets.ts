/** JSON of Envoy configuration in which nothing secret can be read. */
import type { JsonValue } from "@flotilla/proto";

/** Fields of Envoy's API that hold, or lead directly to, something secret. */
const secretFields = new Set([
  "privateKey",
  "privateKeyProvider",
  "password",
  "sessionTicketKeys",
  "genericSecret",
  "hmacSecret",
  "tokenSecret",
]);
const hidden = "[redacted]";

export function withoutSecrets(json: JsonValue): JsonValue {
  if (Array.isArray(json)) return json.map(withoutSecrets);
  if (typeof json !== "object" || json === null) return json;
  return Object.fromEntries(
    Object.entries(json).map(([name, value]) => [
      name,
      secretFields.has(name) ? redacted(value) : withoutSecrets(value),
    ]),
  );
}

/** Fields beside a secret that say where it comes from or how it is used. */
const openFields = new Set([
  ...["@type", "filename", "environmentVariable", "name", "sdsConfig"],
  ...["providerName", "pollDelay", "fallback"],
]);

/** The shape stays, so that tools can still read it. */
function redacted(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== "object" || value === null) return hidden;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (openFields.has(name)) return [name, inner];
      // The JSON form of bytes is base64.
      if (name === "inlineBytes") return [name, Buffer.from(hidden).toString("base64")];
      return [name, redacted(inner)];
    }),
  );
}
