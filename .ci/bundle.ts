/**
 * Bundles the program for the image: `node .ci/bundle.ts FOLDER`. Some 1,200 modules become some 50, which load in
 * half the time and take less memory. FOLDER gets all that the program needs to run, and no packages. Blanks and long
 * names of local variables, which would stay in memory, are left out; stacks still name functions and classes.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { type OutputChunk, type Plugin, rolldown } from "rolldown"

const root = fileURLToPath(new URL("..", import.meta.url))
const [folder = ""] = process.argv.slice(2)
if (folder === "") throw new Error("usage: node .ci/bundle.ts FOLDER")

/** Chunks are in src, where a module finds the files beside it by its own path. The search thread is a chunk too. */
const ownFiles: Plugin = {
  name: "own-files",
  transform: (code, id) => {
    const path = relative(join(root, "src"), id)
    if (path.startsWith("..") || !code.includes("import.meta.")) return
    return code
      .replaceAll("import.meta.url", `new URL("./${path}", import.meta.url).href`)
      .replaceAll(/new URL\("\.\/worker\.ts", .*\.href\)/g, 'new URL("./worker.mjs", import.meta.url)')
      .replaceAll("import.meta.resolve(", '((name) => new URL("./page/" + name + ".mjs", import.meta.url).href)(')
  },
}

/** A text in ASCII takes one byte a character in memory, any other two. */
const ascii: Plugin = {
  name: "ascii",
  generateBundle: (_, files) => {
    for (const file of Object.values(files)) {
      if (file.type !== "chunk") continue
      file.code = file.code.replace(
        /[\u0080-\uffff]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
      )
    }
  },
}

/** The licences of the packages that were put in. */
const licencesOf = (chunks: ReadonlyArray<OutputChunk>): string => {
  const modules = chunks.flatMap(({ moduleIds }) => moduleIds)
  const packages = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []))
  return [...packages]
    .toSorted()
    .map((path) => {
      const name = readdirSync(path).find((file) => /^licen[cs]e/i.test(file))
      const text = name === undefined ? "see its package.json" : readFileSync(join(path, name), "utf8").trim()
      return `${relative(join(root, "node_modules"), path)}\n\n${text}\n`
    })
    .join("\n\n")
}

const build = await rolldown({
  input: { main: join(root, "src/main.ts"), worker: join(root, "src/pow/worker.ts") },
  platform: "node",
  external: /^node:/,
  plugins: [ownFiles, ascii],
  logLevel: "warn",
})
const src = join(folder, "src")
mkdirSync(src, { recursive: true })
const { output } = await build.write({
  dir: src,
  entryFileNames: "[name].mjs",
  chunkFileNames: "[name].mjs",
  comments: false,
  minify: { compress: false, mangle: { toplevel: false, keepNames: true }, codegen: { removeWhitespace: true } },
})
writeFileSync(join(folder, "LICENSES"), licencesOf(output.filter((one) => one.type === "chunk")))
const scripts = readdirSync(join(root, "src")).filter((name) => name.endsWith(".sh") && name !== "install.sh")
for (const file of ["LICENSE", "package.json", "config/sandbox.yaml", ...scripts.map((name) => `src/${name}`)]) {
  cpSync(join(root, file), join(folder, file))
}
// What the page's browser gets; and rules in code run in a process of their own, which may read their folder alone.
for (const path of ["http/page", "domain/text.ts", "config/code"]) {
  cpSync(join(root, "src", path), join(src, path), { recursive: true })
}
for (const name of ["preact", "htm", "htm/preact"]) {
  cpSync(fileURLToPath(import.meta.resolve(name)), join(src, "page", `${name}.mjs`))
}
