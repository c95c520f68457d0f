/** Readable name of a User-Agent. A guess, good enough for users to recognise their own browsers. */
import type { Words } from '../ui/words.ts'

/** Order matters: nearly every browser also names those it descends from. */
const BROWSERS: readonly (readonly [string, RegExp])[] = [
  ['Edge', /\bEdg(e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(Firefox|FxiOS)\//],
  ['Chrome', /\b(Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bVersion\/.*\bSafari\//],
]

const SYSTEMS: readonly (readonly [string, RegExp])[] = [
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Android', /\bAndroid\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
]

export function agentText(words: Words, agent: string | null): string {
  const nameIn = (names: typeof BROWSERS) => names.find(([, pattern]) => pattern.test(agent ?? ''))?.[0]
  const browser = nameIn(BROWSERS)
  const system = nameIn(SYSTEMS)
  if (browser && system) return words.t('agent.both', { browser, system })
  return browser ?? system ?? words.t('agent.unknown')
}
