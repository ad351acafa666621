/**
 * Effect takes a stack at each call of a function and for each span, of which a flow has thousands a second: a tenth
 * of its time. Only a failed assertion still says where it stands. With COFFERER_TEST_STACKS set, every error does.
 */
const { captureStackTrace, stackTraceLimit } = Error

// Files of one worker share this, and each sets it up.
if (process.env["COFFERER_TEST_STACKS"] === undefined && stackTraceLimit !== 0) {
  Error.stackTraceLimit = 0
  Error.captureStackTrace = (target, above) => {
    Error.stackTraceLimit = stackTraceLimit
    try {
      captureStackTrace(target, above)
    } finally {
      Error.stackTraceLimit = 0
    }
  }
}
