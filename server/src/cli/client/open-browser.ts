/** Opens a page in the user's browser. If there is none, prints the address instead; that is not an error. */
import { spawn } from 'node:child_process'

/** Started without a shell: the address is one argument, whatever characters it contains. */
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
