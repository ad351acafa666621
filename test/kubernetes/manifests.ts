import { readFileSync } from "node:fs"
import { join } from "node:path"
import { parseAllDocuments } from "yaml"
import { root } from "../support/Cofferer.ts"

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
}

/** Texts of the files of config/kubernetes. */
export const manifestTexts = ["cofferer.yaml", "servicemonitor.yaml"].map((name) =>
  readFileSync(join(root, "config/kubernetes", name), "utf8"),
)

export const readManifests = (texts: ReadonlyArray<string>): ReadonlyArray<Manifest> =>
  texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Manifest))
