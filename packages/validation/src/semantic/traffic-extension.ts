/** TrafficExtensions: a Wasm module or a Lua script in the path of requests. */
import type { Problem } from "../problem.ts";
import { type Field, field, isSet, refuseIf, textOf } from "./shared/field.ts";
import { targetProblems } from "./shared/selectors.ts";
import { moduleProblems, trafficMatchProblems } from "./wasm-plugin.ts";

const maxScriptBytes = 65_536;

export function validateTrafficExtension(spec: Field): readonly Problem[] {
  const wasm = field(spec, "wasm");
  const lua = field(spec, "lua");
  return [
    ...refuseIf(isSet(wasm) === isSet(lua), spec, "needs either wasm or lua"),
    ...targetProblems(spec),
    ...(isSet(wasm) ? moduleProblems(wasm) : []),
    ...(isSet(lua) ? scriptProblems(field(lua, "inlineCode")) : []),
    ...trafficMatchProblems(spec),
  ];
}

function scriptProblems(script: Field): readonly Problem[] {
  const bytes = new TextEncoder().encode(textOf(script)).length;
  return [
    ...refuseIf(bytes === 0, script, "must not be empty"),
    ...refuseIf(bytes > maxScriptBytes, script, `has ${bytes} bytes, ${maxScriptBytes} are allowed`),
  ];
}
