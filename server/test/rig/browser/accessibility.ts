/** Accessibility violations of a page, found by axe: the rules of WCAG 2.2 AA and axe's best practices. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

type Violation = {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary?: string }[]
}

const OF_COLOURS = ['color-contrast', 'link-in-text-block']

/** One line per violation: the rule, where, and why. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  for (const frame of page.frames()) await frame.evaluate(AXE)
  return ask(page, { runOnly: RULES })
}

/** For pages whose contrast was checked before: contrast takes longer than all other rules. */
export async function problemsExceptContrast(page: Page): Promise<string[]> {
  for (const frame of page.frames()) await frame.evaluate(AXE)
  const rules = Object.fromEntries(OF_COLOURS.map((rule) => [rule, { enabled: false }]))
  return ask(page, { runOnly: RULES, rules })
}

/** Colour contrast only, with another colour scheme, by the axe that is already in the page. */
export async function contrastProblems(page: Page): Promise<string[]> {
  return ask(page, { runOnly: OF_COLOURS })
}

async function ask(page: Page, options: Readonly<Record<string, unknown>>): Promise<string[]> {
  const asked = JSON.stringify({ ...options, resultTypes: ['violations'] })
  return describe(await page.evaluate(`axe.run(document, ${asked}).then(({ violations }) => violations)`))
}

function describe(violations: readonly Violation[]): string[] {
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => {
      const reason = failureSummary.replace(/\s+/g, ' ')
      return `${id} at ${target.join(' ')}: ${reason}`
    }),
  )
}
