import { existsSync } from "node:fs"
import { chromium } from "playwright-core"

const executablePath = "/usr/bin/chromium"

/** Why no browser can be started here; undefined where one can. */
export const browserMissing: string | undefined = existsSync(executablePath) ? undefined : `needs ${executablePath}`

/** A real browser without a window, which asks nobody but the pages that it is sent to. */
export const startBrowser = () =>
  chromium.launch({
    executablePath,
    // Root has no other way, and who is not root needs namespaces that a container may refuse.
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
    timeout: 120_000,
  })
