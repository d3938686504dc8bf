/** Whom the mesh trusts, how far the replacement of a root has come, and which certificates end soon. */
import type { VNode } from "preact";
import type { CertificateSummary, Certificates, Rotation } from "../../contract/index.ts";
import { counted, formatCount } from "../format/quantities.ts";
import { Chart } from "../parts/chart.tsx";
import { Table } from "../parts/list.tsx";
import { Answered, Empty, metricsEveryMs, useAnswer } from "../parts/reading.tsx";
import { Ago, Panel, State } from "../parts/text.tsx";

const soonDays = 30;

/** `/certificates` */
export function CertificatesScreen(): VNode {
  const shown = useAnswer("GET /api/v1/certificates", { topics: ["fleet", "services"], everyMs: metricsEveryMs });
  return (
    <>
      <h1>Certificates</h1>
      <Answered shown={shown} what="certificates">
        {(all) => (
          <div class="panels">
            <Authorities all={all} />
            {all.rotation !== undefined && <RotationPanel rotation={all.rotation} />}
            <Issued issued={all.issued} />
            <EndingSoon all={all} />
          </div>
        )}
      </Answered>
    </>
  );
}

function Authorities({ all: { trustDomains, signing, roots } }: { readonly all: Certificates }): VNode {
  const rows = [
    ...(signing === undefined ? [] : [{ ...signing, role: `signs (${signing.origin})` }]),
    ...roots.map((root) => ({ ...root, role: "is trusted" })),
  ];
  return (
    <Panel title="Authorities" wide aside={<span class="muted">{trustDomains.join(", ")}</span>}>
      <Table
        caption="Authorities of the mesh"
        rows={rows}
        keyOf={({ sha256, role }) => `${sha256} ${role}`}
        empty="No authority is known."
        columns={[
          { title: "Name", cell: ({ name }) => name },
          { title: "Role", cell: ({ role }) => role },
          { title: "Ends", cell: (one) => <Ends certificate={one} /> },
          { title: "Serial", kind: "minor", cell: ({ serial }) => <code>{serial}</code> },
          { title: "SHA-256", kind: "minor", cell: ({ sha256 }) => <code title={sha256}>{sha256.slice(0, 20)}…</code> },
        ]}
      />
    </Panel>
  );
}

function Ends({ certificate: { notAfter, daysLeft } }: { readonly certificate: CertificateSummary }): VNode {
  return (
    <span class={daysLeft < soonDays ? "tag warn" : ""}>
      <Ago at={notAfter} />
    </span>
  );
}

function RotationPanel({ rotation }: { readonly rotation: Rotation }): VNode {
  const { phase, meaning, since, roots, last, holdups, certificates, proxies } = rotation;
  return (
    <Panel title="Replacement of the root" wide>
      <p>
        <State state={phase} /> {meaning} {since !== undefined && <Ago at={since} />}
      </p>
      <dl class="facts">
        {roots !== undefined && (
          <div>
            <dt>From, to</dt>
            <dd>
              {roots.old} → {roots.next}
            </dd>
          </div>
        )}
        <div>
          <dt>On record</dt>
          <dd>
            {counted(certificates, "certificate")}, {counted(proxies, "proxy", "proxies")}
          </dd>
        </div>
        {last !== undefined && (
          <div>
            <dt>Last one</dt>
            <dd>
              {last.outcome} <Ago at={last.at} />
            </dd>
          </div>
        )}
      </dl>
      {holdups.length > 0 && (
        <Table
          caption="Holdups"
          rows={holdups}
          keyOf={({ name, reason }) => `${name} ${reason}`}
          columns={[
            { title: "Held up by", cell: ({ name }) => name },
            { title: "Reason", kind: "wide", cell: ({ reason }) => reason },
            { title: "Connected", cell: ({ isConnected }) => yesNo(isConnected) },
          ]}
        />
      )}
    </Panel>
  );
}

function yesNo(is: boolean | undefined): string {
  return is === undefined ? "unknown" : is ? "yes" : "no";
}

function Issued({ issued }: { readonly issued: Certificates["issued"] }): VNode {
  return (
    <Panel title={`Issued: ${formatCount(issued.reduce((sum, one) => sum + one.issued, 0))} in the last hour`}>
      {issued.length < 2 ? (
        <Empty>The console has not watched long enough for a chart.</Empty>
      ) : (
        <Chart
          label="Certificates issued"
          times={issued.map(({ at }) => Date.parse(at))}
          series={[
            { label: "Issued", values: issued.map((one) => one.issued) },
            { label: "Failed", values: issued.map(({ failed }) => failed) },
          ]}
          format={formatCount}
        />
      )}
    </Panel>
  );
}

function EndingSoon({ all: { endingSoon } }: { readonly all: Certificates }): VNode {
  return (
    <Panel title="End within seven days">
      <Table
        caption="Certificates that end within seven days"
        rows={endingSoon}
        keyOf={({ holder, notAfter }) => `${holder} ${notAfter}`}
        empty="None."
        columns={[
          { title: "Holder", cell: ({ holder }) => <span class="words">{holder}</span> },
          { title: "Connected", cell: ({ isConnected }) => yesNo(isConnected) },
          { title: "Ends", kind: "number", cell: ({ notAfter }) => <Ago at={notAfter} /> },
        ]}
      />
    </Panel>
  );
}
