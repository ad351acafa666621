import type { Fault } from "../Faults.ts"
import { type Answer, nodeError, plainError } from "../http/Answer.ts"

/** The error answer that a fault gives, as the network or what stands before it words it. */
export const statusAnswer = (fault: Fault): Answer => {
  switch (fault.status) {
    case 403:
      return {
        ...plainError("PermissionDenied", "temporarily banned for continuing to request while rate limited", true),
        headers: { "RateLimit-Retry-After": "600" },
      }
    case 429:
      return plainError("ResourceExhausted", "api request rate limit exceeded", true)
    case 500:
      return nodeError("Internal", { code: 10_000, message: "internal error", inner: "" })
    case 502:
      return {
        status: 502,
        body: "<html><h1>502 Bad Gateway</h1></html>",
        text: true,
        headers: { "content-type": "text/html" },
        fromNode: false,
      }
    case 504:
      return plainError("DeadlineExceeded", "context deadline exceeded", false)
    default:
      return plainError("Unavailable", 'connection error: desc = "transport: error while dialing"', false)
  }
}
