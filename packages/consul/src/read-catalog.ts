/** All services of a scope, read afresh: the state of followers is checked against it. */

import type { CatalogEvent, CatalogScope } from "./catalog-follower.ts";
import type { ConsulClient } from "./consul-client.ts";
import { parseDatacenters, parseInstances, parseServiceNames } from "./parse-answer.ts";
import type { Slots } from "./slots.ts";

/** @throws ConsulError; the reason of `stop` */
export async function readCatalog(
  client: ConsulClient,
  scope: CatalogScope,
  slots: Slots,
  stop: AbortSignal,
): Promise<readonly CatalogEvent[]> {
  const { datacenter, namespace, partition } = scope;
  const parameters = { dc: datacenter, ns: namespace, partition };
  const { body } = await client.ask({ path: "/v1/catalog/services", parameters }, stop);
  return Promise.all(
    parseServiceNames(body).map((name) =>
      slots.run(async () => {
        const path = `/v1/health/service/${encodeURIComponent(name)}`;
        const answer = await client.ask({ path, parameters }, stop);
        return { key: { ...scope, name }, instances: parseInstances(answer.body).instances };
      }, stop),
    ),
  );
}

/** All datacenters known to the agent, its own first. @throws ConsulError; the reason of `stop` */
export async function readDatacenters(client: ConsulClient, stop: AbortSignal): Promise<readonly string[]> {
  const { body } = await client.ask({ path: "/v1/catalog/datacenters" }, stop);
  return parseDatacenters(body);
}
