/** The sample's workload: answers who it is and who called. The one argument is the socket on which its proxy calls it. */
import { rmSync } from "node:fs";
import { createServer } from "node:http";

const [socket] = process.argv.slice(2);
const server = createServer(({ url, headers }, response) => {
  const caller = headers["x-forwarded-client-cert"] ?? "somebody without a certificate";
  response.writeHead(200, { "content-type": "application/json" });
  response.end(`${JSON.stringify({ workload: "reviews", path: url, caller })}\n`);
});
// Left there by a process that was killed.
rmSync(socket, { force: true });
server.listen(socket);
process.on("SIGTERM", () => server.close(() => process.exit()));
process.on("SIGTERM", () => server.closeAllConnections());
