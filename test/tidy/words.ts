import { complaint, type Source } from "./Source.ts"

/** The words below are written with a dot inside, so that this file does not break its own rule. */
export const plain = (spelled: string): string => spelled.replaceAll("·", "")

const word = (spelled: string, flags = ""): RegExp => new RegExp(plain(spelled), flags)

const banned: ReadonlyArray<readonly [RegExp, string]> = [
  [word("\\b(TO·DO|FIX·ME|X·XX|HA·CK|W·IP)\\b"), "unfinished"],
  [word("place·holder|lorem ip·sum|coming so·on|not (yet )?imple·mented|to be do·ne", "i"), "unfinished"],
  [word("(^|[^\\w.])/(wo·rk|ro·ot|ho·me)/"), "a path of one machine"],
  [word("bash·_jobs"), "a path of one machine"],
  [word("\\.\\./sha·red\\b"), "a path of one machine"],
  [word("npm·js\\.(org|com)|(//|@)reg·istry\\.|gh·cr\\.io|doc·ker\\.io", "i"), "a registry's host"],
  [word("\\b(archi·tecture|money-·path|effect-·v4|sty·le|opera·tor)\\.md\\b"), "a document that is not here"],
  [word("\\bnetwork-(re·ad|wri·te)\\.md\\b"), "a document that is not here"],
  [word("\\b(A·I|LL·M|G·PT)s?\\b"), "not about the program"],
  [
    word("\\b(chat·bot|assis·tants?|co·pilot|cla·ude|anth·ropic|open·ai)\\b|language mo·del", "i"),
    "not about the program",
  ],
]

export const wordsAreClean = ({ path, text }: Source): ReadonlyArray<string> =>
  text.split("\n").flatMap((line, i) =>
    banned.flatMap(([pattern, why]) => {
      const found = pattern.exec(line)
      return found === null ? [] : [complaint(path, i + 1, `"${found[0].trim()}": ${why}`)]
    }),
  )
