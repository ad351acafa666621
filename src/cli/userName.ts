import { userInfo } from "node:os"

/** The name of who runs this. A user of a container may have none, which is an error, and is known by the number. */
export const userName = (named: () => string = () => userInfo().username): string => {
  try {
    return named()
  } catch {
    return `uid${process.getuid?.() ?? ""}`
  }
}
