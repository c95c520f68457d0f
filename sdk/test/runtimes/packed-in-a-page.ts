/** Replaces rig/packed.ts in a bundle for pages, which have no `@latchkey/sdk/node`. */
export const importSdk = () => import('@latchkey/sdk')
