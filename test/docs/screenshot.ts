/**
 * Draws docs/images/page.png: the page of the demo treasury after its two payments, one of them with a lost answer.
 * Needs chromium. Run it with: npm run screenshot
 */
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

const root = join(import.meta.dirname, "../..")
const data = mkdtempSync(join(tmpdir(), "cofferer-page-"))
/** Longest wait for both payments, milliseconds. */
const waitMax = 120_000
const size = "1280,800"

const daemon = spawn(
  join(root, "src/cofferer.sh"),
  ["run", "--sandbox", join(root, "config/sandbox.yaml"), "--data", data, "--output", "json"],
  { cwd: root, env: { ...process.env, COFFERER_LISTEN: "127.0.0.1:0" }, stdio: ["ignore", "pipe", "inherit"] },
)
const timer = setTimeout(() => daemon.kill(), waitMax)

let page = ""
let payments = 0
try {
  for await (const line of createInterface({ input: daemon.stdout })) {
    page = /"(http:\/\/127\.0\.0\.1:\d+)"/.exec(/"msg":"page"/.test(line) ? line : "")?.[1] ?? page
    if (/"msg":"confirmed"/.test(line)) payments += 1
    if (payments === 2) break
  }
  if (payments < 2 || page === "") throw new Error(`no two payments within ${waitMax} ms`)
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=5000"]
  const files = [`--user-data-dir=${join(data, "chromium")}`, `--screenshot=${join(root, "docs/images/page.png")}`]
  execFileSync("chromium", [...flags, ...files, `--window-size=${size}`, page], { stdio: "ignore", timeout: 60_000 })
} finally {
  clearTimeout(timer)
  daemon.kill()
  rmSync(data, { recursive: true, force: true })
}
