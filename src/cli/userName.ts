import { userInfo } from "node:os"

/** The name of who runs this; a container's user has none and is known by its number. */
export const userName = (): string => {
  try {
    return userInfo().username
  } catch {
    return `uid${process.getuid?.() ?? ""}`
  }
}
