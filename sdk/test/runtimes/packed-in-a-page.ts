/** Stands in for rig/packed.ts inside a bundle for pages, which have no `@latchkey/sdk/node`. */
export const importSdk = () => import('@latchkey/sdk')
