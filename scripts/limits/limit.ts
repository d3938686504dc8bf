/** A resource that a client can take, with where its bound stands and the tests that reach it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describeSettings } from "@flotilla/runtime";
import { settingsTables } from "../settings-tables.ts";

export type Bound =
  | { readonly service: string; readonly setting: string }
  /** A constant of the file, by its name. */
  | { readonly file: string; readonly constant: string; readonly unit: string };

export interface Limit {
  readonly resource: string;
  readonly bounds: readonly Bound[];
  /** Effect of reaching the bound. */
  readonly effect: string;
  readonly tests: readonly (readonly [file: string, title: string])[];
}

const root = join(import.meta.dirname, "../..");

export const inFile = (file: string, constant: string, unit: string): Bound => ({ file, constant, unit });

/** The bound as it is now. @throws Error when there is no such setting or constant */
export function boundText(bound: Bound): string {
  if ("setting" in bound) {
    const row = describeSettings(settingsTables[bound.service] ?? {}).find(({ env }) => env === bound.setting);
    if (row === undefined) throw new Error(`${bound.service} has no setting ${bound.setting}`);
    return `${bound.setting}: ${row.default}`;
  }
  return `${formatted(constantOf(bound.file, bound.constant))} ${bound.unit} (\`${bound.file}\`)`;
}

/** A product of whole numbers, as constants are written. */
function constantOf(from: string, name: string): number {
  const text = readFileSync(join(root, from), "utf8");
  const found = text.split("\n").find((line) => line.includes(`const ${name} = `));
  const product = found?.split(" = ")[1]?.replace(";", "").split(" * ");
  const value = product?.reduce((all, factor) => all * Number(factor.replaceAll("_", "")), 1);
  if (value === undefined || !Number.isFinite(value)) throw new Error(`${from} has no number ${name}`);
  return value;
}

function formatted(value: number): string {
  return value.toLocaleString("en-US");
}
