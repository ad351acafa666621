import { readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"

/** One file of the page, ready to send. */
interface PageFile {
  readonly type: string
  readonly body: string
}

/** The browser knows no package names: they become paths of this server. */
const toPaths = (source: string): string =>
  source
    .replace(/from\s*"preact"/g, 'from "/page/preact.js"')
    .replace(/from\s*"htm\/preact"/g, 'from "/page/html.js"')
    .replace(/from\s*"htm"/g, 'from "/page/htm.js"')
    .replace(/from\s*"[./]+\/domain\/(visible|ageText).ts"/g, 'from "/page/$1.js"')

const own = (name: string): string => readFileSync(new URL(`./page/${name}`, import.meta.url), "utf8")
const packaged = (specifier: string): string => readFileSync(new URL(import.meta.resolve(specifier)), "utf8")

/** Every file that the page consists of, by its path; read once, at start. */
export const pageFiles = (): ReadonlyMap<string, PageFile> => {
  const script = (body: string): PageFile => ({ type: "text/javascript; charset=utf-8", body })
  return new Map([
    ["/", { type: "text/html; charset=utf-8", body: own("index.html") }],
    ["/page/style.css", { type: "text/css; charset=utf-8", body: own("style.css") }],
    ["/page/page.js", script(toPaths(stripTypeScriptTypes(own("page.ts"))))],
    ["/page/ageText.js", script(stripTypeScriptTypes(own("../../domain/ageText.ts")))],
    ["/page/visible.js", script(stripTypeScriptTypes(own("../../domain/visible.ts")))],
    ["/page/preact.js", script(packaged("preact"))],
    ["/page/htm.js", script(packaged("htm"))],
    ["/page/html.js", script(toPaths(packaged("htm/preact")))],
  ])
}

/** Nothing but what this server serves may run, load or be asked; nobody may frame the page. */
export const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'"
