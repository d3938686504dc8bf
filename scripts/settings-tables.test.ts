/** docs/settings.md is what can be written: each default is shown in a form that the setting takes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describeSettings, parseSettings } from "@flotilla/runtime";
import { settingsTables } from "./settings-tables.ts";

describe("settings", () => {
  for (const [service, table] of Object.entries(settingsTables))
    it(`of ${service} take the defaults that their page shows`, () => {
      const rows = describeSettings(table).filter(({ default: shown }) => shown !== "" && shown !== "(hidden)");
      const env = Object.fromEntries(rows.map((row) => [row.env, row.default]));
      assert.deepEqual(parseSettings(table, env), parseSettings(table, {}));
    });
});
