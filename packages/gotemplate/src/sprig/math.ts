/** Numbers: integers unless a function's name says otherwise. */
import { fail, type TemplateFunctions } from "../builtins.ts";
import { integer, number } from "./arguments.ts";

const sum = (values: readonly unknown[]): number => values.reduce<number>((total, value) => total + integer(value), 0);
const divisor = (value: unknown): number => integer(value) || fail("integer divide by zero");
const rounded = (change: (value: number) => number) => (value: unknown, digits: unknown) => {
  const scale = 10 ** integer(digits);
  return change(number(value) * scale) / scale;
};

export const mathFunctions: TemplateFunctions = {
  int: integer,
  int64: integer,
  float64: number,
  atoi: integer,
  toDecimal: (value) => Number.parseInt(String(value), 8) || 0,
  add: (...values) => sum(values),
  add1: (value) => integer(value) + 1,
  sub: (a, b) => integer(a) - integer(b),
  mul: (...values) => values.reduce<number>((product, value) => product * integer(value), 1),
  div: (a, b) => Math.trunc(integer(a) / divisor(b)),
  mod: (a, b) => integer(a) % divisor(b),
  max: (...values) => Math.max(...values.map(integer)),
  min: (...values) => Math.min(...values.map(integer)),
  floor: (value) => Math.floor(number(value)),
  ceil: (value) => Math.ceil(number(value)),
  round: rounded(Math.round),
};
