/**
 * Preloaded into a server: the process kills itself when it would send a 200. The
 * transaction is committed then, and not a byte is sent. The unsent answer is written to a file first.
 */
import { writeFileSync } from 'node:fs'
import { ServerResponse } from 'node:http'

const end = ServerResponse.prototype.end
ServerResponse.prototype.end = function (this: ServerResponse, ...args: unknown[]) {
  if (this.statusCode === 200 && this.req.url?.includes('/device/polling')) {
    writeFileSync(process.env.KILL_RECORD ?? '/dev/null', String(args[0]))
    process.kill(process.pid, 'SIGKILL')
  }
  return Reflect.apply(end, this, args)
} as typeof end
