import { readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, request, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, assert, beforeAll, beforeEach, describe, it } from "vitest"
import { type Daemon, start } from "../support/Cofferer.ts"
import { fastSandbox } from "../support/fastSandbox.ts"
import { lineWith, urlOf } from "../support/SteppedDaemon.ts"
import { tempDir } from "../support/tempDir.ts"
import { browserMissing, startBrowser } from "./Browser.ts"

const dir = tempDir("browser")
const file = join(dir, "treasury.yaml")
const data = join(dir, "data")

/** A reverse proxy that shows the page below /treasury/, as nginx does with `proxy_pass http://page/;`. */
const startProxy = (target: string): Promise<Server> =>
  new Promise((resolve) => {
    const server = createServer((incoming, outgoing) => {
      const path = incoming.url ?? "/"
      if (!path.startsWith("/treasury/")) return outgoing.writeHead(404).end()
      const headers = { ...incoming.headers, "x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.1" }
      const { method = "GET" } = incoming
      const passed = request(`${target}${path.slice("/treasury".length)}`, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      passed.on("error", () => outgoing.destroy())
      return incoming.pipe(passed)
    }).listen(0, "127.0.0.1", () => resolve(server))
  })

describe("the page in a browser, behind a proxy with a path of its own", () => {
  let daemon: Daemon
  let proxy: Server
  let browser: Browser
  let url = ""

  beforeAll(async () => {
    if (browserMissing !== undefined) return
    writeFileSync(file, fastSandbox())
    daemon = start(["run", file, "--sandbox", "--data", data], { cwd: dir, env: { COFFERER_LISTEN: "0.0.0.0:0" } })
    const target = urlOf(await daemon.line(lineWith("page listening"))).replace("0.0.0.0", "127.0.0.1")
    proxy = await startProxy(target)
    url = `http://localhost:${(proxy.address() as AddressInfo).port}/treasury/`
    browser = await startBrowser()
    await daemon.line(lineWith("payment confirmed"))
  })

  beforeEach(({ skip }) => skip(browserMissing !== undefined, browserMissing))

  afterAll(async () => {
    if (browserMissing === undefined) {
      await browser.close()
      proxy.close()
      await daemon.stop("SIGKILL")
    }
    rmSync(dir, { recursive: true, force: true })
  })

  const token = () => readFileSync(join(data, "read-token"), "utf8").trim()

  const logIn = async (page: Page, text: string) => {
    await page.fill("input[name=token]", text)
    await page.click("button")
  }

  /** A visitor, and what went wrong for them; refusals before they log in are expected. */
  const visit = async () => {
    const context = await browser.newContext()
    // Of a machine that is busy with other tests; the bound of a test is longer.
    context.setDefaultTimeout(120_000)
    const page = await context.newPage()
    const faults: Array<string> = []
    page.on("pageerror", (error) => faults.push(String(error)))
    page.on("console", (message) => {
      if (message.type() === "error" && !message.text().includes("401")) faults.push(message.text())
    })
    page.on("response", (response) => {
      if (response.status() >= 400 && response.status() !== 401) faults.push(`${response.status()} ${response.url()}`)
      if (!response.url().startsWith(url)) faults.push(`outside of its path: ${response.url()}`)
    })
    await page.goto(url)
    return { context, page, faults }
  }

  it("is shown after the token was asked for once, and until the log-out", async () => {
    const { context, page, faults } = await visit()
    await logIn(page, "wrong")
    await page.waitForSelector("text=That is not the token.")
    await logIn(page, token())
    await page.waitForSelector(".account")
    assert.strictEqual(page.url(), url)
    const [cookie] = await context.cookies()
    assert.deepInclude(cookie, { path: "/treasury", httpOnly: true, secure: true, sameSite: "Strict" })
    await page.reload()
    await page.waitForSelector(".account")
    await page.click("text=Log out")
    await page.waitForSelector("input[name=token]")
    const answer = await context.request.get(`${url}api/v1/status`, {
      headers: { cookie: `${cookie!.name}=${cookie!.value}` },
    })
    assert.strictEqual(answer.status(), 401, "the session itself is over, not only its cookie")
    assert.deepStrictEqual(faults, [])
    await context.close()
  })

  it("shows accounts with bars where there is a band, payments, alerts and each check of a rule", async () => {
    const { context, page, faults } = await visit()
    await logIn(page, token())
    await page.waitForSelector(".account")
    const bars = await page.$$eval(".account", (accounts) =>
      accounts.map((one) => {
        const name = one.querySelector(".name")?.textContent?.split(" ")[0]
        return `${name} ${one.querySelector("svg") === null ? "has no bar" : "has a bar"}`
      }),
    )
    assert.sameMembers(bars, ["reserve has no bar", "hot has a bar"])
    await page.waitForSelector(".alerts .word.info")
    assert.include(await page.innerText(".intents"), "16,210.00 USDT")
    await page.click("button.sentence")
    await page.waitForSelector(".why table")
    for (const width of [400, 1_200]) {
      await page.setViewportSize({ width, height: 800 })
      assert.isAtMost(await page.evaluate("document.documentElement.scrollWidth"), width, "nothing is cut off")
    }
    await page.setViewportSize({ width: 390, height: 800 })
    const shown = await page.evaluate<{ readonly width: number; readonly badge: number }>(`(() => {
      document.querySelector("header p").append(" refused: /${"srv/treasuries/".repeat(10)}treasury.yaml")
      const badge = document.querySelector("header strong").getBoundingClientRect().right
      return { width: document.documentElement.scrollWidth, badge }
    })()`)
    assert.isAtMost(shown.width, 390, "a long path breaks")
    assert.isAtMost(shown.badge, 390, "the mode stays on the screen")
    assert.deepStrictEqual(faults, [])
    await context.close()
  })

  it("asks again once the token is another one", async () => {
    const { context, page } = await visit()
    await logIn(page, token())
    await page.waitForSelector(".account")
    rmSync(join(data, "read-token"))
    await page.waitForSelector("input[name=token]")
    await logIn(page, token())
    await page.waitForSelector(".account")
    await context.close()
  })

  it("is shown to who comes by a link of another site", async () => {
    const { context, page } = await visit()
    await logIn(page, token())
    await page.waitForSelector(".account")
    // Another site: localhost and 127.0.0.1 are two.
    const other = createServer((_, answer) => {
      answer.setHeader("content-type", "text/html")
      answer.end(`<a href="${url}">treasury</a>`)
    })
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
    await page.goto(`http://127.0.0.1:${(other.address() as AddressInfo).port}/`)
    await page.click("text=treasury")
    await page.waitForSelector(".account")
    other.close()
    await context.close()
  })
})
