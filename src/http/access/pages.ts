import { readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"
import { HttpServerResponse } from "effect/http"
import { visible } from "../../domain/text.ts"
import type { TreasuryState } from "../View.ts"

/** Only content of this server may run, load or be requested; nobody may frame the page. */
const contentSecurityPolicy = [
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'",
  "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
].join("; ")

const signs = { ok: "✓", warn: "!", bad: "✕" } as const

let read: ReadonlyMap<string, PageFile> | undefined

/** Read at the first request: to strip its types costs 60 ms and 25 MB, which a daemon without readers never needs. */
const files = (): ReadonlyMap<string, PageFile> => {
  read ??= readPageFiles()
  return read
}

const respond = ({ type, body }: PageFile, status = 200, cache = "no-cache") =>
  HttpServerResponse.text(body, {
    status,
    contentType: type,
    headers: {
      "content-security-policy": contentSecurityPolicy,
      "cache-control": cache,
      "x-content-type-options": "nosniff",
      // Not no-referrer: the log-in form would then be sent without its origin.
      "referrer-policy": "same-origin",
    },
  })

/** A script or style of the page, without any data of the treasury; undefined for any other path. */
export const pageFile = (path: string): HttpServerResponse.HttpServerResponse | undefined => {
  const file = path.startsWith("/page/") ? files().get(path) : undefined
  return file === undefined ? undefined : respond(file)
}

/** A page of HTML with `content` in the place of a comment. */
const filled = (path: "/" | "/login" | "/treasuries", comment: string, content: string, status: number) => {
  const { type, body } = files().get(path)!
  return respond({ type, body: body.replace(`<!-- ${comment} -->`, () => content) }, status, "no-store")
}

const logOut = '<form method="post" action="logout"><button type="submit">Log out</button></form>'

/** The page; for a browser that has logged in, with a way to log out. */
export const statusPage = (reader: "program" | "browser"): HttpServerResponse.HttpServerResponse =>
  filled("/", "log out", reader === "browser" ? logOut : "", 200)

/** The form that asks for the token. */
export const loginPage = (status: number, problem: string): HttpServerResponse.HttpServerResponse =>
  filled("/login", "problem", problem, status)

const escaped = (text: string): string => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`)

/** The list of the treasuries, the worst first. */
export const treasuriesPage = (rows: ReadonlyArray<TreasuryState>): HttpServerResponse.HttpServerResponse =>
  filled(
    "/treasuries",
    "treasuries",
    rows
      .map(({ name, severity, text, since }) => {
        const link = `<a href="treasury/${encodeURIComponent(name)}/">${escaped(visible(name))}</a>`
        const time = escaped(since.slice(0, 19).replace("T", " "))
        const state = escaped(visible(text)).replace(/(?<= )--?[a-z][a-z-]*/g, '<span class="figure">$&</span>')
        return `<tr class="${severity}"><td>${signs[severity]}</td><td>${link}</td><td class="detail">${state}</td><td>${time}</td></tr>`
      })
      .join("\n"),
    200,
  )

/** One file of the page, ready to send. */
interface PageFile {
  readonly type: string
  readonly body: string
}

/** The browser knows no package names: they become files beside the importing one, wherever a proxy shows them. */
const toPaths = (source: string): string =>
  source
    .replace(/from\s*"preact"/g, 'from "./preact.js"')
    .replace(/from\s*"htm\/preact"/g, 'from "./html.js"')
    .replace(/from\s*"htm"/g, 'from "./htm.js"')
    .replace(/from\s*"[./]+\/domain\/text.ts"/g, 'from "./text.js"')

const own = (name: string): string => readFileSync(new URL(`../page/${name}`, import.meta.url), "utf8")
const packaged = (specifier: string): string => readFileSync(new URL(import.meta.resolve(specifier)), "utf8")

/** Reads every file that the page consists of, by its path. */
const readPageFiles = (): ReadonlyMap<string, PageFile> => {
  const html = (body: string): PageFile => ({ type: "text/html; charset=utf-8", body })
  const script = (body: string): PageFile => ({ type: "text/javascript; charset=utf-8", body })
  return new Map([
    ["/", html(own("index.html"))],
    ["/login", html(own("login.html"))],
    ["/treasuries", html(own("treasuries.html"))],
    ["/page/style.css", { type: "text/css; charset=utf-8", body: own("style.css") }],
    ["/page/page.js", script(toPaths(stripTypeScriptTypes(own("page.ts"))))],
    ["/page/login.js", script(stripTypeScriptTypes(own("login.ts")))],
    ["/page/text.js", script(stripTypeScriptTypes(own("../../domain/text.ts")))],
    ["/page/preact.js", script(packaged("preact"))],
    ["/page/htm.js", script(packaged("htm"))],
    ["/page/html.js", script(toPaths(packaged("htm/preact")))],
  ])
}
