/** WasmPlugins: the source of the module, and the environment of its VM. */
import type { Problem } from "../problem.ts";
import { type Field, field, items, numberOf, refuseIf, repeated, textOf } from "./shared/field.ts";
import { quoted } from "./shared/names.ts";
import { targetProblems } from "./shared/selectors.ts";

export function validateWasmPlugin(spec: Field): readonly Problem[] {
  return [...targetProblems(spec), ...moduleProblems(spec), ...trafficMatchProblems(spec)];
}

const maxNameLength = 256;
const maxSecretLength = 253;

/** The module of a plugin and of a TrafficExtension's `wasm`. */
export function moduleProblems(module: Field): readonly Problem[] {
  const digest = field(module, "sha256");
  const secret = field(module, "imagePullSecret");
  const name = field(module, "pluginName");
  const isDigest = textOf(digest) === "" || (textOf(digest).length === 64 && !/[^0-9a-f]/.test(textOf(digest)));
  const tooLong = (bound: number) => `has at most ${bound} characters`;
  return [
    ...urlProblems(field(module, "url")),
    ...refuseIf(!isDigest, digest, `${quoted(textOf(digest))} is no SHA-256 digest of 64 digits 0-9a-f`),
    ...refuseIf(textOf(secret).length > maxSecretLength, secret, tooLong(maxSecretLength)),
    ...refuseIf(textOf(name).length > maxNameLength, name, tooLong(maxNameLength)),
    ...environmentProblems(field(module, "vmConfig")),
  ];
}

const schemes = ["file", "http", "https", "oci"];

/** Without a scheme it is an image, as `oci://` has them. */
function urlProblems(url: Field): readonly Problem[] {
  const text = textOf(url);
  if (text === "") return refuseIf(true, url, "must not be empty");
  const [, scheme] = /^([A-Za-z][A-Za-z0-9+.-]*):\/\//.exec(text) ?? [];
  if (scheme !== undefined && !schemes.includes(scheme.toLowerCase()))
    return refuseIf(true, url, `scheme ${scheme} is none of ${schemes.join(", ")}`);
  return refuseIf(!URL.canParse(scheme === undefined ? `oci://${text}` : text), url, `${quoted(text)} is no URL`);
}

function environmentProblems(machine: Field): readonly Problem[] {
  const variables = items(machine, "env");
  const names = variables.map((variable) => field(variable, "name"));
  return [
    ...names.flatMap((name) => [
      ...refuseIf(textOf(name) === "", name, "must not be empty"),
      ...refuseIf(textOf(name).length > maxNameLength, name, `has at most ${maxNameLength} characters`),
    ]),
    ...repeated(names, textOf).flatMap((name) => refuseIf(textOf(name) !== "", name, "is set twice")),
    ...variables.flatMap((variable) => {
      const value = field(variable, "value");
      const isFromHost = textOf(field(variable, "valueFrom")) === "HOST";
      return refuseIf(isFromHost && textOf(value) !== "", value, "must not be set where the value is the host's");
    }),
  ];
}

/** Traffic that passes a plugin. */
export function trafficMatchProblems(spec: Field): readonly Problem[] {
  const ports = items(spec, "match").flatMap((match) => items(match, "ports"));
  return ports
    .map((port) => field(port, "number"))
    .flatMap((number) =>
      refuseIf(
        numberOf(number) < 1 || numberOf(number) > 65_535,
        number,
        `${numberOf(number)} is no port number between 1 and 65535`,
      ),
    );
}
