/** Stands in for rig/packed.ts inside a bundle: the packed library is part of it. */
declare const PACKED_NODE: string

export const importSdk = () => import('@latchkey/sdk')
export const importNode = () => import('@latchkey/sdk/node')

/** For a program of its own, which is not part of it. */
export const entryOf = async (_: './node') => PACKED_NODE
