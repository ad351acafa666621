import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { cpSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { root } from "../../support/Cofferer.ts"
import { type Door, freePort, openDoor, until } from "./doors.ts"

const programs = ["prometheus", "prometheus-alertmanager"] as const

/** Whether Debian's Prometheus and Alertmanager are there. */
export const canMonitor = (): boolean =>
  programs.every((program) => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0)

/** A real Prometheus and Alertmanager with the files of config/monitoring. */
export interface Monitoring {
  /** Names of the rules whose alerts a receiver behind Alertmanager took, and when, in milliseconds of this process. */
  readonly fired: ReadonlyMap<string, number>
  readonly end: () => Promise<void>
}

interface Group {
  readonly alerts: ReadonlyArray<{ readonly status: string; readonly labels: { readonly alertname: string } }>
}

const source = join(root, "config/monitoring")

/** Copies a file of config/monitoring with other addresses; each must be in it. */
const adapt = (name: string, dir: string, changes: Readonly<Record<string, string>>) => {
  let text = readFileSync(join(source, name), "utf8")
  for (const [from, to] of Object.entries(changes)) {
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`)
    text = text.replaceAll(from, to)
  }
  writeFileSync(join(dir, name), text)
}

/** Watches the daemon that listens on this port of the loopback. */
export const monitor = async (dir: string, daemonPort: number): Promise<Monitoring> => {
  const fired = new Map<string, number>()
  const receiver: Door = await openDoor(async (_, __, body) => {
    for (const { status, labels } of (JSON.parse(body) as Group).alerts)
      if (status === "firing" && !fired.has(labels.alertname)) fired.set(labels.alertname, Date.now())
    return { status: 200, body: "" }
  })
  const [prometheusPort, alertmanagerPort] = [await freePort(), await freePort()]
  mkdirSync(dir)
  cpSync(join(source, "alerts.yaml"), join(dir, "alerts.yaml"))
  adapt("prometheus.yaml", dir, {
    "127.0.0.1:9093": `127.0.0.1:${alertmanagerPort}`,
    "127.0.0.1:9464": `127.0.0.1:${daemonPort}`,
    "treasury: harbor": "treasury: drill",
  })
  adapt("alertmanager.yaml", dir, { "http://127.0.0.1:9095": receiver.url })
  const run = (program: (typeof programs)[number], ...args: ReadonlyArray<string>): ChildProcess => {
    const log = openSync(join(dir, `${program}.log`), "a")
    return spawn(program, args, { cwd: dir, stdio: ["ignore", log, log] })
  }
  const children = [
    run(
      "prometheus-alertmanager",
      "--config.file=alertmanager.yaml",
      "--storage.path=alertmanager",
      "--cluster.listen-address=",
      `--web.listen-address=127.0.0.1:${alertmanagerPort}`,
    ),
    run(
      "prometheus",
      "--config.file=prometheus.yaml",
      "--storage.tsdb.path=series",
      `--web.listen-address=127.0.0.1:${prometheusPort}`,
    ),
  ]
  const end = async () => {
    for (const child of children) child.kill("SIGKILL")
    await receiver.close()
  }
  for (const [n, port] of [alertmanagerPort, prometheusPort].entries()) {
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      )
    if (await until(30, isReady)) continue
    await end()
    throw new Error(`${children[n]!.spawnfile} is not ready: its log is in ${dir}`)
  }
  return { fired, end }
}
