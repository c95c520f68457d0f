/** Global set-up: many tests start the executable or programs with the client library. */
export { buildIfStale as setup } from '../../../../tools/build.ts'
