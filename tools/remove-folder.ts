import { rmSync } from 'node:fs'

/** Removes a folder that a process which is just exiting may still write into. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}
