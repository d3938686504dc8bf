/** Counts the requests that are being answered. */
import type { HttpsReply, HttpsRequest } from "./https-server.ts";

type Answer = (request: HttpsRequest) => HttpsReply | Promise<HttpsReply>;

export interface CountedAnswer {
  readonly open: number;
  readonly answer: (request: HttpsRequest) => Promise<HttpsReply>;
}

export function countOpen(answer: Answer): CountedAnswer {
  let open = 0;
  return {
    get open() {
      return open;
    },
    answer: async (request) => {
      open++;
      try {
        return await answer(request);
      } finally {
        open--;
      }
    },
  };
}
