/** Activity of an application in the last day, as its developer sees it. */
import type { Application } from './application.ts'

export type ActivityFigures = Pick<Application, 'id' | 'name'> & {
  /** Codes. Those neither granted nor rejected expired or are still pending. */
  readonly funnel: {
    readonly requested: number
    readonly entered: number
    readonly granted: number
    readonly rejected: number
  }
  readonly polling: {
    readonly polls: number
    readonly early: number
    /** Polls relative to the allowed number: 1 is compliant, null without polls. */
    readonly factor: number | null
  }
  readonly secretsInUrl: number
}
