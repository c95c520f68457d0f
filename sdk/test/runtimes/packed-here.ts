/** Replaces rig/packed.ts in a bundle: the packed library is part of it. */
declare const PACKED_NODE: string

export const importSdk = () => import('@latchkey/sdk')
export const importNode = () => import('@latchkey/sdk/node')

/** For a separate program, which is not part of it. */
export const entryOf = async (_: './node') => PACKED_NODE
