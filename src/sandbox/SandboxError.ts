import { Schema } from "effect"

/** Another process listens on the configured port. */
const PortBusy = Schema.TaggedStruct("PortBusy", { host: Schema.String, port: Schema.Int })
/** The listener could not be opened for another reason, such as an address that is not this machine's. */
const CannotListen = Schema.TaggedStruct("CannotListen", {
  host: Schema.String,
  port: Schema.Int,
  cause: Schema.String,
})
/** The ledger file was made from another seed or for another chain. */
const OtherLedger = Schema.TaggedStruct("OtherLedger", {
  file: Schema.String,
  found: Schema.String,
  wanted: Schema.String,
})
/** The ledger file or a key file cannot be read or written; after it the sandbox answers nothing more. */
const FileFailed = Schema.TaggedStruct("FileFailed", { cause: Schema.String })

/** Why the sandbox cannot start or go on. */
export class SandboxError extends Schema.TaggedError<SandboxError>()("SandboxError", {
  operation: Schema.String,
  reason: Schema.Union([PortBusy, CannotListen, OtherLedger, FileFailed]),
}) {
  override get message() {
    return sentence(this.operation, this.reason)
  }
}

type Reason = SandboxError["reason"]

const sentence = (operation: string, reason: Reason): string => {
  switch (reason._tag) {
    case "PortBusy":
      return `port ${reason.port} on ${reason.host} is in use; stop the process there, or set sandbox.listen to port 0`
    case "CannotListen":
      return `cannot listen on ${reason.host}:${reason.port} (${reason.cause}); use an address of this machine`
    case "OtherLedger":
      return `${reason.file} is of ${reason.found}, not of ${reason.wanted}; use that one, or another data directory`
    case "FileFailed":
      return `the sandbox's files failed during ${operation}: ${reason.cause}`
  }
}
