import { beforeEach } from "vitest"
import { serverUrl } from "./Postgres.ts"

// The same tests as on SQLite: `testStore` makes its store on the server that was found.
beforeEach(({ skip }) => skip(serverUrl() === "", "needs PostgreSQL"))
