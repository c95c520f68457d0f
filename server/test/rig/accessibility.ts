/** What axe finds wrong with a page, by the rules of WCAG 2.2 AA and by what its makers think best. */
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

type Violation = {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly unknown[]; readonly failureSummary?: string }[]
}

/** One line per violation: the rule, where, and why. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  // The long way would list everything that is right, too, and open another window to do so.
  const axe = new AxeBuilder({ page })
    .setLegacyMode(true)
    .options({ resultTypes: ['violations'] })
    .withTags(RULES)
  return describe((await axe.analyze()).violations)
}

/** The same for other colours. Only what they can change, and by the axe that is still in the page from the first look. */
export async function contrastProblems(page: Page): Promise<string[]> {
  const options = { runOnly: ['color-contrast', 'link-in-text-block'], resultTypes: ['violations'] }
  const violations = await page.evaluate<Violation[]>(
    `axe.run(document, ${JSON.stringify(options)}).then(({ violations }) => violations)`,
  )
  return describe(violations)
}

function describe(violations: readonly Violation[]): string[] {
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => {
      const why = failureSummary.replace(/\s+/g, ' ')
      return `${id} at ${target.join(' ')}: ${why}`
    }),
  )
}
