/**
 * Settings of a service: one table, from which both the configuration and its documentation come.
 *
 *   const config = parseSettings({ healthPort: port({ env: "HEALTH_PORT", default: 15024, sentence: "…" }) }, env);
 */

import { closest, distance } from "fastest-levenshtein";
import { RuntimeError } from "../errors.ts";
import knownSettings from "./known-settings.json" with { type: "json" };

/** One setting: its environment variable, default, bounds and sentence, and how its text is parsed. */
export interface Setting<T> {
  readonly env: string;
  /** Another name of it: istiod's. */
  readonly alias?: string;
  readonly default: T;
  readonly sentence: string;
  /** The allowed values, for the documentation. */
  readonly bounds: string;
  /** Its value never stands in a message. */
  readonly secret?: boolean;
  /** @throws Error with the reason, without the value. */
  parse(text: string): T;
  /** A value as `parse` takes it and a person writes it; as text unless given. */
  show?(value: T): string;
}

/** Options of a kind of setting. */
export interface SettingOptions<T> {
  readonly env: string;
  readonly alias?: string;
  readonly default: T;
  readonly sentence: string;
  readonly secret?: boolean;
}

/** Settings by the name of their field. */
export type SettingsTable = Readonly<Record<string, Setting<unknown>>>;
/** The values of a table of settings. */
export type SettingsOf<Table extends SettingsTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Setting<infer T> ? T : never;
};

/** An empty value counts as none. @throws RuntimeError SETTINGS_INVALID that lists all wrong ones. */
export function parseSettings<Table extends SettingsTable>(
  table: Table,
  env: Readonly<Record<string, string | undefined>>,
): SettingsOf<Table> {
  const problems: string[] = [];
  const values = Object.entries(table).map(([name, setting]): readonly [string, unknown] => {
    const given = givenAs(setting, env);
    const [first, second] = given;
    if (first === undefined) return [name, setting.default];
    const shown = setting.secret === true ? "(hidden)" : JSON.stringify(first.text);
    if (second !== undefined && second.text !== first.text) {
      const other = setting.secret === true ? "(hidden)" : JSON.stringify(second.text);
      problems.push(`${first.env}=${shown} and ${second.env}=${other} are names of one setting: set one of them`);
      return [name, undefined];
    }
    try {
      return [name, setting.parse(first.text)];
    } catch (error) {
      problems.push(`${first.env}=${shown}: ${(error as Error).message}`);
      return [name, undefined];
    }
  });
  if (problems.length > 0) throw new RuntimeError("SETTINGS_INVALID", problems.join("; "));
  return deepFreeze(Object.fromEntries(values)) as SettingsOf<Table>;
}

interface Given {
  readonly env: string;
  readonly text: string;
}

/** Under its name, its other name, both or none. */
function givenAs(
  { env: own, alias }: Setting<unknown>,
  env: Readonly<Record<string, string | undefined>>,
): readonly Given[] {
  return [own, alias].flatMap((name) => {
    // own key: one of our settings
    const text = name === undefined ? undefined : env[name];
    return name === undefined || text === undefined || text === "" ? [] : [{ env: name, text }];
  });
}

/** A row of docs/settings.md. */
export interface SettingRow {
  readonly env: string;
  readonly alias?: string;
  readonly default: string;
  readonly bounds: string;
  readonly sentence: string;
}

/** The rows of docs/settings.md. */
export function describeSettings(table: SettingsTable): readonly SettingRow[] {
  return Object.values(table).map((setting) => {
    const { env, alias, bounds, sentence } = setting;
    return { env, ...(alias !== undefined && { alias }), default: shownDefault(setting), bounds, sentence };
  });
}

function shownDefault(setting: Setting<unknown>): string {
  return shownValue(setting, setting.default);
}

function shownValue({ secret, show }: Setting<unknown>, value: unknown): string {
  if (value === undefined) return "";
  if (secret === true) return "(hidden)";
  if (show !== undefined) return show(value);
  const text = Array.isArray(value) ? value.join(",") : `${value}`;
  // Addresses of servers may have a password.
  return text.replaceAll(/\/\/[^/@,\s]*@/g, "//(hidden)@");
}

/** A setting in effect, as a person writes it; secrets are hidden. */
export interface ShownSetting {
  readonly name: string;
  readonly value: string;
  readonly isDefault: boolean;
}

/** The settings of a table with the values that `parseSettings` gave them. */
export function showSettings(table: SettingsTable, values: Readonly<Record<string, unknown>>): readonly ShownSetting[] {
  return Object.entries(table).map(([field, setting]) => {
    // own key: a field of the table
    const value = values[field];
    const isDefault = JSON.stringify(value) === JSON.stringify(setting.default);
    return { name: setting.env, value: shownValue(setting, value), isDefault };
  });
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

/** A variable that no service reads. */
export interface UnknownSetting {
  readonly name: string;
  /** The setting that was probably meant. */
  readonly nearest: string | undefined;
}

const istioSetting = /^(?:PILOT|ISTIO|ENABLE|CITADEL)_/;
/** Kubernetes names the Services of the namespace to every container. */
const serviceLink = /_(?:SERVICE_HOST|SERVICE_PORT|PORT)$|_SERVICE_PORT_|_PORT_\d+_(?:TCP|UDP|SCTP)/;

/**
 * Environment variables that are named like settings of Istio's control plane and are a setting of no service: mistyped, or
 * without an equivalent here. They would have no effect, silently. `known`: the settings of all services; one environment
 * is often given to several.
 */
export function unknownSettings(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[] = knownSettings,
): readonly UnknownSetting[] {
  return Object.keys(env)
    .filter((name) => istioSetting.test(name) && !serviceLink.test(name) && !known.includes(name))
    .map((name) => ({ name, nearest: nearestName(name, known) }));
}

/** The known name that was probably meant; none when more than a third of the name would have to change. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const nearest = closest(name, known);
  return distance(name, nearest) <= name.length / 3 ? nearest : undefined;
}
