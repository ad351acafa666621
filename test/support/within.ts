import vm from "node:vm"

const box = vm.createContext({ call: () => {} })
const call = new vm.Script("call()")

/** The code did not end in time. */
export const isTimeout = (error: unknown): boolean =>
  (error as { readonly code?: unknown } | undefined)?.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"

/** Runs foreign code, and ends it where it takes longer: even a loop without end is one error. */
export const within = <A>(millis: number, code: () => A): A => {
  let value: { readonly it: A } | undefined
  box["call"] = () => {
    value = { it: code() }
  }
  call.runInContext(box, { timeout: millis })
  return value!.it
}
