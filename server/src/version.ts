/** Version of this package, in logs, metrics and on the command line. */
import { readFileSync } from 'node:fs'

// The same relative path from src/ and from dist/.
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }

export const VERSION = version
