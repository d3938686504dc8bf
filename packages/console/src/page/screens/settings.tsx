/** The settings that each replica runs with, and its log levels, which can be changed while it runs. */
import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { LogLevel, ServiceSettings } from "../../contract/index.ts";
import { Table } from "../parts/list.tsx";
import { Answered, Empty, useAnswer } from "../parts/reading.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { answers, fetchJson, mayWrite, router } from "../state/browser.ts";
import { callEndpoint } from "../state/requests.ts";

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

/** `/settings`; `replica` chooses one. */
export function SettingsScreen(): VNode {
  const shown = useAnswer("GET /api/v1/settings", { topics: ["services"] });
  return (
    <>
      <h1>Settings</h1>
      <Answered shown={shown} what="settings">
        {({ services }) => {
          const chosen =
            services.find(({ replica }) => replica === router.place.value.query.get("replica")) ?? services[0];
          if (chosen === undefined) return <Empty>No service shows its settings.</Empty>;
          return (
            <>
              <nav class="choices" aria-label="Replicas">
                {services.map(({ replica, service }) => (
                  <a
                    key={`${service} ${replica}`}
                    href={router.withQuery({ replica })}
                    aria-current={replica === chosen.replica ? "true" : undefined}
                  >
                    {replica}
                  </a>
                ))}
              </nav>
              <Replica key={chosen.replica} of={chosen} />
            </>
          );
        }}
      </Answered>
    </>
  );
}

function Replica({ of }: { readonly of: ServiceSettings }): VNode {
  const { service, version, settings } = of;
  const words = (router.place.value.query.get("q") ?? "").toLowerCase();
  const shown = settings.filter(({ name, value }) => `${name} ${value}`.toLowerCase().includes(words));
  return (
    <>
      <p class="muted">
        {service} {version}
      </p>
      <Levels of={of} />
      <search class="toolbar spaced">
        <SearchField label="Search settings" />
      </search>
      <Table
        caption="Settings"
        rows={shown}
        keyOf={({ name }) => name}
        empty="No setting matches the search."
        columns={[
          { title: "Setting", cell: ({ name }) => <code>{name}</code> },
          { title: "Value", kind: "wide", cell: ({ value }) => <code>{value}</code> },
          { title: "Set", cell: ({ isDefault }) => (isDefault ? <span class="muted">default</span> : "set") },
        ]}
      />
    </>
  );
}

function Levels({ of: { service, replica, levels: present } }: { readonly of: ServiceSettings }): VNode {
  const [outcome, setOutcome] = useState("");
  const change = async (scope: string, level: LogLevel): Promise<void> => {
    const answer = await callEndpoint(fetchJson, "PUT /api/v1/settings/{service}/{replica}/levels", {
      names: { service, replica },
      body: { scope, level },
    });
    setOutcome(answer.ok ? `${scope} logs ${level} until ${replica} ends.` : answer.problem.message);
    answers.invalidate(undefined);
  };
  return (
    <section class="panel" aria-label="Log levels">
      <header>
        <h2>Log levels</h2>
      </header>
      <div class="levels">
        {present.map(({ scope, level }) => (
          <label key={scope} class="facet">
            <span>{scope}</span>
            <select
              aria-label={`Level of ${scope}`}
              value={level}
              disabled={!mayWrite.value}
              onChange={({ currentTarget }) => void change(scope, currentTarget.value as LogLevel)}
            >
              {levels.map((one) => (
                <option key={one} value={one}>
                  {one}
                </option>
              ))}
            </select>
          </label>
        ))}
      </div>
      <p role="status" class="muted">
        {outcome}
      </p>
    </section>
  );
}
