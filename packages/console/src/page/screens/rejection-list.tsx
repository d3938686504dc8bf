/** Rejections of proxies, blamed on objects, with Envoy's words. */
import type { VNode } from "preact";
import type { RejectionGroup } from "../../contract/index.ts";
import { counted, formatCount } from "../format/quantities.ts";
import { Ago, ObjectLink, ProxyLink } from "../parts/text.tsx";

const namedProxies = 8;

/** One card for each object and type; nothing without rejections. */
export function RejectionList({ groups }: { readonly groups: readonly RejectionGroup[] }): VNode | null {
  if (groups.length === 0) return null;
  return (
    <ul class="rejections" aria-label="Rejections">
      {groups.map((group) => (
        <li key={`${group.object} ${group.type} ${group.resources[0]}`}>
          <Rejection group={group} />
        </li>
      ))}
    </ul>
  );
}

function Rejection({ group }: { readonly group: RejectionGroup }): VNode {
  const { object, type, resources, message, field, firstAt, lastAt, proxies, proxyCount, generation } = group;
  const named = proxies.slice(0, namedProxies);
  return (
    <article class="rejection">
      <h2>
        {object === undefined ? "No object is blamed" : <ObjectLink object={object} />}
        <span class="tag bad">{counted(proxyCount, "proxy", "proxies")}</span>
      </h2>
      <p class="words bad">{message}</p>
      <dl class="facts">
        {field !== undefined && (
          <div>
            <dt>Field</dt>
            <dd>
              <code>{field}</code>
            </dd>
          </div>
        )}
        <div>
          <dt>Resources</dt>
          <dd>
            {type} {resources.join(", ")}
          </dd>
        </div>
        <div>
          <dt>Generation</dt>
          <dd>{formatCount(generation)}</dd>
        </div>
        <div>
          <dt>First, last</dt>
          <dd>
            <Ago at={firstAt} />, <Ago at={lastAt} />
          </dd>
        </div>
        <div>
          <dt>Proxies</dt>
          <dd class="objects">
            {named.map((proxy) => (
              <ProxyLink key={proxy} proxy={proxy} />
            ))}
            {proxyCount > named.length && <span class="muted">and {formatCount(proxyCount - named.length)} more</span>}
          </dd>
        </div>
      </dl>
    </article>
  );
}
