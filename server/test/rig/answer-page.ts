/** A page that answers a form. */
import type { Page } from 'playwright-core'
import type { MessageKey } from '../../src/pages/ui/words.ts'
import type { Viewer } from './every-page.ts'

export type AnswerPage = {
  /** As the name of a file. */
  readonly name: string
  readonly as: Viewer
  /** What it is about. */
  readonly says: MessageKey
  /** Inside the window that an application opened. */
  readonly popup?: true
  /** Leads a window there, from wherever it is. */
  open(page: Page): Promise<unknown>
  /** Puts right for the others what was changed for this one. */
  after?(): Promise<unknown>
}
