/** A page that answers a submitted form. */
import type { Page } from 'playwright-core'
import type { MessageKey } from '../../../src/pages/ui/words.ts'
import type { Viewer } from './every-page.ts'

export type AnswerPage = {
  /** File name. */
  readonly name: string
  readonly as: Viewer
  /** Subject of the page. */
  readonly says: MessageKey
  /** Shown in the dialog's popup. */
  readonly popup?: true
  /** Navigates a page there, from any state. */
  open(page: Page): Promise<unknown>
  /** Restores what `open` changed, for the cases that follow. */
  after?(): Promise<unknown>
}
