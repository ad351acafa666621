import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { parentPort } from "node:worker_threads"
import { corpus } from "../../gateway/hostile/corpus.ts"
import { headBytes } from "../poller/product.ts"

/**
 * A gateway in a thread of its own: the newest block under /blockchain/height, and under /FAMILY/NUMBER/ that bad
 * answer of the corpus. Posts its address.
 */
const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const url = new URL(request.url ?? "", "http://gateway")
  const [, family = "", number = ""] = url.pathname.split("/")
  const bad = corpus[family]?.[Number(number)]
  response.on("error", () => {})
  const { method = "", headers, rawHeaders } = request
  request.resume().on("end", () => {
    if (bad !== undefined) bad.send(response, { method, url, headers, rawHeaders, body: "" }, request.socket)
    else response.writeHead(200, { "content-type": "application/json" }).end(headBytes(120n))
  })
})
server.on("connection", (socket) => socket.on("error", () => {}))
server.listen(0, "127.0.0.1", () =>
  parentPort?.postMessage(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
)
