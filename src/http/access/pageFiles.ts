import { readFileSync } from "node:fs"
import { stripTypeScriptTypes } from "node:module"

/** One file of the page, ready to send. */
export interface PageFile {
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
export const readPageFiles = (): ReadonlyMap<string, PageFile> => {
  const html = (body: string): PageFile => ({ type: "text/html; charset=utf-8", body })
  const script = (body: string): PageFile => ({ type: "text/javascript; charset=utf-8", body })
  return new Map([
    ["/", html(own("index.html"))],
    ["/login", html(own("login.html"))],
    ["/page/style.css", { type: "text/css; charset=utf-8", body: own("style.css") }],
    ["/page/page.js", script(toPaths(stripTypeScriptTypes(own("page.ts"))))],
    ["/page/login.js", script(stripTypeScriptTypes(own("login.ts")))],
    ["/page/text.js", script(stripTypeScriptTypes(own("../../domain/text.ts")))],
    ["/page/preact.js", script(packaged("preact"))],
    ["/page/htm.js", script(packaged("htm"))],
    ["/page/html.js", script(toPaths(packaged("htm/preact")))],
  ])
}
