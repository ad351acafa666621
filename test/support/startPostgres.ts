import { startServer } from "./PostgresServer.ts"

/** One server for all files of a run, named to them by the environment. */
export default () => {
  if (process.env["COFFERER_TEST_POSTGRES"] !== undefined) return
  const server = startServer()
  if (server === undefined) return
  process.env["COFFERER_TEST_POSTGRES"] = server.url
  return server.stop
}
