/**
 * `/debug/recent`: recent differences, cheap enough to be polled every second: the last generations, what proxies
 * refuse, how far the objects that changed last have come, and how many proxies are behind.
 */
import type { ConfigKey } from "@flotilla/model";
import type { HttpHandler } from "@flotilla/runtime";
import type { Ledger } from "../ledger/ledger.ts";
import { type GenerationSummary, listGenerations } from "../ledger/ledger-pages.ts";
import type { Distributions } from "../status/distributions.ts";
import { type ObjectStatuses, statusKey } from "../status/object-status.ts";
import { groupRejections, type RejectionGroup } from "../status/rejection-groups.ts";

interface Recent {
  readonly generation: number;
  /** The latest first. */
  readonly generations: readonly GenerationSummary[];
  readonly rejections: readonly RejectionGroup[];
  readonly rejectionCount: number;
  readonly fleet: FleetSummary;
  /** Objects of these generations. */
  readonly arrivals: readonly {
    readonly object: string;
    readonly live: number;
    readonly concerned: number;
    readonly rejected: number;
  }[];
}

/** Proxies that have answered everything, and others. */
export interface FleetSummary {
  readonly total: number;
  readonly synced: number;
  readonly sending: number;
  readonly rejected: number;
}

const maxGenerations = 10;
const maxRejections = 50;
const maxArrivals = 100;

export interface RecentSources {
  readonly generation: () => number;
  readonly ledger: Pick<Ledger, "history">;
  readonly statuses: Pick<ObjectStatuses, "distributionOf">;
  readonly distributions: Pick<Distributions, "refusals" | "fleet">;
}

export function recentPage({ generation, ledger, statuses, distributions }: RecentSources): HttpHandler {
  return () => {
    const generations = listGenerations(ledger).slice(-maxGenerations).reverse();
    const rejections = groupRejections(distributions.refusals());
    const names = new Set(generations.flatMap(({ objects }) => objects.map(({ object }) => object)));
    const arrivals = [...names].slice(0, maxArrivals).flatMap((object) => {
      const key: ConfigKey | undefined = statusKey(object);
      const distribution = key && statuses.distributionOf(key);
      if (distribution === undefined) return [];
      const { live, concerned, refusals } = distribution;
      return [{ object, live, concerned, rejected: refusals.length }];
    });
    const recent: Recent = {
      ...{ generation: generation(), generations, arrivals, fleet: distributions.fleet() },
      ...{ rejections: rejections.slice(0, maxRejections), rejectionCount: rejections.length },
    };
    return { json: recent };
  };
}
