/** Health checks of containers whose image has no shell. Node's own modules only: each check is a process of its own. */
import { lstat, readFile } from "node:fs/promises";
import { get } from "node:http";

const answersWithinMs = 4_000;

/**
 * @param args `page PORT [PATH]`: the page on this host (/ready) answers 200; `until FILE`: the time in the file, in seconds since 1970, is to come;
 * `file FILE` and `socket FILE`: it is there.
 * @throws Error with the reason
 */
export async function checkContainer([check = "", target = "", path = "/ready"]: readonly string[]): Promise<void> {
  if (target === "") throw new Error("usage: check page PORT [PATH] | until FILE | file FILE | socket FILE");
  if (check === "page") return await checkPage(target, path);
  if (check === "until") return await checkTime(target);
  if (check !== "file" && check !== "socket")
    throw new Error(`no check "${check}"; there are page, until, file, socket`);
  const found = await lstat(target);
  if (check === "socket" ? !found.isSocket() : !found.isFile()) throw new Error(`${target} is no ${check}`);
}

function checkPage(port: string, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const asked = get({ host: "127.0.0.1", port, path, agent: false, timeout: answersWithinMs }, (response) => {
    response.resume();
    if (response.statusCode === 200) resolve();
    else reject(new Error(`${path} on port ${port} answers ${response.statusCode}`));
  });
  asked.on("timeout", () => asked.destroy(new Error(`no answer from port ${port} within ${answersWithinMs} ms`)));
  asked.on("error", reject);
  return promise;
}

async function checkTime(file: string): Promise<void> {
  const until = Number((await readFile(file, "utf8")).split("\n", 1)[0]);
  if (!(Date.now() < until * 1_000)) throw new Error(`the time in ${file} is over`);
}
