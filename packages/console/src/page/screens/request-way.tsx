/** What a request would meet, hop by hop: its end first, then each proxy with what decides there. */
import type { VNode } from "preact";
import type {
  PathDestination,
  PathEnd,
  PathEndpoint,
  PathHop,
  ProxyWay,
  RequestPathQuery,
} from "../../contract/index.ts";
import { counted, formatCount } from "../format/quantities.ts";
import { Table } from "../parts/list.tsx";
import { Answered, Empty, useAnswer } from "../parts/reading.tsx";
import { ObjectLink, ProxyLink, type Tone } from "../parts/text.tsx";
import { askedWay, type Outcome, outcomesOf } from "../state/asked-request.ts";
import { router } from "../state/browser.ts";
import { proxyPath } from "../state/places.ts";
import { formatAddress } from "../state/router.ts";
import { RequestForm } from "./request-form.tsx";

/** `/topology/-/request`: no namespace is named so. */
export function RequestWayScreen(): VNode {
  const asked = askedWay(router.place.value);
  return (
    <>
      <nav class="trail" aria-label="Place">
        <a href="/topology">Topology</a>
      </nav>
      <h1>What a request would meet</h1>
      <RequestForm />
      {asked === undefined ? (
        <Empty>
          Name a proxy and a host. Nothing is sent: the configuration of the proxies on the way is evaluated.
        </Empty>
      ) : (
        <Way asked={asked} />
      )}
    </>
  );
}

function Way({ asked }: { readonly asked: RequestPathQuery }): VNode {
  const shown = useAnswer("GET /api/v1/topology/path", { query: asked, topics: ["generation", "fleet"] });
  return (
    <Answered shown={shown} what="the way">
      {({ way, address }) => (
        <>
          <ul class="outcomes" aria-label="Outcome">
            {outcomesOf(way).map((outcome, at) => (
              <OutcomeLine key={at} outcome={outcome} />
            ))}
          </ul>
          {address !== undefined && (
            <p class="muted">
              {asked.host} is {address} for {asked.from}.
            </p>
          )}
          <ProxySection way={way} title="Leaves" />
        </>
      )}
    </Answered>
  );
}

const endWords: Readonly<Record<PathEnd["kind"], readonly [word: string, tone: Tone]>> = {
  forwarded: ["delivered", "good"],
  answered: ["answered", "accent"],
  refused: ["refused", "bad"],
  closed: ["closed", "bad"],
};

function OutcomeLine({ outcome }: { readonly outcome: Outcome }): VNode {
  const { share, proxy, end, unless, unseen } = outcome;
  const [word, tone] = unseen === undefined ? endWords[end.kind] : (["sent on", "plain"] as const);
  return (
    <li class={`outcome ${tone}`}>
      <span class={`tag ${tone}`}>{word}</span>
      {share < 100 && <b>{share} %</b>}
      <span class="words">
        {end.reason} <span class="muted">{unseen ?? `Decided at ${proxy}.`}</span>
        {unless.length > 0 && <span class="unless"> Unless decided otherwise by {unless.join(", ")}.</span>}
      </span>
    </li>
  );
}

function ProxySection({ way, title }: { readonly way: ProxyWay; readonly title: string }): VNode {
  const { proxy, type, hops, destinations } = way;
  return (
    <section class="way" aria-label={`${title} ${proxy}`}>
      <h2>
        {title} <ProxyLink proxy={proxy} /> <small class="muted">{type}</small>
      </h2>
      <Hops hops={hops} proxy={proxy} />
      {destinations.map((destination) => (
        <Destination key={destination.cluster} destination={destination} proxy={proxy} />
      ))}
    </section>
  );
}

function Hops({ hops, proxy }: { readonly hops: readonly PathHop[]; readonly proxy: string }): VNode {
  return (
    <ol class="hops">
      {hops.map((hop) => (
        <li key={`${hop.kind} ${hop.name}`} class={hop.verdict}>
          <HopLine hop={hop} proxy={proxy} />
        </li>
      ))}
    </ol>
  );
}

function HopLine({ hop, proxy }: { readonly hop: PathHop; readonly proxy: string }): VNode {
  const { kind, name, verdict, facts, resource, objects } = hop;
  return (
    <>
      <div class="hop">
        <span class="muted kind">{kind}</span>
        {resource === undefined ? <b class="name">{name}</b> : <ResourceLink {...{ proxy, name, resource }} />}
        {verdict === "stops" && <span class="tag bad">stops here</span>}
        {verdict === "unknown" && <span class="tag warn">not decided</span>}
      </div>
      {facts.length > 0 && (
        <ul class="facts">
          {facts.map((fact) => (
            <li key={fact} class="words">
              {fact}
            </li>
          ))}
        </ul>
      )}
      {objects.length > 0 && (
        <div class="made">
          <span class="muted">By</span>
          {objects.map((object) => (
            <ObjectLink key={object} object={object} />
          ))}
        </div>
      )}
    </>
  );
}

interface ResourceLinkProps {
  readonly proxy: string;
  readonly name: string;
  readonly resource: NonNullable<PathHop["resource"]>;
}

/** To the resource as the proxy has it, with why it is so. */
function ResourceLink({ proxy, name, resource: { type, name: shown } }: ResourceLinkProps): VNode {
  const query = new Map([
    ["type", type],
    ["show", shown],
  ]);
  return (
    <a class="name" href={formatAddress(proxyPath(proxy), query)} title={`${type} ${shown}`}>
      {name}
    </a>
  );
}

function Destination({ destination, proxy }: { readonly destination: PathDestination; readonly proxy: string }): VNode {
  const { cluster, share, hops, end, endpoints, endpointCount, receiver, unseen } = destination;
  const [word, tone] = endWords[end.kind];
  return (
    <section class="destination" aria-label={`${share} % to ${cluster}`}>
      <h3>
        <b>{share} %</b> <span class="name">{cluster}</span>
        {end.kind !== "forwarded" && <span class={`tag ${tone}`}>{word}</span>}
      </h3>
      <Hops hops={hops} proxy={proxy} />
      {endpoints.length > 0 && <Endpoints endpoints={endpoints} count={endpointCount} />}
      {unseen !== undefined && <p class="muted words">{unseen}</p>}
      {receiver !== undefined && <ProxySection way={receiver} title="Arrives at" />}
    </section>
  );
}

function Endpoints({
  endpoints,
  count,
}: {
  readonly endpoints: readonly PathEndpoint[];
  readonly count: number;
}): VNode {
  return (
    <>
      <Table
        caption="Endpoints"
        rows={endpoints}
        keyOf={({ address, priority }) => `${address} ${priority}`}
        columns={[
          { title: "Endpoint", cell: ({ address }) => <code>{address}</code> },
          {
            title: "Health",
            cell: ({ isHealthy }) => (
              <span class={isHealthy ? "tag good" : "tag bad"}>{isHealthy ? "healthy" : "unhealthy"}</span>
            ),
          },
          { title: "By", cell: ({ transport }) => transport },
          { title: "Priority", kind: "number", cell: ({ priority }) => formatCount(priority) },
          { title: "Weight", kind: "minor", cell: ({ weight }) => formatCount(weight) },
          { title: "Locality", kind: "minor", cell: ({ locality }) => locality },
          { title: "Workload", kind: "minor", cell: ({ workload }) => workload.split(";").join(" in ") },
        ]}
      />
      {count > endpoints.length && <p class="muted">{counted(count - endpoints.length, "more endpoint")}</p>}
    </>
  );
}
