/** Thresholds of the suspension rule: by default, and of a service with other settings. */
import { readConfig } from '../../src/config.ts'
import { thresholdsOf } from '../../src/flows/reviews/thresholds.ts'
import { suspensionSettings } from '../../src/setting-texts.ts'
import { makeConfig } from './make.ts'
import type { TestService } from './service.ts'

export const defaultThresholds = thresholdsOf({ config: makeConfig({ DATABASE_URL: 'postgres://localhost/none' }) })

/** The same running service, for flows that are called directly. */
export function withThresholds(service: TestService, settings: Record<string, string>): TestService {
  const names = Object.keys(suspensionSettings) as (keyof typeof suspensionSettings)[]
  const config = { ...service.config, ...readConfig(names, settings) }
  return { ...service, context: { ...service.context, config } }
}
