/** One proxy: its resources and why they are what they are, what it acknowledged, and how it differs from another or from before. */
import type { VNode } from "preact";
import type { ProxyDetail } from "../../contract/index.ts";
import { formatCount } from "../format/quantities.ts";
import { Pager, Table } from "../parts/list.tsx";
import { Answered, useAnswer } from "../parts/reading.tsx";
import { SearchField } from "../parts/search-field.tsx";
import { chosenTab, type Tab, Tabs } from "../parts/tabs.tsx";
import { Ago, State } from "../parts/text.tsx";
import { answers, router } from "../state/browser.ts";
import { listRequest } from "../state/list-state.ts";
import { type ScreenProps, wayPath } from "../state/places.ts";
import { requestPath } from "../state/requests.ts";
import { ProxyCompare } from "./proxy-compare.tsx";
import { ProxyResources } from "./proxy-resources.tsx";
import { RejectionList } from "./rejection-list.tsx";

const allTabs: readonly Tab[] = [
  { id: "resources", title: "Resources" },
  { id: "receipts", title: "Receipts" },
  { id: "compare", title: "Compare" },
  { id: "facts", title: "Facts" },
  { id: "stats", title: "Envoy's stats" },
];

/** `/proxies/:proxy` */
export function ProxyScreen({ names }: ScreenProps): VNode {
  const proxy = names.get("proxy") ?? "";
  const shown = useAnswer("GET /api/v1/proxies/{proxy}", {
    names: { proxy },
    topics: ["fleet", "generation", "services"],
  });
  const tabs = allTabs.filter(({ id }) => id !== "stats" || shown.value?.hasStats === true);
  return (
    <>
      <nav class="trail" aria-label="Place">
        <a href="/proxies">Proxies</a>
      </nav>
      <h1>{proxy}</h1>
      <Answered shown={shown} what="the proxy">
        {(detail) => (
          <>
            <Summary detail={detail} />
            <RejectionList groups={detail.rejections} />
            <Tabs tabs={tabs} label="Views of the proxy" />
            <TabContent detail={detail} tab={chosenTab(tabs)} />
          </>
        )}
      </Answered>
    </>
  );
}

function Summary({ detail }: { readonly detail: ProxyDetail }): VNode {
  const { proxy, state, type, version, replica, peer, connectedAt, cluster, locality } = detail;
  return (
    <div class="summary">
      <State state={state} />
      <span>{type}</span>
      <span>version {version}</span>
      {cluster !== "" && <span>cluster {cluster}</span>}
      {locality !== "" && <span>{locality}</span>}
      <span>
        <code>{peer}</code> at {replica}
      </span>
      <span>
        connected <Ago at={connectedAt} />
      </span>
      <a class="button" href={wayPath({ from: proxy })}>
        What a request would meet
      </a>
      <a
        class="button"
        download={`${proxy}.json`}
        href={requestPath("GET /api/v1/proxies/{proxy}/config-dump", { proxy })}
      >
        Config dump
      </a>
    </div>
  );
}

function TabContent({ detail, tab }: { readonly detail: ProxyDetail; readonly tab: string }): VNode {
  switch (tab) {
    case "receipts":
      return <Receipts detail={detail} />;
    case "compare":
      return <ProxyCompare proxy={detail.proxy} types={detail.resources.map(({ type }) => type)} />;
    case "facts":
      return <Facts detail={detail} />;
    case "stats":
      return <Stats proxy={detail.proxy} />;
    default:
      return <ProxyResources proxy={detail.proxy} types={detail.resources} />;
  }
}

function Receipts({ detail: { types } }: { readonly detail: ProxyDetail }): VNode {
  const count = (generation: number | undefined): string => (generation === undefined ? "" : formatCount(generation));
  return (
    <Table
      caption="The last message of each type and its answer"
      rows={Object.entries(types).map(([type, state]) => ({ type, ...state }))}
      keyOf={({ type }) => type}
      empty="The proxy has subscribed to nothing yet."
      columns={[
        { title: "Type", cell: ({ type }) => type },
        { title: "State", cell: ({ state }) => <State state={state} /> },
        { title: "Sent generation", kind: "number", cell: ({ sentGeneration }) => count(sentGeneration) },
        { title: "Acknowledged generation", kind: "number", cell: ({ ackedGeneration }) => count(ackedGeneration) },
        { title: "Sent", kind: "number", cell: ({ sentAt }) => <Ago at={sentAt} /> },
        { title: "Version", kind: "minor", cell: ({ version }) => <code>{version}</code> },
        { title: "Envoy's words", kind: "wide", cell: ({ error }) => <span class="words">{error}</span> },
      ]}
    />
  );
}

function Facts({ detail: { labels, metadata } }: { readonly detail: ProxyDetail }): VNode {
  const rows = (facts: Readonly<Record<string, string>>) =>
    Object.entries(facts).map(([name, value]) => ({ name, value }));
  const columns = [
    { title: "Name", cell: ({ name }: { readonly name: string }) => <code>{name}</code> },
    { title: "Value", kind: "wide" as const, cell: ({ value }: { readonly value: string }) => <code>{value}</code> },
  ];
  return (
    <>
      <h2>Labels</h2>
      <Table caption="Labels" rows={rows(labels)} keyOf={({ name }) => name} columns={columns} empty="No labels." />
      <h2>Node metadata</h2>
      <Table
        caption="Metadata"
        rows={rows(metadata)}
        keyOf={({ name }) => name}
        columns={columns}
        empty="No metadata."
      />
    </>
  );
}

/** Envoy refreshes gauges such as its uptime at this interval. */
const statsEveryMs = 5_000;

/** Read while the tab is open; no event announces them. */
function Stats({ proxy }: { readonly proxy: string }): VNode {
  const query = listRequest(router.place.value, "name");
  const reading = { names: { proxy }, query, topics: [], everyMs: statsEveryMs };
  const shown = useAnswer("GET /api/v1/proxies/{proxy}/stats", reading);
  return (
    <>
      <search class="toolbar">
        <SearchField label="Search statistics" />
        <button type="button" onClick={() => answers.invalidate(undefined)}>
          Read again
        </button>
      </search>
      <Answered shown={shown} what="Envoy's statistics">
        {(page) => (
          <>
            <Table
              caption="Statistics of the proxy's Envoy"
              rows={page.rows}
              keyOf={({ name }) => name}
              sort={query.sort}
              empty="No statistic matches the search."
              columns={[
                { title: "Statistic", sort: "name", kind: "wide", cell: ({ name }) => <code>{name}</code> },
                { title: "Value", sort: "value", kind: "number", cell: ({ value }) => formatCount(value) },
              ]}
            />
            <Pager page={page} what="statistics" one="statistic" />
          </>
        )}
      </Answered>
    </>
  );
}
