/**
 * Settings of a service: one table, from which both the configuration and its documentation come.
 *
 *   const config = parseSettings({ healthPort: port({ env: "HEALTH_PORT", default: 15024, sentence: "…" }) }, env);
 */
import { RuntimeError } from "../errors.ts";

export interface Setting<T> {
  readonly env: string;
  readonly default: T;
  readonly sentence: string;
  /** What values are allowed, for the documentation. */
  readonly bounds: string;
  /** Its value never stands in a message. */
  readonly secret?: boolean;
  /** @throws Error with the reason, without the value. */
  parse(text: string): T;
  /** A value as `parse` takes it and a person writes it; as text unless given. */
  show?(value: T): string;
}

export interface SettingOptions<T> {
  readonly env: string;
  readonly default: T;
  readonly sentence: string;
  readonly secret?: boolean;
}

export type SettingsTable = Readonly<Record<string, Setting<unknown>>>;
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
    // own key: one of our settings
    const text = env[setting.env];
    if (text === undefined || text === "") return [name, setting.default];
    try {
      return [name, setting.parse(text)];
    } catch (error) {
      const shown = setting.secret === true ? "(hidden)" : JSON.stringify(text);
      problems.push(`${setting.env}=${shown}: ${(error as Error).message}`);
      return [name, undefined];
    }
  });
  if (problems.length > 0) throw new RuntimeError("SETTINGS_INVALID", problems.join("; "));
  return deepFreeze(Object.fromEntries(values)) as SettingsOf<Table>;
}

export interface SettingRow {
  readonly env: string;
  readonly default: string;
  readonly bounds: string;
  readonly sentence: string;
}

/** The rows of docs/settings.md. */
export function describeSettings(table: SettingsTable): readonly SettingRow[] {
  return Object.values(table).map((setting) => {
    const { env, bounds, sentence } = setting;
    return { env, default: shownDefault(setting), bounds, sentence };
  });
}

function shownDefault({ default: value, secret, show }: Setting<unknown>): string {
  if (value === undefined) return "";
  if (secret === true) return "(hidden)";
  if (show !== undefined) return show(value);
  return Array.isArray(value) ? value.join(",") : `${value}`;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}
