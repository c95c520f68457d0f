/** Opens a page in the browser of whoever sits here. Where there is none, that is said, and is no reason to stop. */
import { spawn } from 'node:child_process'

/** No shell in between: an address is one argument, whatever is in it. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

export function openBrowser(address: string, say: (words: string) => void): void {
  const [command, ...args] = OPENERS[process.platform] ?? ['xdg-open']
  let said = false
  const failed = () => {
    if (!said) say(`  No browser could be opened here. Open ${address} on any device.`)
    said = true
  }
  const child = spawn(command, [...args, address], { stdio: 'ignore', detached: true })
  child.on('error', failed)
  child.on('exit', (status) => {
    if (status !== 0) failed()
  })
  child.unref()
}
