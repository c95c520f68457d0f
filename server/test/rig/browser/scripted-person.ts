/**
 * A scripted person at the screen of a phone: reads all text on the screen of every page, types, presses and confirms with a
 * passkey, each at a fixed speed. Counts the seconds that this takes, without the time that server and network need.
 */
import type { Page } from 'playwright-core'

const SECONDS_PER_DIGIT = 0.5
const WORDS_PER_MINUTE = 230
const SECONDS_PER_DECISION = 1.4
const SECONDS_PER_PASSKEY = 3

/** What a page took: reading it, typing, and the press that leaves it. */
type Step = { readonly digits?: number; readonly decisions?: number; readonly passkeys?: number }

export type ScriptedPerson = {
  /** Records the page on the screen, before it is left. */
  sees(page: Page, step: Step): Promise<void>
  readonly spent: { readonly pages: number; readonly clicks: number; readonly seconds: number }
}

export function createScriptedPerson(): ScriptedPerson {
  const spent = { pages: 0, clicks: 0, seconds: 0 }
  return {
    spent,
    sees: async (page, { digits = 0, decisions = 0, passkeys = 0 }) => {
      const words = (await page.evaluate<string>(TEXT_ON_SCREEN))
        .split(/\s+/)
        .filter((word) => /[\p{L}\p{N}]/u.test(word))
      spent.seconds +=
        (words.length * 60) / WORDS_PER_MINUTE +
        digits * SECONDS_PER_DIGIT +
        decisions * SECONDS_PER_DECISION +
        passkeys * SECONDS_PER_PASSKEY
      spent.clicks += decisions
      spent.pages += 1
    },
  }
}

/** Text of all elements that are on the screen, at least in part; not that for screen readers only, nor of closed details. */
const TEXT_ON_SCREEN = `(() => {
  const texts = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) {
    const node = walker.currentNode
    const parent = node.parentElement
    if (!parent.checkVisibility({ visibilityProperty: true }) || parent.closest('.visually-hidden, .skip, script')) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    const seen = [...range.getClientRects()].some(
      ({ top, bottom, width }) => width > 0 && bottom > 0 && top < innerHeight,
    )
    if (seen) texts.push(node.textContent)
  }
  return texts.join(' ')
})()`
