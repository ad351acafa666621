import type { GatewayReader } from "./GatewayReader.ts"
import { pageSize, walkPages } from "./walkPages.ts"

/** The whole listing of assets, oldest id first: their cursors are exact. */
export const walkAssets = (reader: Pick<GatewayReader["Service"], "assets">) =>
  walkPages((after) =>
    reader.assets({ first: pageSize, newestFirst: false, ...(after === undefined ? {} : { after }) }),
  )
