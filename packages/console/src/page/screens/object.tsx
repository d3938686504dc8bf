/** One object: what it is, how far it has come, what changed in it, what was made from it, and an editor where the API owns it. */
import type { VNode } from "preact";
import type { Finding, ObjectDetail } from "../../contract/index.ts";
import { formatCount } from "../format/quantities.ts";
import { Table } from "../parts/list.tsx";
import { Answered, useAnswer } from "../parts/reading.tsx";
import { chosenTab, type Tab, Tabs } from "../parts/tabs.tsx";
import { Ago, Arrived, Panel, ProxyLink, State } from "../parts/text.tsx";
import { mayWrite } from "../state/browser.ts";
import type { ScreenProps } from "../state/places.ts";
import { ObjectEditor } from "./object-editor.tsx";
import { ObjectHistory, ObjectResources } from "./object-lists.tsx";

const allTabs: readonly Tab[] = [
  { id: "status", title: "Status" },
  { id: "history", title: "History" },
  { id: "resources", title: "Resources" },
  { id: "edit", title: "Edit" },
];

/** `/objects/:kind/:namespace/:name` */
export function ObjectScreen({ names }: ScreenProps): VNode {
  const [kind = "", namespace = "", name = ""] = ["kind", "namespace", "name"].map((part) => names.get(part));
  const path = { kind, namespace, name };
  const shown = useAnswer("GET /api/v1/objects/{kind}/{namespace}/{name}", {
    names: path,
    topics: ["generation", "objects", "rejections", "fleet"],
  });
  const isEditable = mayWrite.value && shown.value?.isEditable === true;
  const tabs = allTabs.filter(({ id }) => id !== "edit" || isEditable);
  return (
    <>
      <nav class="trail" aria-label="Place">
        <a href="/objects">Objects</a> / <a href={`/objects?kind=${encodeURIComponent(kind)}`}>{kind}</a>
      </nav>
      <h1>{namespace === "-" ? name : `${namespace}/${name}`}</h1>
      <Answered shown={shown} what="the object">
        {(detail) => (
          <>
            <Summary detail={detail} />
            <Tabs tabs={tabs} label="Views of the object" />
            {chosenTab(tabs) === "status" && <Status detail={detail} />}
            {chosenTab(tabs) === "history" && <ObjectHistory names={path} />}
            {chosenTab(tabs) === "resources" && <ObjectResources names={path} />}
            {chosenTab(tabs) === "edit" && <ObjectEditor start={detail.manifest ?? ""} names={path} />}
          </>
        )}
      </Answered>
    </>
  );
}

function Summary({ detail }: { readonly detail: ObjectDetail }): VNode {
  const { state, source, generation, by, live, concerned, isPrecise } = detail;
  return (
    <div class="summary">
      <State state={state} />
      <Arrived live={live} concerned={concerned} />
      {!isPrecise && <span>all proxies are counted: not every replica has recorded the proxies that it concerns</span>}
      <span>from {source}</span>
      {generation !== undefined && <span>generation {formatCount(generation)}</span>}
      {by !== undefined && by !== source && <span>by {by}</span>}
    </div>
  );
}

function Status({ detail }: { readonly detail: ObjectDetail }): VNode {
  const { problems, warnings, conditions, behind, rejections, manifest, withheld } = detail;
  return (
    <>
      <Findings title="Problems" tone="bad" findings={problems} />
      <Findings title="Warnings" tone="warn" findings={warnings} />
      {rejections.length > 0 && (
        <Panel title="Rejected by">
          <Table
            caption="Proxies that reject it"
            rows={rejections}
            keyOf={({ proxy, at }) => `${proxy} ${at}`}
            columns={[
              { title: "Proxy", cell: ({ proxy }) => <ProxyLink proxy={proxy} /> },
              { title: "Envoy's words", kind: "wide", cell: ({ message }) => <span class="words">{message}</span> },
              { title: "When", kind: "number", cell: ({ at }) => <Ago at={at} /> },
            ]}
          />
        </Panel>
      )}
      {behind.length > 0 && (
        <Panel title="Have yet to answer">
          <p class="objects">
            {behind.map((proxy) => (
              <ProxyLink key={proxy} proxy={proxy} />
            ))}
          </p>
        </Panel>
      )}
      {conditions.length > 0 && (
        <Panel title="Conditions">
          <Table
            caption="Conditions"
            rows={conditions}
            keyOf={({ type }) => type}
            columns={[
              { title: "Type", cell: ({ type }) => type },
              { title: "Status", cell: ({ status }) => <State state={status} /> },
              { title: "Reason", kind: "minor", cell: ({ reason }) => reason },
              { title: "Message", kind: "wide", cell: ({ message }) => message },
            ]}
          />
        </Panel>
      )}
      <Panel title="Manifest">
        {withheld !== undefined && <p class="muted">{withheld}</p>}
        {manifest !== undefined && (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text is scrolled by keys
          <pre class="content" tabIndex={0}>
            {manifest}
          </pre>
        )}
        {manifest === undefined && withheld === undefined && <p class="muted">None is in force.</p>}
      </Panel>
    </>
  );
}

interface FindingsProps {
  readonly title: string;
  readonly tone: "bad" | "warn";
  readonly findings: readonly Finding[];
}

function Findings({ title, tone, findings }: FindingsProps): VNode | null {
  if (findings.length === 0) return null;
  return (
    <div class={`notice ${tone}`}>
      <strong>{title}</strong>
      <span>
        {findings.map(({ field, reason }) => (
          <span key={`${field} ${reason}`} class="line">
            {field !== "" && <code>{field}</code>} {reason}
          </span>
        ))}
      </span>
    </div>
  );
}
