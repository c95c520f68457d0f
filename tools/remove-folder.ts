import { rmSync } from 'node:fs'

/** Removes a folder, with retries, because an exiting process may still write to it. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
}
