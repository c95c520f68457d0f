/** The built executable. */
export const EXECUTABLE = new URL('../../../dist/latchkey.js', import.meta.url).pathname
