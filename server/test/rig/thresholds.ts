/** The thresholds of the suspension rule with the default configuration. */
import { thresholdsOf } from '../../src/flows/reviews/thresholds.ts'
import { makeConfig } from './make.ts'

export const defaultThresholds = thresholdsOf({ config: makeConfig({ DATABASE_URL: 'postgres://localhost/none' }) })
