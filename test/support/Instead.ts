import { Effect } from "effect"
import { type Arrived, startGateway } from "../gateway/GatewayServer.ts"

/** A gateway's answer in place of the network's, by path; undefined: the network's. */
export type Instead = (path: string, text: string) => { readonly status: number; readonly body: unknown } | undefined

export const nowhere = { status: 404, body: { code: 5, message: "Not Found", details: [] } }
export const unknown = {
  status: 404,
  body: { code: 5, message: "NotFound error", details: [{ code: 1, message: "none" }] },
}
const noTransfers = { transfers: { edges: [], pageInfo: { hasNextPage: false, endCursor: "" } } }

/** A gateway that serves no transfers, listings or movements of the ledger. */
export const withoutTransfers: Instead = (path) => (/transfer|ledgerentry/.test(path) ? nowhere : undefined)
/** A gateway that hides every transfer. */
export const hiding: Instead = (path) => {
  if (path.startsWith("/api/v2/transfer/")) return unknown
  if (path.startsWith("/api/v2/ledgerentry")) return nowhere
  return path === "/api/v2/transfers" ? { status: 200, body: noTransfers } : undefined
}
/** A gateway that hides every transfer, but not what it moved. */
export const hidingButMovements: Instead = (path, text) =>
  path.startsWith("/api/v2/ledgerentry") ? undefined : hiding(path, text)

/** A gateway before the network of a flow: the first answer in place of the network's counts. */
export const behind = (...all: ReadonlyArray<Instead>) => ({
  front: (network: string) =>
    Effect.map(
      startGateway((response, { method, url, body }: Arrived, socket) => {
        const path = url.pathname
        const ask = async () => {
          const answer = await fetch(network + path + url.search, { method, ...(method === "POST" ? { body } : {}) })
          const text = await answer.text()
          const other = all.reduce<ReturnType<Instead>>((found, instead) => found ?? instead(path, text), undefined)
          const headers = Object.fromEntries(
            ["x-block-height", "x-block-timestamp"].flatMap((name) => {
              const value = answer.headers.get(name)
              return value === null ? [] : [[name, value]]
            }),
          )
          response.writeHead(other?.status ?? answer.status, { "content-type": "application/json", ...headers })
          response.end(other === undefined ? text : JSON.stringify(other.body))
        }
        ask().catch(() => socket.destroy())
      }),
      ({ url }) => url,
    ),
})
