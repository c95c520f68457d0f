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

/** One device that shows code after code, ten minutes each, requests this many in eight hours. */
const MANY_CODES = 48

/** Of codes that users asked for, far more are entered. */
const SHARE_ENTERED = 1 / 20

/** Whether codes seem to be requested without a user, each time one expires. docs/interface/device-flow.md. */
export function seemsToRegenerate({ requested, entered }: ActivityFigures['funnel']): boolean {
  return requested >= MANY_CODES && entered < requested * SHARE_ENTERED
}
