/** An API server of a test, as far as a caller sees it: requests are noted, answers come from a function. */
import { type KubeApi, KubeError } from "@flotilla/kube-api";

export interface Request {
  readonly method: "get" | "create" | "replace" | "delete";
  readonly path: string;
  readonly body?: unknown;
}

export interface FakeApi {
  readonly api: KubeApi;
  readonly requests: readonly Request[];
}

export function fakeApi(answer: (request: Request) => unknown): FakeApi {
  const requests: Request[] = [];
  const call =
    (method: Request["method"]) =>
    async (path: string, body?: unknown): Promise<unknown> => {
      const request = { method, path, ...(body !== undefined && { body }) };
      requests.push(request);
      return await answer(request);
    };
  const api = { get: call("get"), create: call("create"), replace: call("replace"), delete: call("delete") };
  return { api: api as unknown as KubeApi, requests };
}

export function refusedByApi(message: string): KubeError {
  return new KubeError("KUBE_REFUSED", message, { status: 403 });
}
